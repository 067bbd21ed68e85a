"""Whole conversations as a journal of what a person sees: who said what, where, to what, and with
which buttons.
"""

from __future__ import annotations

import asyncio

import pytest

from bot.standins.telegram.faults import Fault
from bot.texts import text
from tests.samples import jpeg

ME = "@emulated_bot"
NEWS = {
    "type": "channel",
    "chat": {"id": -100900, "type": "channel", "title": "News"},
    "message_id": 5,
}
MODELS = {"MODEL": "claude-sonnet-5-5", "MODELS": "claude-opus-5-5"}


def journal(chat):
    """A line for each message as the chat shows it now; service messages say nothing."""
    return [line(chat, shown) for shown in chat.shown if shown.text or "photo" in shown.raw]


def line(chat, shown):
    who = "bot" if shown.from_bot else shown.raw["from"]["first_name"]
    topic = (
        f" in {chat.topics.get(shown.thread_id, 'General')}"
        if shown.raw.get("is_topic_message")
        else ""
    )
    answered = shown.raw.get("reply_to_message")
    to = (
        f" to {line(chat, chat_message(chat, answered)).partition(':')[2].strip()!r}"
        if answered
        else ""
    )
    photo = "[photo] " if "photo" in shown.raw else ""
    buttons = "".join(f" [{button.text}]" for button in shown.buttons)
    return f"{who}{topic}{to}: {photo}{shown.text}{buttons}".rstrip()


def chat_message(chat, raw):
    return next(shown for shown in chat.shown if shown.message_id == raw["message_id"])


async def settled(state, chat, answers):
    await state.telegram.until(lambda: len(chat.answers) >= answers)
    await state.eventually(
        lambda: state.database["inbox"].count_documents({"state": "queued"}) == 0
    )


async def gathered(state, entries):
    """What gathers waits for more on the world's clock."""
    await state.eventually(
        lambda: state.database["inbox"].count_documents({"state": "queued"}) == entries
    )
    state.passes(seconds=2)


async def test_an_album_and_a_question_about_it(state, anna):
    """C100"""
    state.claude.script("The second one.", "Because it is sharper.")
    async with state.bot():
        anna.sends_album([jpeg(), jpeg(), jpeg()], "Which one is best?")
        await gathered(state, 3)
        await settled(state, anna.chat, 1)
        await state.ask(anna, "Why?")
    assert journal(anna.chat) == [
        "Anna: [photo] Which one is best?",
        "Anna: [photo]",
        "Anna: [photo]",
        "bot: The second one.",
        "Anna: Why?",
        "bot: Because it is sharper.",
    ]


async def test_a_paste_and_an_answer_of_several_parts(state, anna):
    """C99, C87: one question, however the client splits it; each piece of the answer once."""
    pasted = "".join(f"{number:05d};" for number in range(1500))
    answer = "\n\n".join(f"{word} " * 600 for word in ("one", "two", "three"))
    state.claude.script(answer)
    async with state.bot():
        anna.pastes(pasted)
        await gathered(state, 3)
        await settled(state, anna.chat, 3)
    seen = journal(anna.chat)
    assert "".join(entry.removeprefix("Anna: ") for entry in seen[:3]) == pasted
    assert [entry.split()[:2] for entry in seen[3:]] == [
        ["bot:", word] for word in ("one", "two", "three")
    ]
    assert len(state.requests) == 1


async def test_a_forward_with_its_comment(state, anna):
    state.claude.script("Inflation.")
    async with state.bot():
        anna.says("Why is that so?")
        anna.forwards("Prices rise.", NEWS)
        await gathered(state, 2)
        await settled(state, anna.chat, 1)
    assert journal(anna.chat) == ["Anna: Why is that so?", "Anna: Prices rise.", "bot: Inflation."]


async def test_two_people_in_one_group(state, anna, boris):
    """Small talk is not heard, each has a talk of their own, an answer names its question."""
    group = state.telegram.supergroup(members=[anna, boris])
    state.claude.script("Birds.", "Рыбы.", "Yes, long ones.")
    async with state.bot():
        await state.ask(anna, f"{ME} what are herons?", chat=group)
        boris.says("nice weather", chat=group)
        await state.ask(boris, f"{ME} кто такие сельди?", chat=group)
        await state.ask(boris, f"/new{ME}", chat=group)
        await state.ask(anna, "Do they have legs?", chat=group, reply_to=group.answers[0])
    assert journal(group) == [
        f"Anna: {ME} what are herons?",
        f"bot to '{ME} what are herons?': Birds.",
        "Boris: nice weather",
        f"Boris: {ME} кто такие сельди?",
        f"bot to '{ME} кто такие сельди?': Рыбы.",
        f"Boris: /new{ME}",
        f"bot to '/new{ME}': {text('new_done', 'ru')} [{text('button_take', 'ru')}]",
        "Anna to 'Birds.': Do they have legs?",
        "bot to 'Do they have legs?': Yes, long ones.",
    ]
    assert "herons" in str(state.requests[-1]["messages"])
    assert "сельди" not in str(state.requests[-1]["messages"])


async def test_topics_of_a_forum_and_its_general_one(state, anna):
    """C102, C104: commands, menus and what their buttons do stay in their topic."""
    forum = state.telegram.supergroup(members=[anna], forum=True)
    herons = anna.topic("Herons", forum)
    state.claude.script("Birds.", "In General.", "Trains.")
    async with state.bot(**MODELS):
        await state.ask(anna, f"{ME} what are herons?", chat=forum, thread=herons)
        general = {"message_thread_id": 1, "is_topic_message": True}
        await state.ask(anna, f"{ME} where are we?", chat=forum, **general)
        await state.ask(anna, f"/new{ME}", chat=forum, thread=herons)
        await state.ask(anna, f"/model{ME}", chat=forum, thread=herons)
        query = anna.presses("claude-opus-5-5", chat=forum)
        await state.telegram.until(
            lambda: query.answer is not None and not forum.answers[-1].buttons
        )
        await state.ask(anna, f"{ME} and trains?", chat=forum, thread=herons)
    chosen = text("model_chosen", "en", name="claude-opus-5-5")
    assert journal(forum) == [
        f"Anna in Herons: {ME} what are herons?",
        f"bot in Herons to '{ME} what are herons?': Birds.",
        f"Anna in General: {ME} where are we?",
        f"bot in General to '{ME} where are we?': In General.",
        f"Anna in Herons: /new{ME}",
        f"bot in Herons to '/new{ME}': {text('new_done', 'en')} [{text('button_take', 'en')}]",
        f"Anna in Herons: /model{ME}",
        f"bot in Herons to '/model{ME}': {chosen}",
        f"Anna in Herons: {ME} and trains?",
        f"bot in Herons to '{ME} and trains?': Trains.",
    ]
    sends = state.telegram.journal.of("sendMessage", chat=forum.id)
    assert [call.params.get("message_thread_id") for call in sends] == [
        str(herons),
        None,
        *[str(herons)] * 3,
    ]
    assert len(state.requests[-1]["messages"]) == 1
    assert {found["threadId"] for found in state.sessions(anna.id, status="active")} == {
        None,
        herons,
    }


@pytest.mark.parametrize("lost", ["refuse", "main"])
async def test_a_topic_that_is_deleted_while_the_answer_is_written(state, anna, lost):
    """Telegram refuses the topic, or puts the message into the main chat by itself; either way it
    is read once.
    """
    forum = state.telegram.supergroup(members=[anna], forum=True, lost_topics=lost)
    anna.topic("Trains", forum)
    herons = anna.topic("Herons", forum)
    gate = asyncio.Event()
    state.claude.script("Birds.")
    state.telegram.faults.next("sendMessage", Fault.hold(gate))
    async with state.bot():
        anna.says(f"{ME} what are herons?", chat=forum, thread=herons)
        await state.telegram.until(lambda: state.telegram.journal.of("sendMessage"))
        anna.deletes_topic(herons, forum)
        gate.set()
        await settled(state, forum, 1)
    assert journal(forum) == ["bot: Birds."]


async def test_topics_of_a_private_chat(state, anna):
    """One topic is one Session; /reset in one leaves the other."""
    state.telegram.state.bot["has_topics_enabled"] = True
    herons, trains = anna.topic("Herons"), anna.topic("Trains")
    state.claude.script("Birds.", "On rails.", "What do you mean?")
    async with state.bot():
        await state.ask(anna, "What are herons?", thread=herons)
        await state.ask(anna, "How do trains move?", thread=trains)
        await state.ask(anna, "/reset", thread=herons)
        await state.ask(anna, "And now?", thread=herons)
    assert journal(anna.chat) == [
        "Anna in Herons: What are herons?",
        "bot in Herons: Birds.",
        "Anna in Trains: How do trains move?",
        "bot in Trains: On rails.",
        "Anna in Herons: /reset",
        f"bot in Herons: {text('reset_done', 'en')}",
        "Anna in Herons: And now?",
        "bot in Herons: What do you mean?",
    ]
    assert [len(found["messages"]) for found in state.sessions(anna.id, threadId=trains)] == [2]
