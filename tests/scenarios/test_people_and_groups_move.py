"""Who blocks the bot and comes back, who is gone for good, and a group that becomes a supergroup."""

from __future__ import annotations

import asyncio

import pytest

from bot.demo.telegram.faults import Fault


async def idle(world):
    await world.eventually(lambda: world.database["lanes"].count_documents({"ready": True}) == 0)


def unreachable(world):
    return {one["_id"] for one in world.database["owners"].find({"unreachable": {"$type": "date"}})}


@pytest.mark.parametrize("driver", ["motor", "pymongo"])
async def test_a_group_that_becomes_a_supergroup_keeps_its_talks(world, anna, boris, driver):
    """Each member's own; what waited when it moved is answered in the new chat."""
    group = world.telegram.group(members=[anna, boris])
    gate = asyncio.Event()
    async with world.bot(MONGODB_DRIVER=driver):
        await world.ask(anna, "@emulated_bot my secret word is heron.", chat=group)
        await world.ask(boris, "@emulated_bot моё слово — поезд.", chat=group)
        first = world.session(anna.id)
        world.telegram.faults.next("sendMessage", Fault.hold(gate))
        anna.says("@emulated_bot one?", chat=group)
        await world.telegram.until(lambda: len(world.telegram.journal.of("sendMessage")) == 3, seconds=20)
        anna.says("@emulated_bot what is my secret word?", chat=group)
        await world.eventually(lambda: world.database["inbox"].count_documents({"state": "queued"}) == 2)
        moved = world.telegram.events.migrate(group, anna)
        gate.set()
        await world.telegram.until(lambda: len(moved.answers) == 2, seconds=20)
        assert "heron" in moved.answers[1].text
        answer = await world.ask(anna, "@emulated_bot what is my secret word?", chat=moved)
        foreign = await world.ask(boris, "@emulated_bot what is my secret word?", chat=moved)

    assert "heron" in answer
    assert "heron" not in foreign
    session = world.session(anna.id)
    assert (session["_id"], session["chatId"], session["revision"]) == (first["_id"], moved.id, 4)
    assert {session["chatId"] for session in world.sessions()} == {moved.id}
    assert list(world.database["chats"].find()) == [{"_id": group.id, "movedTo": moved.id}]


async def test_a_move_that_only_a_send_tells_of_is_kept_as_well(world, anna):
    group = world.telegram.group(members=[anna])
    moved = world.telegram.supergroup(members=[anna])
    async with world.bot():
        await world.ask(anna, "@emulated_bot my secret word is heron.", chat=group)
        group.migrated_to = moved.id
        anna.says("@emulated_bot hello", chat=group)
        await world.telegram.until(lambda: moved.answers, seconds=20)
        assert "heron" in await world.ask(anna, "@emulated_bot what is my secret word?", chat=moved)
    assert len(world.sessions()) == 1


async def test_a_move_that_cannot_be_read_stops_nobody(world, anna):
    async with world.bot():
        world.telegram.deliver({"my_chat_member": {"chat": {"id": anna.id, "type": "private"}}})
        assert await world.ask(anna, "My name is Anna.") == "Nice to meet you, Anna!"


async def test_who_blocks_the_bot_is_out_of_reach_until_they_write_again(world, anna, boris):
    async with world.bot():
        await world.ask(anna, "Hello")
        anna.blocks()
        await world.eventually(lambda: unreachable(world) == {anna.id})
        anna.unblocks()
        await world.eventually(lambda: unreachable(world) == set())
        await world.ask(boris, "Привет")
    assert world.database["owners"].count_documents({"_id": boris.id}) == 0


async def test_who_cannot_be_answered_is_out_of_reach_until_they_write_again(world, anna):
    """Nobody tells the bot of it but the refused send, nor of the end but the next message."""
    async with world.bot():
        world.telegram.faults.next("sendMessage", Fault.forbidden("user is deactivated"))
        anna.says("Hello")
        await world.eventually(lambda: unreachable(world) == {anna.id})
        await idle(world)
        assert world.database["inbox"].find_one()["state"] == "refused"
    async with world.bot():
        await world.ask(anna, "I am back.")
        await world.eventually(lambda: unreachable(world) == set())
        await idle(world)
        await world.ask(anna, "Really.")
    assert world.session(anna.id)["revision"] == 3


async def test_a_group_that_threw_the_bot_out_says_nothing_of_its_members(world, anna):
    group = world.telegram.supergroup(members=[anna])
    gate = asyncio.Event()
    world.telegram.faults.next("sendMessage", Fault.hold(gate))
    async with world.bot():
        anna.says("@emulated_bot hello", chat=group)
        await world.telegram.until(lambda: world.telegram.journal.of("sendMessage"), seconds=20)
        world.telegram.events.expel(group, anna)
        gate.set()
        await world.eventually(lambda: world.database["inbox"].count_documents({"state": "refused"}))
        await idle(world)
    assert unreachable(world) == set()
