"""Who blocks the bot and comes back, who is gone for good, and a group that becomes a
supergroup.
"""

from __future__ import annotations

import asyncio

import pytest

from bot.standins.telegram.faults import Fault


async def idle(state):
    await state.eventually(lambda: state.database["lanes"].count_documents({"ready": True}) == 0)


def unreachable(state):
    return {one["_id"] for one in state.database["owners"].find({"unreachable": {"$type": "date"}})}


@pytest.mark.parametrize("driver", ["motor", "pymongo"])
async def test_a_group_that_becomes_a_supergroup_keeps_its_talks(state, anna, boris, driver):
    """Each member's own; what waited when it moved is answered in the new chat."""
    group = state.telegram.group(members=[anna, boris])
    gate = asyncio.Event()
    async with state.bot(MONGODB_DRIVER=driver):
        await state.ask(anna, "@emulated_bot my secret word is heron.", chat=group)
        await state.ask(boris, "@emulated_bot моё слово — поезд.", chat=group)
        first = state.session(anna.id)
        state.telegram.faults.next("sendMessage", Fault.hold(gate))
        anna.says("@emulated_bot one?", chat=group)
        await state.telegram.until(lambda: len(state.telegram.journal.of("sendMessage")) == 3)
        anna.says("@emulated_bot what is my secret word?", chat=group)
        await state.eventually(
            lambda: state.database["inbox"].count_documents({"state": "queued"}) == 2
        )
        moved = state.telegram.events.migrate(group, anna)
        gate.set()
        await state.telegram.until(lambda: len(moved.answers) == 2)
        assert "heron" in moved.answers[1].text
        answer = await state.ask(anna, "@emulated_bot what is my secret word?", chat=moved)
        foreign = await state.ask(boris, "@emulated_bot what is my secret word?", chat=moved)

    assert "heron" in answer
    assert "heron" not in foreign
    session = state.session(anna.id)
    assert (session["_id"], session["chatId"], session["revision"]) == (first["_id"], moved.id, 4)
    assert {session["chatId"] for session in state.sessions()} == {moved.id}
    assert list(state.database["chats"].find()) == [{"_id": group.id, "movedTo": moved.id}]


async def test_a_move_that_only_a_send_tells_of_is_kept_as_well(state, anna):
    group = state.telegram.group(members=[anna])
    moved = state.telegram.supergroup(members=[anna])
    async with state.bot():
        await state.ask(anna, "@emulated_bot my secret word is heron.", chat=group)
        group.migrated_to = moved.id
        anna.says("@emulated_bot hello", chat=group)
        await state.telegram.until(lambda: moved.answers)
        assert "heron" in await state.ask(anna, "@emulated_bot what is my secret word?", chat=moved)
    assert len(state.sessions()) == 1


async def test_a_move_that_cannot_be_read_stops_nobody(state, anna):
    async with state.bot():
        state.telegram.deliver({"my_chat_member": {"chat": {"id": anna.id, "type": "private"}}})
        assert await state.ask(anna, "My name is Anna.") == "Nice to meet you, Anna!"


async def test_who_blocks_the_bot_is_out_of_reach_until_they_write_again(state, anna, boris):
    async with state.bot():
        await state.ask(anna, "Hello")
        anna.blocks()
        await state.eventually(lambda: unreachable(state) == {anna.id})
        anna.unblocks()
        await state.eventually(lambda: unreachable(state) == set())
        await state.ask(boris, "Привет")
    assert state.database["owners"].count_documents({"_id": boris.id}) == 0


async def test_who_cannot_be_answered_is_out_of_reach_until_they_write_again(state, anna):
    """Nobody tells the bot of it but the refused send, nor of the end but the next message."""
    async with state.bot():
        state.telegram.faults.next("sendMessage", Fault.forbidden("user is deactivated"))
        anna.says("Hello")
        await state.eventually(lambda: unreachable(state) == {anna.id})
        await idle(state)
        assert state.database["inbox"].find_one()["state"] == "refused"
    async with state.bot():
        await state.ask(anna, "I am back.")
        await state.eventually(lambda: unreachable(state) == set())
        await idle(state)
        await state.ask(anna, "Really.")
    assert state.session(anna.id)["revision"] == 3


async def test_a_group_that_threw_the_bot_out_says_nothing_of_its_members(state, anna):
    group = state.telegram.supergroup(members=[anna])
    gate = asyncio.Event()
    state.telegram.faults.next("sendMessage", Fault.hold(gate))
    async with state.bot():
        anna.says("@emulated_bot hello", chat=group)
        await state.telegram.until(lambda: state.telegram.journal.of("sendMessage"))
        state.telegram.events.expel(group, anna)
        gate.set()
        await state.eventually(
            lambda: state.database["inbox"].count_documents({"state": "refused"})
        )
        await idle(state)
    assert unreachable(state) == set()
