"""A group that Telegram has moved: what its members have there is found under its new id, each
Owner's by their own.
"""

from __future__ import annotations

import asyncio

import pytest

from bot.owner import Place
from bot.ports import Note
from bot.store.mongo.chats import MongoChats
from bot.store.mongo.driver_gate import DriverGate
from tests.builders import ANNA, BORIS, LIFETIME, NOON, dialogue, session

OLD, NEW = Place(-500), Place(-100_600)
DURABLE = pytest.mark.parametrize("stores", ["motor", "pymongo", "mongomock"], indirect=True)
"""What is in memory does not outlive its process, let alone a group."""


@pytest.fixture
async def moved(stores):
    """Two people's talks in a group that has moved."""
    for number, owner in enumerate((ANNA, BORIS)):
        await stores.sessions.create(
            owner, session(str(number) * 32, owner, OLD, messages=dialogue(1))
        )
        await stores.notes.add(owner, OLD, Note("n1", "tea", NOON))
    await MongoChats(stores.database, DriverGate()).moved(OLD.chat_id, NEW.chat_id)
    return stores


async def load(stores, owner, place):
    return await stores.sessions.load(owner, place, at=NOON, now=NOON, lifetime=LIFETIME)


@DURABLE
async def test_the_session_goes_on_in_the_new_chat(moved):
    """The same one: its id, its messages; the other member's stays until that person writes."""
    found = await load(moved, ANNA, NEW)
    assert (found.id, found.place, len(found.messages), found.revision) == ("0" * 32, NEW, 2, 0)
    assert [note.text for note in await moved.notes.of(ANNA, NEW)] == ["tea"]
    assert await moved.notes.of(BORIS, NEW) == []
    kept = await moved.database["sessions"].find_one({"ownerId": BORIS.id})
    assert kept["chatId"] == OLD.chat_id


@DURABLE
async def test_what_waited_in_the_old_chat_finds_it_there(moved):
    assert (await load(moved, ANNA, OLD)).place == OLD
    await load(moved, ANNA, NEW)
    assert (await load(moved, ANNA, OLD)).place == NEW


@DURABLE
@pytest.mark.parametrize("operation", ["inspect", "close", "erase"])
async def test_a_command_finds_it_there_too(moved, operation):
    """/reset in the new chat erases what was said in the old one."""
    assert await getattr(moved.sessions, operation)(ANNA, NEW)
    assert await load(moved, ANNA, OLD) is None or operation == "inspect"


@DURABLE
async def test_what_both_chats_have_stays_where_it_is(moved):
    await moved.sessions.create(ANNA, session("c" * 32, ANNA, NEW))
    assert (await load(moved, ANNA, NEW)).id == "c" * 32
    assert (await load(moved, ANNA, OLD)).id == "0" * 32


async def test_two_who_say_so_at_once_are_one(store):
    chats = MongoChats(store.database, store.calls)
    await asyncio.gather(*(chats.moved(OLD.chat_id, NEW.chat_id) for _ in range(8)))
    assert await store.database["chats"].find().to_list(None) == [
        {"_id": OLD.chat_id, "movedTo": NEW.chat_id}
    ]


async def test_nothing_is_asked_where_the_session_is_found_or_the_chat_is_private(store, commands):
    """A plain turn pays nothing for it."""
    await store.sessions.create(ANNA, session("a" * 32, ANNA, NEW))
    commands.sent.clear()
    await load(store, ANNA, NEW)
    await load(store, ANNA, Place(ANNA.id))
    assert [name for _, name, _ in commands.sent] == ["findAndModify", "findAndModify"]
