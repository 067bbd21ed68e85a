"""An answer is seen while it is being written, can be stopped by its button, and stays as one message."""

from __future__ import annotations

from contextlib import nullcontext

import pytest

from bot.demo.claude.answers import call
from bot.demo.telegram.faults import Fault

SLOWLY = 0.06
LONG = " ".join(f"word{number}" for number in range(400))


def journal_of(chat):
    return [message.text for message in chat.shown]


async def growing(world, chat, than=0):
    """The draft, or the message, once it is longer than so many characters."""

    def seen():
        draft = chat.draft(world.clock.now())
        texts = [draft.text] if draft else [message.text for message in chat.answers[-1:]]
        return texts[0] if texts and len(texts[0]) > than else ""

    return await world.telegram.until(seen, seconds=20)


async def test_in_private_a_draft_grows_and_one_message_stays(world, anna):
    world.claude.script(LONG[:900])
    world.claude.faults.slow(SLOWLY)
    async with world.bot():
        anna.says("Tell me a lot.")
        first = await growing(world, anna.chat)
        second = await growing(world, anna.chat, len(first))
        assert anna.chat.answers == []
        world.claude.faults.slow(0)
        await world.telegram.until(lambda: anna.chat.answers, seconds=20)

    assert LONG.startswith(first)
    assert second.startswith(first)
    assert journal_of(anna.chat) == ["Tell me a lot.", LONG[:900].strip()]
    assert anna.chat.draft(world.clock.now()) is None


async def test_in_a_group_one_message_grows_into_the_answer(world, anna):
    group = world.telegram.supergroup(members=[anna])
    world.claude.script(LONG[:900])
    world.claude.faults.slow(SLOWLY)
    async with world.bot():
        asked = anna.says("@emulated_bot tell me a lot.", chat=group)
        first = await growing(world, group)
        world.claude.faults.slow(0)
        await world.telegram.until(lambda: group.text == LONG[:900].strip(), seconds=20)

    assert LONG.startswith(first)
    assert len(first) < 900
    [answer] = group.answers
    assert answer.raw["reply_to_message"]["message_id"] == asked.message_id


@pytest.mark.parametrize("replicas", [1, 2])
async def test_the_stop_button_ends_its_own_turn_and_nothing_else(world, anna, replicas):
    """Whichever replica runs it; what was shown is kept, and the next question is answered."""
    world.claude.script(LONG, "The second answer.")
    world.claude.faults.slow(SLOWLY)
    async with world.bot(), world.bot() if replicas > 1 else nullcontext():
        anna.says("Tell me a lot.")
        shown = await growing(world, anna.chat, 40)
        anna.says("And now something short.")
        anna.stops()
        await world.telegram.until(lambda: "[interrupted]" in anna.chat.text, seconds=5)
        world.claude.faults.slow(0)
        await world.telegram.until(lambda: "The second answer." in anna.chat.text, seconds=20)

    texts = [message.text for message in anna.chat.answers]
    assert texts[0].startswith(shown)
    assert len(texts[0]) < len(LONG)
    assert texts[1:] == ["[interrupted]", "The second answer."]
    assert "[interrupted]" in str(world.session(anna.id)["messages"][1])


async def test_in_a_private_chat_with_topics_each_topic_has_its_own_draft_stop_and_session(world, anna):
    world.telegram.world.bot["has_topics_enabled"] = True
    async with world.bot():
        await world.ask(anna, "My secret word is heron.")
        herons, trains = anna.topic("Herons"), anna.topic("Trains")
        world.claude.script(LONG)
        world.claude.faults.slow(SLOWLY)
        anna.says("Tell me a lot.", thread=herons)
        await growing(world, anna.chat, 40)
        assert anna.chat.draft(world.clock.now()).thread_id == herons
        anna.stops()
        await world.telegram.until(lambda: "[interrupted]" in anna.chat.text, seconds=5)
        world.claude.faults.slow(0)
        answer = await world.ask(anna, "What is my secret word?", thread=trains)

    assert "heron" not in answer
    assert [message.thread_id for message in anna.chat.answers] == [None, herons, herons, trains]
    assert {session["threadId"] for session in world.sessions(anna.id)} == {None, herons, trains}


async def test_a_late_stop_stops_nothing(world, anna):
    """It names a turn that is over; the one that runs now goes on."""
    world.claude.script("First.", LONG[:300])
    async with world.bot():
        await world.ask(anna, "One?")
        first = world.database["inbox"].find_one()["_id"]
        world.claude.faults.slow(SLOWLY)
        anna.says("Two?")
        await growing(world, anna.chat, 10)
        world.telegram.deliver({"stopped_message_generation": {"chat": anna.chat.json(), "draft_id": first}})
        await world.telegram.until(lambda: LONG[:300].strip() in anna.chat.text, seconds=20)
    assert "[interrupted]" not in anna.chat.text


async def test_nothing_that_was_read_vanishes_around_a_tool(world, anna):
    """C92"""
    world.claude.script(
        call("remember", {"text": "tea"}, saying="I will note that you like tea, just a moment please."),
        "Done, and thank you.",
    )
    world.claude.faults.slow(0.2)
    async with world.bot():
        anna.says("I like tea.")
        before = await growing(world, anna.chat, 10)
        await world.telegram.until(lambda: anna.chat.answers, seconds=20)
    [answer] = anna.chat.answers
    assert answer.text.startswith(before)
    assert answer.text.endswith("Done, and thank you.")


async def test_a_flooded_preview_delays_neither_the_answer_nor_anybody_else(world, anna, boris):
    """C88"""
    world.claude.script(LONG[:600], "Hello, Boris.")
    world.claude.faults.slow(SLOWLY)
    world.telegram.faults.next("sendMessageDraft", Fault.too_many(2), chat=anna.id)
    async with world.bot():
        anna.says("Tell me a lot.")
        await world.telegram.until(lambda: world.telegram.journal.of("sendMessageDraft"), seconds=20)
        world.claude.faults.slow(0)
        await world.ask(boris, "Hello")
        await world.telegram.until(lambda: anna.chat.answers, seconds=20)
    assert anna.chat.text == LONG[:600].strip()
    assert len(world.telegram.journal.of("sendMessageDraft", chat=anna.id)) == 1
