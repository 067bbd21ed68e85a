"""What the demo's diary says of Sessions, seen from outside: through a change stream, and by
asking.
"""

from __future__ import annotations

import asyncio
import json
from datetime import timedelta
from typing import Any

import pytest
from pymongo.errors import OperationFailure

from bot.demo.change_stream import ChangeStream
from bot.demo.event_log import EventLog
from bot.lifecycle import Lifecycle
from bot.ops.clock import ManualClock
from bot.owner import Place
from bot.session import CompactionState, Summary
from tests.builders import ANNA, ANNAS_CHAT, LIFETIME, NOON, closed_turn, dialogue, session

SECRET = "heron"
PROBE = "f" * 32


@pytest.fixture
def clock():
    return ManualClock(NOON)


@pytest.fixture
async def store(connected):
    opened = await connected("pymongo")
    yield opened
    await opened.close()


class Standalone:
    """A database whose server has no change streams, as one without a replica set."""

    def __init__(self, database):
        self._sessions = database["sessions"]

    def __getitem__(self, name):
        return self

    async def watch(self, **options):
        raise OperationFailure("The $changeStream stage is only supported on replica sets", 40573)

    def find(self, *arguments):
        return self._sessions.find(*arguments)


@pytest.fixture(params=["stream", "asking"])
async def event_log(request, store, clock):
    """The diary of a watch that has seen what was there: one Session, of which it said nothing."""
    written = EventLog(clock)
    database: Any = store.database if request.param == "stream" else Standalone(store.database)
    await store.sessions.create(ANNA, session("0" * 32, place=ANNAS_CHAT))
    await store.sessions.create(ANNA, session(PROBE, place=Place(99)))
    leave = asyncio.Event()
    watching = asyncio.create_task(
        ChangeStream(database, written, clock, LIFETIME.idle, ask_seconds=0.05).run(leave)
    )
    await _looking(store, written)
    yield written
    leave.set()
    await asyncio.wait_for(watching, 5)


async def _looking(store, event_log):
    """Return once the watch has begun: changes of a Session that is nobody's are made until it
    tells of one.
    """
    sessions = store.database["sessions"]
    async with asyncio.timeout(60):
        async for told in event_log.follow(0, 0.05):
            if told:
                break
            await sessions.update_one({"_id": PROBE}, {"$inc": {"revision": 1}})
    await sessions.delete_one({"_id": PROBE})
    await happens(event_log, "reset")


async def happens(event_log, what, **fields):
    """The latest event, once it is of that kind."""
    wanted = {"what": what, **fields}.items()
    async with asyncio.timeout(60):
        async for _ in event_log.follow(0, 0.05):
            if (known := event_log.since(0)) and wanted <= known[-1].items():
                return known[-1]
    raise AssertionError(what)


async def loaded(store, at=NOON):
    found = await store.sessions.load(ANNA, ANNAS_CHAT, at=at, now=at, lifetime=LIFETIME)
    assert found is not None
    return found


async def test_a_commit_is_told_with_its_revision(store, event_log):
    made = await loaded(store)
    await store.sessions.commit(ANNA, made, closed_turn(made, words=SECRET, answer=SECRET))
    told = await happens(event_log, "committed")
    assert (told["revision"], told["messages"], told["session"]) == (1, 2, "0" * 32)
    assert (told["person"], told["chat"], told["thread"]) == (ANNA.id, ANNAS_CHAT.chat_id, None)

    await store.sessions.commit(ANNA, made, closed_turn(made, update_id=2))
    await happens(event_log, "committed", revision=2, messages=4)


async def test_a_load_is_told_though_it_changes_nothing_but_the_time(store, event_log):
    await loaded(store, NOON + timedelta(minutes=5))
    assert (await happens(event_log, "loaded"))["revision"] == 0


async def test_a_compaction_is_told_by_the_numbers_of_messages(store, event_log):
    made = await loaded(store)
    for turn in range(3):
        await store.sessions.commit(ANNA, made, closed_turn(made, update_id=turn))
    await happens(event_log, "committed", revision=3)
    summary = Summary(SECRET, 3, 1, 5, "m", NOON)
    assert await store.sessions.replace_summary(
        ANNA, made, summary, CompactionState(recent=(NOON,))
    )
    told = await happens(event_log, "compacted")
    assert (told["from"], told["to"], told["epoch"]) == (6, 2, 1)


async def test_a_failed_summary_is_told_with_the_time_of_the_next_try(store, event_log):
    made = await loaded(store)
    await store.sessions.postpone(
        ANNA, made, CompactionState(fails=1, next_at=NOON + timedelta(seconds=30))
    )
    told = await happens(event_log, "summariser-failed")
    assert (told["fails"], told["nextAt"]) == (1, "2026-01-05T12:00:30.000Z")


async def test_new_closes_and_begins(store, event_log, clock):
    await Lifecycle(store.sessions, store.archive, clock, lambda: "1" * 32).new(ANNA, ANNAS_CHAT)
    assert (await happens(event_log, "created"))["session"] == "1" * 32
    assert event_log.since(0)[-2]["what"] == "closed"


async def test_reset_erases_and_begins(store, event_log, clock):
    await Lifecycle(store.sessions, store.archive, clock, lambda: "1" * 32).reset(ANNA, ANNAS_CHAT)
    assert (await happens(event_log, "created"))["session"] == "1" * 32
    erased = event_log.since(0)[-2]
    assert (erased["what"], erased["session"], erased["person"]) == ("reset", "0" * 32, ANNA.id)


async def test_a_session_that_was_idle_too_long_is_told_as_expired(store, event_log, clock):
    clock.advance(timedelta(hours=1))
    assert await store.sessions.expire(
        ANNA, ANNAS_CHAT, at=clock.now(), now=clock.now(), lifetime=LIFETIME
    )
    await happens(event_log, "expired")


async def test_no_word_of_anybody_is_in_the_diary(store, event_log):
    made = await loaded(store)
    await store.sessions.commit(
        ANNA, made, closed_turn(made, words=SECRET, answer=SECRET, title=SECRET)
    )
    await happens(event_log, "committed")
    assert SECRET not in json.dumps(event_log.since(0))


async def test_messages_that_were_there_before_are_counted(store, event_log):
    made = session("2" * 32, place=Place(5), messages=dialogue(4))
    await store.sessions.create(ANNA, made)
    await happens(event_log, "created")
    await store.sessions.replace_summary(
        ANNA, made, Summary("s", 5, 1, 5, "m", NOON), made.compaction
    )
    told = await happens(event_log, "compacted")
    assert (told["from"], told["to"]) == (8, 2)
