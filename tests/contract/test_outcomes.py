"""When MongoDB fails during a commit, the outcome is found out: the turn is stored once, or the
caller is told (C108).

Answers are lost in two ways: `Doubtful` stands at the door of every call, so that a test can let
another hand write in between; the server's own failpoints break the wire itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

from bot.errors import SessionGone, StoreError, StoreUnavailable, Uncertain
from bot.store.mongo.commits import RetryPolicy
from bot.store.mongo.driver_gate import DriverGate
from bot.store.mongo.sessions import MongoSessions
from tests.builders import ANNA, ANNAS_CHAT, GROUP, LIFETIME, NOON, closed_turn, session

IMPATIENT = RetryPolicy(seconds=2, pauses=(0,) * 5)


async def nothing() -> None:
    """No other hand moves."""


@dataclass
class Silence:
    """No answer to a call that arrived, or (not `arrives`) never did; `meanwhile` another hand may
    write.
    """

    arrives: bool
    meanwhile: Callable[[], Awaitable[object]] = nothing


LOST, UNHEARD = Silence(arrives=False), Silence(arrives=True)


class Doubtful(DriverGate):
    """The first calls end in these silences, the rest as usual."""

    def __init__(self, *silences: Silence) -> None:
        super().__init__()
        self._silences = iter(silences)
        self._silence: Silence | None = None

    async def __aenter__(self) -> None:
        self._silence = next(self._silences, None)
        if self._silence and not self._silence.arrives:
            await self._silence.meanwhile()
            raise Uncertain
        await super().__aenter__()

    async def __aexit__(self, kind, error, trace) -> None:
        await super().__aexit__(kind, error, trace)
        if self._silence:
            await self._silence.meanwhile()
            raise Uncertain


@contextmanager
def failing(client, times, **fault):
    """The server's next `times` updates fail; 0 means all of them."""
    mode = {"times": times} if times else "alwaysOn"
    client.admin.command(
        "configureFailPoint", "failCommand", mode=mode, data={"failCommands": ["update"], **fault}
    )
    try:
        yield
    finally:
        client.admin.command("configureFailPoint", "failCommand", mode="off")


@pytest.fixture
async def sessions(store):
    await store.sessions.create(ANNA, session())
    return store.sessions


async def load(sessions):
    return await sessions.load(ANNA, ANNAS_CHAT, at=NOON, now=NOON, lifetime=LIFETIME)


async def commit(store, *silences: Silence):
    """Commit turn 5; whatever is raised must leave the Session in hand as it was."""
    made = await load(store.sessions)
    doubtful = MongoSessions(store.database, Doubtful(*silences), IMPATIENT)
    try:
        await doubtful.commit(ANNA, made, closed_turn(made, 5))
    except StoreError:
        assert made == session(last_active=made.last_active)
        raise
    return made


@pytest.mark.parametrize(
    "silences",
    [
        (UNHEARD,),
        (LOST,),
        (UNHEARD, LOST),
        (LOST, UNHEARD, LOST),
        (LOST, LOST, UNHEARD),
        (UNHEARD, UNHEARD),
    ],
    ids=[
        "unheard",
        "lost",
        "unheard_then_lost",
        "lost_unheard_lost",
        "lost_twice_then_unheard",
        "unheard_twice",
    ],
)
async def test_a_turn_of_unknown_outcome_is_stored_once(store, sessions, silences):
    made = await commit(store, *silences)
    assert await load(sessions) == made
    assert (made.revision, made.turns, len(made.messages)) == (1, (5,), 2)


async def test_a_server_that_stays_silent_is_reported(store, sessions):
    with pytest.raises(StoreUnavailable):
        await commit(store, *[LOST] * 20)
    assert (await load(sessions)).messages == []


async def test_a_session_closed_during_the_silence_stays_closed(store, sessions):
    with pytest.raises(SessionGone):
        await commit(
            store, Silence(arrives=False, meanwhile=lambda: sessions.close(ANNA, ANNAS_CHAT))
        )
    assert await load(sessions) is None


async def test_a_session_erased_during_the_silence_stays_erased(store, sessions):
    with pytest.raises(SessionGone):
        await commit(
            store, Silence(arrives=True, meanwhile=lambda: sessions.erase(ANNA, ANNAS_CHAT))
        )
    assert not await sessions.exists(ANNA, session().id)


async def test_another_replicas_answer_to_the_same_turn_is_not_taken_for_ours(store, sessions):
    """The update ids alone would say "stored"; a fenced-out worker must not believe that its own
    words are.
    """

    async def other_replica():
        other = await load(sessions)
        await sessions.commit(
            ANNA, other, closed_turn(other, 5, answer="the other replica's answer")
        )

    with pytest.raises(SessionGone):
        await commit(store, Silence(arrives=False, meanwhile=other_replica))
    assert (await load(sessions)).answer_to(5) == "the other replica's answer"


async def test_a_turn_that_was_stored_before_the_next_one_came_is_still_ours(store, sessions):
    async def next_turn():
        other = await load(sessions)
        await sessions.commit(ANNA, other, closed_turn(other, 6))

    await commit(store, Silence(arrives=True, meanwhile=next_turn))
    assert (await load(sessions)).turns == (5, 6)


@pytest.mark.parametrize(
    ("times", "fault"),
    [
        (1, {"writeConcernError": {"code": 64, "errmsg": "waiting for replication timed out"}}),
        (2, {"closeConnection": True}),
        (1, {"closeConnection": True}),
    ],
    ids=["replication_late", "torn_twice", "torn_once"],
)
async def test_a_fault_on_the_wire_stores_the_turn_once(
    store, sessions, mongo_client, times, fault
):
    with failing(mongo_client, times, **fault):
        made = await commit(store)
    assert await load(sessions) == made
    assert (made.revision, len(made.messages)) == (1, 2)


async def test_a_wire_that_stays_torn_is_reported(store, sessions, mongo_client):
    with failing(mongo_client, 0, closeConnection=True), pytest.raises(StoreUnavailable):
        await commit(store)
    assert (await load(sessions)).messages == []


class Held(DriverGate):
    """Calls wait at the door until they are let go."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting, self.go = asyncio.Event(), asyncio.Event()

    async def __aenter__(self) -> None:
        self.waiting.set()
        await self.go.wait()
        await super().__aenter__()


async def test_a_cancelled_commit_runs_to_its_end(store, sessions):
    """C114: the cancellation arrives while the write is on its way; it is passed on, and the turn
    is stored.
    """
    held = Held()
    made = await load(sessions)
    saving = asyncio.ensure_future(
        MongoSessions(store.database, held).commit(ANNA, made, closed_turn(made, 5))
    )
    await held.waiting.wait()
    saving.cancel()
    held.go.set()
    with pytest.raises(asyncio.CancelledError):
        await saving
    assert await load(sessions) == made
    assert made.knows(5)


async def test_the_drivers_words_go_no_further(store, sessions):
    """A driver quotes the value it failed on; ours name the kind of fault only."""
    made = await load(sessions)
    turn = closed_turn(made, 2**70, "my secret words")
    with pytest.raises(StoreError) as caught:
        await sessions.commit(ANNA, made, turn)
    assert "secret" not in str(caught.value)
    assert str(2**70) not in str(caught.value)
    assert caught.value.__suppress_context__


async def test_a_document_the_server_refuses_is_no_mere_outage(store, sessions):
    """A bug or a wrong schema is not worth trying again."""
    with pytest.raises(StoreError) as caught:
        await sessions.create(ANNA, session("not hexadecimal", place=GROUP))
    assert not isinstance(caught.value, StoreUnavailable)
    assert "121" in str(caught.value)
