"""An answer is seen while it is being written, can be stopped by its button, and stays as one
message.
"""

from __future__ import annotations

from contextlib import nullcontext

import pytest

from bot.standins.claude.answers import call
from bot.standins.telegram.faults import Fault

SLOWLY = 0.06
LONG = " ".join(f"word{number}" for number in range(400))


def journal_of(chat):
    return [message.text for message in chat.shown]


async def growing(state, chat, than=0):
    """The draft, or the message, once it is longer than so many characters."""

    def seen():
        draft = chat.draft(state.clock.now())
        texts = [draft.text] if draft else [message.text for message in chat.answers[-1:]]
        return texts[0] if texts and len(texts[0]) > than else ""

    return await state.telegram.until(seen)


async def test_in_private_a_draft_grows_and_one_message_stays(state, anna):
    state.claude.script(LONG[:900])
    state.claude.faults.slow(SLOWLY)
    async with state.bot():
        anna.says("Tell me a lot.")
        first = await growing(state, anna.chat)
        second = await growing(state, anna.chat, len(first))
        assert anna.chat.answers == []
        state.claude.faults.slow(0)
        await state.telegram.until(lambda: anna.chat.answers)

    assert LONG.startswith(first)
    assert second.startswith(first)
    assert journal_of(anna.chat) == ["Tell me a lot.", LONG[:900].strip()]
    assert anna.chat.draft(state.clock.now()) is None


async def test_in_a_group_one_message_grows_into_the_answer(state, anna):
    group = state.telegram.supergroup(members=[anna])
    state.claude.script(LONG[:900])
    state.claude.faults.slow(SLOWLY)
    async with state.bot():
        asked = anna.says("@emulated_bot tell me a lot.", chat=group)
        first = await growing(state, group)
        state.claude.faults.slow(0)
        await state.telegram.until(lambda: group.text == LONG[:900].strip())

    assert LONG.startswith(first)
    assert len(first) < 900
    [answer] = group.answers
    assert answer.raw["reply_to_message"]["message_id"] == asked.message_id


@pytest.mark.parametrize("replicas", [1, 2])
async def test_the_stop_button_ends_its_own_turn_and_nothing_else(state, anna, replicas):
    """Whichever replica runs it; what was shown is kept, and the next question is answered."""
    state.claude.script(LONG, "The second answer.")
    state.claude.faults.slow(SLOWLY)
    async with state.bot(), state.bot() if replicas > 1 else nullcontext():
        anna.says("Tell me a lot.")
        shown = await growing(state, anna.chat, 40)
        anna.says("And now something short.")
        anna.stops()
        await state.telegram.until(lambda: "[interrupted]" in anna.chat.text)
        state.claude.faults.slow(0)
        await state.telegram.until(lambda: "The second answer." in anna.chat.text)

    texts = [message.text for message in anna.chat.answers]
    assert texts[0].startswith(shown)
    assert len(texts[0]) < len(LONG)
    assert texts[1:] == ["[interrupted]", "The second answer."]
    assert "[interrupted]" in str(state.session(anna.id)["messages"][1])


async def test_in_a_private_chat_with_topics_each_topic_has_its_own_draft_stop_and_session(
    state, anna
):
    state.telegram.state.bot["has_topics_enabled"] = True
    async with state.bot():
        await state.ask(anna, "My secret word is heron.")
        herons, trains = anna.topic("Herons"), anna.topic("Trains")
        state.claude.script(LONG)
        state.claude.faults.slow(SLOWLY)
        anna.says("Tell me a lot.", thread=herons)
        await growing(state, anna.chat, 40)
        assert anna.chat.draft(state.clock.now()).thread_id == herons
        anna.stops()
        await state.telegram.until(lambda: "[interrupted]" in anna.chat.text)
        state.claude.faults.slow(0)
        answer = await state.ask(anna, "What is my secret word?", thread=trains)

    assert "heron" not in answer
    assert [message.thread_id for message in anna.chat.answers] == [None, herons, herons, trains]
    assert {session["threadId"] for session in state.sessions(anna.id)} == {None, herons, trains}


async def test_a_late_stop_stops_nothing(state, anna):
    """It names a turn that is over; the one that runs now goes on."""
    state.claude.script("First.", LONG[:300])
    async with state.bot():
        await state.ask(anna, "One?")
        first = state.database["inbox"].find_one()["_id"]
        state.claude.faults.slow(SLOWLY)
        anna.says("Two?")
        await growing(state, anna.chat, 10)
        state.telegram.deliver(
            {"stopped_message_generation": {"chat": anna.chat.json(), "draft_id": first}}
        )
        await state.telegram.until(lambda: LONG[:300].strip() in anna.chat.text)
    assert "[interrupted]" not in anna.chat.text


async def test_nothing_that_was_read_vanishes_around_a_tool(state, anna):
    """C92"""
    state.claude.script(
        call(
            "remember",
            {"text": "tea"},
            text="I will note that you like tea, just a moment please.",
        ),
        "Done, and thank you.",
    )
    state.claude.faults.slow(0.2)
    async with state.bot():
        anna.says("I like tea.")
        before = await growing(state, anna.chat, 10)
        await state.telegram.until(lambda: anna.chat.answers)
    [answer] = anna.chat.answers
    assert answer.text.startswith(before)
    assert answer.text.endswith("Done, and thank you.")


async def test_a_flooded_preview_delays_neither_the_answer_nor_anybody_else(state, anna, boris):
    """C88"""
    state.claude.script(LONG[:600], "Hello, Boris.")
    state.claude.faults.slow(SLOWLY)
    state.telegram.faults.next("sendMessageDraft", Fault.too_many(2), chat=anna.id)
    async with state.bot():
        anna.says("Tell me a lot.")
        await state.telegram.until(lambda: state.telegram.journal.of("sendMessageDraft"))
        state.claude.faults.slow(0)
        await state.ask(boris, "Hello")
        await state.telegram.until(lambda: anna.chat.answers)
    assert anna.chat.text == LONG[:600].strip()
    assert len(state.telegram.journal.of("sendMessageDraft", chat=anna.id)) == 1
