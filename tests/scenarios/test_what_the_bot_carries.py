"""/context: a person sees what the bot carries of the talk, and may have it compacted; nobody else
can.
"""

from __future__ import annotations

import re

import pytest

from bot.standins.claude.faults import Fault
from bot.standins.claude.script import is_summary
from bot.texts import figure, text

BUTTON = "Compact now"
KEEP_FOUR = {"CONTEXT_KEEP_MESSAGES": "4"}
AT_TEN = {"CONTEXT_TRIGGER_MESSAGES": "10", **KEEP_FOUR}


async def talk(state, person, turns, **where):
    for number in range(turns):
        await state.ask(person, f"@emulated_bot Tell me about number {number}.", **where)


async def pressed(state, person, **press):
    """Press, and wait until the press is answered; the sentence that pops up."""
    query = person.presses(BUTTON, **press)
    await state.telegram.until(lambda: query.answer is not None)
    return query.answer.get("text", "")


async def test_it_shows_counts_tokens_since_when_and_the_summary(state, anna):
    async with state.bot(**AT_TEN):
        assert await state.ask(anna, "/context") == text("context_empty", "en")
        await state.ask(anna, "My secret word is heron.")
        before = await state.ask(anna, "/context")
        await talk(state, anna, 5)
        await state.eventually(lambda: state.session(anna.id)["summary"])
        after = await state.ask(anna, "/context")

    session = state.session(anna.id)
    assert "since 2026-01-05 12:00 UTC" in before
    assert "word for word, messages: 2" in before
    assert "summary" not in before
    assert "archive" not in before
    counts = ("word for word, messages: 4", "in a summary, messages: 8", "archive, messages: 8")
    assert all(count in after for count in counts)
    assert f"had {figure(session['context']['tokens'])} tokens" in after
    assert session["summary"]["text"] in after
    assert "heron" in after


async def test_looking_keeps_no_session_alive(state, anna):
    async with state.bot(SESSION_TTL_SECONDS="60"):
        await state.ask(anna, "My secret word is heron.")
        asked = state.session(anna.id)
        state.passes(seconds=50)
        await state.ask(anna, "/context")
        assert state.session(anna.id) == asked
        state.passes(seconds=50)
        assert text("session_expired", "en") in await state.ask(anna, "And now?", answers=2)


async def test_the_button_compacts_below_every_trigger(state, anna):
    async with state.bot(**KEEP_FOUR):
        await state.ask(anna, "My secret word is heron.")
        await talk(state, anna, 5)
        await state.ask(anna, "/context")
        assert await pressed(state, anna) == ""
        await state.telegram.until(
            lambda: text("context_compacted", "en") in anna.chat.answers[-1].text
        )
        answer = await state.ask(anna, "What is my secret word?")

    session = state.session(anna.id)
    archived = {row["seq"] for row in state.database["archive"].find({"ownerId": anna.id})}
    assert session["summary"]["upTo"] == 7
    assert archived | {message["seq"] for message in session["messages"]} == set(
        range(session["nextSeq"])
    )
    assert "heron" in answer


async def test_where_nothing_can_be_compacted_there_is_no_button(state, anna):
    async with state.bot():
        await state.ask(anna, "Hello.")
        await state.ask(anna, "/context")
        assert not anna.chat.answers[-1].buttons


async def test_a_summariser_that_fails_is_admitted_and_changes_nothing(state, anna):
    async with state.bot(**KEEP_FOUR):
        await talk(state, anna, 5)
        before = state.session(anna.id)
        state.claude.faults.next(Fault.overloaded(), when=is_summary)
        await state.ask(anna, "/context")
        assert await pressed(state, anna) == ""
        await state.telegram.until(
            lambda: anna.chat.answers[-1].text == text("context_failed", "en")
        )

    assert state.session(anna.id) == before


async def test_in_a_group_it_is_about_that_group_and_the_button_obeys_its_owner(state, anna, boris):
    """C55, C61: what a forged or a foreign press names is no authority."""
    group = state.telegram.supergroup(members=[anna, boris])
    async with state.bot(**KEEP_FOUR):
        await state.ask(anna, "My secret word is heron.")
        await talk(state, anna, 5)
        await talk(state, anna, 5, chat=group)
        await talk(state, boris, 5, chat=group)
        shown = await state.ask(anna, "/context@emulated_bot", chat=group)
        private, public = (
            state.session(anna.id, chatId=anna.id),
            state.session(anna.id, chatId=group.id),
        )
        button = group.answers[-1].buttons[0].data
        expired = [
            await pressed(state, boris, chat=group),
            await pressed(state, anna, on=anna.chat.answers[-1], data=button),
            await pressed(state, anna, on=group.answers[-1], data="compact:"),
        ]

        assert expired == [text("button_expired", "ru"), *[text("button_expired", "en")] * 2]
        assert (
            state.session(anna.id, chatId=anna.id),
            state.session(anna.id, chatId=group.id),
        ) == (private, public)
        assert state.session(boris.id)["summary"] is None
        assert await pressed(state, anna, chat=group) == ""
        await state.eventually(lambda: state.session(anna.id, chatId=group.id)["summary"])
    assert re.search(r"word for word, messages: 10\b", shown)
    assert state.session(anna.id, chatId=anna.id) == private


@pytest.mark.parametrize(("setting", "times"), [("off", 0), ("on", 1)])
async def test_a_compaction_is_told_once_or_not_at_all(state, anna, setting, times):
    async with state.bot(**AT_TEN, COMPACTION_NOTICE=setting):
        await talk(state, anna, 6)
        await state.eventually(lambda: state.session(anna.id)["summary"])
        await state.ask(anna, "And now?", answers=1 + times)
        await talk(state, anna, 2)

    assert [message.text for message in anna.chat.answers].count(
        text("compaction_done", "en")
    ) == times
