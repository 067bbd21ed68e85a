"""A long talk falls back to its last turns and a summary; the system prompt and the last answers
stay as they were.
"""

from __future__ import annotations

from itertools import pairwise

import pytest

from bot.standins.claude.answers import call, calls, say, think
from bot.standins.claude.faults import Fault
from bot.standins.claude.script import is_chat, is_summary

SMALL = {"CONTEXT_TRIGGER_MESSAGES": "10", "CONTEXT_KEEP_MESSAGES": "4"}
BY_TOKENS = {
    "CONTEXT_TRIGGER_TOKENS": "5000",
    "CONTEXT_TRIGGER_MESSAGES": "300",
    "CONTEXT_KEEP_MESSAGES": "4",
}


def texts(messages):
    return [block.get("text", "") for message in messages for block in message["content"]]


async def talk(state, person, turns, words="Tell me something about number {}."):
    for number in range(turns):
        await state.ask(person, words.format(number))


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        (SMALL, "Tell me something about number {}."),
        (BY_TOKENS, "Number {}: " + "a rather long story " * 120),
    ],
    ids=["by message count", "by tokens"],
)
async def test_a_long_talk_is_compacted(state, anna, limits, words):
    async with state.bot(**limits):
        await state.ask(anna, "My secret word is heron.")
        await talk(state, anna, 6, words)
        await state.eventually(lambda: state.session(anna.id)["summary"])
        answer = await state.ask(anna, "What is my secret word?")

    session = state.session(anna.id)
    archived = [
        row["seq"] for row in state.database["archive"].find({"ownerId": anna.id}).sort("seq", 1)
    ]
    kept = [message["seq"] for message in session["messages"]]
    assert "heron" in session["summary"]["text"]
    assert "heron" in answer
    assert {*archived, *kept} == set(range(session["nextSeq"]))
    assert min(kept) == session["summary"]["upTo"] + 1


async def test_the_system_prompt_never_changes_and_the_last_answers_stay_verbatim(state, anna):
    """C40, C53"""
    async with state.bot(**SMALL):
        await talk(state, anna, 6)
        await state.eventually(lambda: state.session(anna.id)["summary"])
        await state.ask(anna, "And now?")

    systems = {str(request["system"]) for request in state.requests}
    assert len(systems) == 1
    last = texts(state.requests[-1]["messages"])
    assert last[0].startswith("<conversation_summary ")
    shown = [message.text for message in anna.chat.answers]
    assert [text for text in last if text in shown] == shown[-3:-1]
    assert "system" not in {message["role"] for message in state.session(anna.id)["messages"]}


async def test_between_two_compactions_a_request_begins_with_all_of_the_one_before(state, anna):
    async with state.bot():
        await talk(state, anna, 4)

    requests = [request["messages"] for request in state.requests]
    for earlier, later in pairwise(requests):
        assert later[: len(earlier)] == earlier


async def test_many_tool_calls_over_weeks_never_make_a_request_the_provider_refuses(state, anna):
    """C45: the stand-in refuses unmatched tool blocks as the real one does, and the world of this
    test minds.
    """
    used = calls(call("recall", {"words": "tea"}), call("search", {"words": "tea"}))
    async with state.bot(SESSION_TTL_SECONDS="172800", **SMALL):
        for number in range(24):
            state.claude.script(*[think("Hm.", used)] * (1 + number % 3), say(f"Answer {number}."))
            assert (
                await state.ask(anna, f"Anything about tea, number {number}?")
                == f"Answer {number}."
            )
            state.passes(days=1)

    session = state.session(anna.id)
    archived = {row["seq"] for row in state.database["archive"].find({"ownerId": anna.id})}
    assert session["summary"]["epoch"] > 3
    assert archived | {message["seq"] for message in session["messages"]} == set(
        range(session["nextSeq"])
    )


async def test_an_apology_is_neither_stored_nor_sent_to_the_model_later(state, anna):
    """C46"""
    state.claude.faults.next(Fault.status(400, "the provider's own words"), when=is_chat)
    async with state.bot(**SMALL):
        apology = await state.ask(anna, "Hello?")
        await talk(state, anna, 6)
        await state.eventually(lambda: state.session(anna.id)["summary"])
        await state.ask(anna, "And now?")

    stored = str(state.sessions()) + str(list(state.database["archive"].find()))
    sent = str([exchange.body for exchange in state.claude.journal.exchanges])
    for trace in (apology, "the provider's own words", "Hello?"):
        assert trace not in stored
        assert trace not in sent.partition("Tell me something")[2]


async def test_a_summariser_that_fails_costs_nothing(state, anna):
    """C42: the messages stay, the talk goes on."""
    state.claude.faults.next(*[Fault.overloaded()] * 3, when=is_summary)
    async with state.bot(**SMALL):
        await talk(state, anna, 6)
        await state.eventually(lambda: state.session(anna.id)["compaction"]["fails"])
        failed = state.session(anna.id)
        answer = await state.ask(anna, "Are you still there?")

    assert answer
    assert failed["summary"] is None
    assert len(failed["messages"]) == failed["nextSeq"]
