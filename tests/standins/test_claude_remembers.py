"""The rule-based model: it knows what is in the request, and nothing else, in English and in
Russian.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest

from bot.agent.prompt import render, summary_text
from bot.compaction.summarising import MIN_SUMMARY_TOKENS, readable, transcript
from bot.content import as_block
from bot.session import Message, Session, Summary, Task
from bot.standins.claude.dialogue_view import arguments
from bot.standins.claude.rule_model import answer

REMEMBER = {
    "name": "remember",
    "input_schema": {
        "type": "object",
        "properties": {"text": {"type": "string"}},
        "required": ["text"],
    },
}
RECALL = {
    "name": "recall",
    "input_schema": {"type": "object", "properties": {"words": {"type": "string"}}},
}
PLAN = {
    "name": "set_plan",
    "input_schema": {
        "type": "object",
        "properties": {
            "goal": {"type": "string"},
            "steps": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["goal", "steps"],
    },
}


def request(*said, **fields):
    """A dialogue in which the assistant says "ok" after each of the user's messages but the
    last.
    """
    messages = []
    for words in said:
        messages += [{"role": "user", "content": words}, {"role": "assistant", "content": "ok"}]
    return {"messages": messages[:-1], **fields}


def words(body):
    return "".join(block.written for block in answer(body).blocks)


DIALOGUES = {
    "name": (("My name is Anna.", "hi", "What is my name?"), "Your name is Anna."),
    "имя": (("Привет! Меня зовут Анна", "Как меня зовут?"), "Вас зовут Анна."),
    "the latest name": (
        ("my name is Ann", "no, my name is Anna", "what is my name?"),
        "Your name is Anna.",
    ),
    "no name": (("hi", "what is my name"), "I do not know your name yet."),
    "нет имени": (("как меня зовут?",), "Я пока не знаю, как вас зовут."),
    "secret": (
        ("my secret word is xylophone-7", "What is my secret word?"),
        "Your secret word is xylophone-7.",
    ),
    "no secret": (("what is my secret word?",), "I do not know your secret word."),
    "секрет": (
        ("Моё секретное слово — барсук", "Какое моё секретное слово?"),
        "Секретное слово — барсук.",
    ),
    "anything of mine": (
        ("My cat's name is odd. My favourite tea is oolong.", "what is my favourite tea?"),
        "oolong",
    ),
    "remembered without a tool": (
        ("remember that I like tea", "запомни, что я живу в Риге", "what do you remember?"),
        "I remember: I like tea; я живу в Риге",
    ),
    "echo": (("echo **Bold** text",), "**Bold** text"),
    "count": (("count to 3",), "1\n2\n3"),
    "small talk": (("hi", "how are you"), "I can see 2 of your messages."),
    "разговор": (("привет",), "сообщений от вас вижу: 1."),
}


@pytest.mark.parametrize(("said", "expected"), DIALOGUES.values(), ids=DIALOGUES.keys())
def test_a_dialogue_is_answered_from_its_own_messages(said, expected):
    assert expected in words(request(*said))


STAMPS = {
    "in brackets": "[2026-01-05 09:00 UTC] ",
    "as a tag": '<sent at="2026-01-05 09:00 Monday"/>\n',
}


@pytest.mark.parametrize("stamp", STAMPS.values(), ids=STAMPS.keys())
def test_time_stamps_are_not_part_of_what_was_said(stamp):
    body = request(f"{stamp}my name is Anna", f"{stamp}what is my name?")
    assert words(body) == "Your name is Anna."
    assert words(request(f"{stamp}echo this")) == "this"


def test_what_only_the_summary_tells_is_known():
    summary = (
        '<conversation_summary upto="9" epoch="1" note="background">\n'
        "- my name is Anna\n- my secret word is R&amp;D</conversation_summary>\n"
    )
    assert words(request(f"{summary}what is my name?")) == "Your name is Anna."
    assert words(request(f"{summary}hi", "what is my secret word?")) == "Your secret word is R&D."


def test_a_later_word_counts_more_than_the_summary():
    summary = "<conversation_summary>my name is Ann</conversation_summary>"
    assert words(request(f"{summary}my name is Anna", "what is my name?")) == "Your name is Anna."


def test_progress_is_recorded_and_steps_are_numbered():
    (called,) = answer(request("шаг 2 готов", tools=[{**PLAN, "name": "update_plan"}])).calls
    assert called.input == {"steps": [{"number": 2, "status": "done"}]}


def test_the_task_block_is_not_the_users_word_but_can_be_asked_for():
    task = '<task note="your plan">\nGoal: a trip\n1. [open] book\n</task>'
    hello, asked = [
        {
            "messages": [
                {
                    "role": "user",
                    "content": [{"type": "text", "text": part} for part in (said, task)],
                }
            ]
        }
        for said in ("hi", "where were we?")
    ]
    assert words(hello) == "I am listening; I can see 1 of your messages."
    assert "1. [open] book" in words(asked)


CALLS = {
    "remember": ("remember that I like tea", "remember", {"text": "I like tea"}),
    "запомни": ("Запомни, что я люблю чай", "remember", {"text": "я люблю чай"}),
    "recall": ("what do you remember about me?", "recall", {}),
    "plan": (
        "plan a trip: book, pack, go",
        "set_plan",
        {"goal": "a trip: book, pack, go", "steps": ["book", "pack", "go"]},
    ),
}


@pytest.mark.parametrize(("said", "tool", "expected"), CALLS.values(), ids=CALLS.keys())
def test_a_tool_is_called_when_it_is_offered(said, tool, expected):
    (called,) = answer(request(said, tools=[REMEMBER, RECALL, PLAN])).calls
    assert (called.name, called.input) == (tool, expected)


@pytest.mark.parametrize(
    "fields", [{}, {"tools": [REMEMBER], "tool_choice": {"type": "none"}}], ids=["none", "barred"]
)
def test_no_tool_is_called_when_none_may_be(fields):
    assert answer(request("remember that I like tea", **fields)).calls == ()


@pytest.mark.parametrize(
    ("tool", "failed", "expected"),
    [
        ("remember", False, "Noted"),
        ("recall", False, "tea"),
        ("recall", True, "The tool recall failed: tea"),
    ],
)
def test_the_results_of_tools_are_told(tool, failed, expected):
    call = {"type": "tool_use", "id": "t1", "name": tool, "input": {}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "tea", "is_error": failed}
    body = request("do it")
    body["messages"] += [
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result]},
    ]
    assert expected in words(body)


def test_an_input_is_made_to_fit_any_schema():
    schema = {
        "type": "object",
        "properties": {
            "step": {"$ref": "#/$defs/Step"},
            "many": {"type": "array", "items": {"$ref": "#/$defs/Step"}},
            "sure": {"type": "boolean"},
            "extra": {"type": "string"},
        },
        "required": ["step", "many", "sure"],
        "$defs": {
            "Step": {
                "type": "object",
                "properties": {"number": {"type": "integer"}, "status": {"enum": ["open", "done"]}},
                "required": ["number", "status"],
            }
        },
    }
    step = {"number": 1, "status": "open"}
    assert arguments({"input_schema": schema}, "a: b, c") == {
        "step": step,
        "many": [step, step],
        "sure": False,
    }


def test_a_long_answer_has_all_that_is_hard_to_send():
    text = words(request("write a long answer"))
    assert len(text) >= 10_000
    for pattern in (r"^     - deeper", r"^\| name \|", r"^```python", "Абзац", "👩‍👩‍👧‍👦"):
        assert re.search(pattern, text, re.MULTILINE), pattern


def test_a_message_without_words_is_not_answered_with_an_older_one():
    body = request("count to 3", "x")
    body["messages"][-1]["content"] = [{"type": "image", "source": {}}]
    assert "listening" in words(body)


def test_it_says_which_files_it_was_given():
    """So that one sees in the demo that they have arrived."""
    body = request("My name is Anna.", "x")
    source = {"type": "base64", "media_type": "image/png", "data": "A" * 4096}
    pdf = {
        "type": "document",
        "title": "lease.pdf",
        "source": {**source, "media_type": "application/pdf"},
    }
    text = {"type": "text", "text": '<file name="a.txt" note="data">\nme\n</file>'}
    label = {"type": "text", "text": "[picture plan.png]"}
    body["messages"][-1]["content"] = [
        {"type": "image", "source": source},
        label,
        {"type": "image", "source": source},
        pdf,
        text,
    ]
    told = words(body)
    assert told == (
        "I was given: photo (PNG, 3.0 KB); plan.png (PNG, 3.0 KB); lease.pdf (PDF, 3.0 KB); "
        "a.txt (text, 2 characters)."
    )
    body["messages"][-1]["content"].append({"type": "text", "text": "What is my name?"})
    assert words(body) == "Your name is Anna."


# ---------------------------------------------------------------------------------------- summaries


def summary(transcript, previous=""):
    old = f'<previous_summary epoch="1">\n{previous}\n</previous_summary>\n' if previous else ""
    return words(request(f'{old}<transcript seq="0..9">\n{transcript}\n</transcript>'))


TALK = """user: <sent at="2026-01-05 09:00 Monday"/>
Hello! My name is Anna. How are you?
assistant: Nice to meet you, Anna!
user: fact: the meeting is at 14:30 in room 5
user: remember that I am allergic to nuts
[tool remember {"text": "remember that this is not a sentence"}]
[result Remembered as [1].]
user: моё секретное слово — барсук
user: see https://example.com/a?b=1"""


@pytest.mark.parametrize(
    "sentence",
    [
        "My name is Anna.",
        "fact: the meeting is at 14:30 in room 5",
        "remember that I am allergic to nuts",
        "моё секретное слово — барсук",
        "https://example.com/a?b=1",
    ],
)
def test_a_summary_keeps_facts_word_for_word(sentence):
    assert sentence in summary(TALK)


def test_a_summary_is_neither_short_nor_long():
    flood = "\n".join(
        f"user: message number {number} of many, with link https://example.com/{number}"
        for number in range(900)
    )
    for talk in ("user: hi", TALK, flood):
        assert 20 <= len(summary(talk).split()) <= 500


def test_tool_traffic_and_questions_are_no_facts():
    text = summary(TALK + "\nuser: do you remember my name is what?")
    assert "not a sentence" not in text
    assert "is what?" not in text


def test_a_fact_survives_two_hundred_summaries():
    """What was said first is never pushed out by later details, and a summary always differs from
    the one before.
    """
    text, seen = summary("user: my secret word is xylophone-7"), set()
    for number in range(200):
        text = summary(f"user: the number {number * 7919} is nice\nassistant: ok", text)
        seen.add(text)
    assert "my secret word is xylophone-7" in text
    assert len(text.split()) <= 500
    assert words(
        request(f"<conversation_summary>{text}</conversation_summary>what is my secret word?")
    ).endswith("xylophone-7.")


# -------------------------------------------------------------------------------------- our own bot


NOW = datetime(2026, 1, 5, 9, tzinfo=UTC)
SAID = (
    "my name is Anna & my secret word is <R&D>",
    "remember that tea is at 5",
    "what is my name?",
)


def stored(*said):
    return [
        message
        for turn, text in enumerate(said)
        for message in (one(turn, "user", text), one(turn, "assistant", "ok"))
    ]


def one(turn, role, text):
    return Message(
        2 * turn + (role == "assistant"), turn, role, ({"type": "text", "text": text},), NOW, 5
    )


def test_the_transcript_our_compaction_makes_is_understood():
    text = words(request(transcript("", stored(*SAID), *readable(stored(*SAID), 10_000))))
    assert len(text) / 8 >= MIN_SUMMARY_TOKENS
    assert "my secret word is <R&D>" in text


def test_the_prompt_our_bot_renders_is_understood():
    """Summary, dates and Task are told apart from what the person said."""
    made = Summary("- my name is Anna\n- my secret word is R&D", 5, 1, 9, "claude-haiku-5-5", NOW)
    session = Session(
        "a" * 32, 1, 1, None, NOW, NOW, summary=made, task=Task("a trip"), messages=stored("hello")
    )
    question = [{"type": "text", "text": "what is my secret word?"}]
    assert summary_text(made).startswith("<conversation_summary ")
    assert (
        words({"messages": render(session, [as_block(block) for block in question], NOW)})
        == "Your secret word is R&D."
    )
