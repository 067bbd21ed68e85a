"""The commit of a turn: whole or not at all, compare-and-set on the revision, never an upsert."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from bot.errors import SessionGone, SessionTooLarge
from bot.session import TURNS_REMEMBERED, Fact, PromptSize, Step, Summary, Task
from bot.store import turn_documents
from bot.usage import Usage
from tests.builders import (
    ANNA,
    ANNAS_CHAT,
    BORIS,
    LIFETIME,
    NOON,
    closed_turn,
    message,
    session,
    text,
)


@pytest.fixture
async def sessions(stores):
    await stores.sessions.create(ANNA, session())
    return stores.sessions


async def load(sessions, at=NOON):
    return await sessions.load(ANNA, ANNAS_CHAT, at=at, now=at, lifetime=LIFETIME)


async def commit(sessions, update_id=1, **changes):
    made = await load(sessions)
    await sessions.commit(ANNA, made, closed_turn(made, update_id, **changes))
    return made


async def test_a_committed_turn_is_loaded_whole(sessions):
    """The Session in hand becomes what the store holds, to the last field."""
    task = Task("book", (Step("flight"),), (Fact("budget", "900"),))
    made = await commit(sessions, task=task, prompt=PromptSize(77, 0), usage=Usage(5, 4, 3, 2, 1))
    assert await load(sessions) == made
    assert (made.revision, made.next_seq, made.title, made.task) == (1, 2, "hello", task)


async def test_turns_add_up(sessions):
    for update_id in (1, 2, 3):
        made = await commit(sessions, update_id, words=f"question {update_id}")
    assert await load(sessions) == made
    assert [entry.seq for entry in made.messages] == [0, 1, 2, 3, 4, 5]
    assert (made.usage.input_tokens, made.usage.turns, made.title) == (300, 3, "question 1")


async def test_moments_are_stored_to_the_millisecond(sessions):
    odd = NOON + timedelta(microseconds=123_456)
    made = await commit(sessions, at=odd)
    assert made.last_active == NOON + timedelta(milliseconds=123)
    assert await load(sessions) == made


async def test_committing_never_turns_the_clock_back(sessions):
    made = await load(sessions, NOON + timedelta(minutes=5))
    await sessions.commit(ANNA, made, closed_turn(made, at=NOON))
    assert (await load(sessions)).last_active == NOON + timedelta(minutes=5)


async def test_the_last_update_ids_are_remembered(sessions):
    for first in range(0, 90, 30):
        made = await commit(sessions, first, update_ids=tuple(range(first, first + 30)))
    assert made.turns == tuple(range(90 - TURNS_REMEMBERED, 90))
    assert (await load(sessions)).turns == made.turns


async def test_of_two_commits_at_one_revision_one_wins(sessions):
    """The mutant without `revision` in its filter fails here."""
    first, second = await load(sessions), await load(sessions)
    untouched = await load(sessions)
    await sessions.commit(ANNA, first, closed_turn(first, 1, "first"))
    with pytest.raises(SessionGone):
        await sessions.commit(ANNA, second, closed_turn(second, 2, "second"))
    assert second == untouched
    assert await load(sessions) == first


@pytest.mark.parametrize("end", ["close", "erase"])
async def test_a_turn_cannot_commit_into_a_session_that_ended(sessions, stores, end):
    """C35: the late answer of the old Session goes nowhere, and nothing is resurrected."""
    made = await load(sessions)
    await getattr(sessions, end)(ANNA, ANNAS_CHAT)
    await sessions.create(ANNA, session("b" * 32))
    with pytest.raises(SessionGone):
        await sessions.commit(ANNA, made, closed_turn(made))
    assert (await load(sessions)).messages == []
    assert await sessions.exists(ANNA, made.id) == (end == "close")


async def test_a_closed_session_refuses_even_at_its_own_revision(sessions):
    """The mutant without `status` in its filter fails here: the revision alone would match."""
    await load(sessions)
    closed = await sessions.close(ANNA, ANNAS_CHAT)
    with pytest.raises(SessionGone):
        await sessions.commit(ANNA, closed, closed_turn(closed))


async def test_nobody_commits_into_another_ones_session(sessions):
    """The mutant without `ownerId` in its filter fails here."""
    made = await load(sessions)
    with pytest.raises(SessionGone):
        await sessions.commit(BORIS, made, closed_turn(made))
    assert (await load(sessions)).messages == []


async def test_what_another_hand_writes_meanwhile_does_not_cost_the_turn(sessions):
    """C25: only turns and closing move the revision."""
    made = await load(sessions)
    await sessions.postpone(ANNA, made, replace(made.compaction, fails=1))
    summary = Summary("Nothing yet.", -1, 1, 5, "small", NOON)
    assert await sessions.replace_summary(ANNA, made, summary, made.compaction)
    await sessions.commit(ANNA, made, closed_turn(made))
    assert (await load(sessions)).summary == summary


async def test_a_turn_that_outgrows_the_cap_is_refused_before_the_driver_would(sessions):
    """C107: the Session stays as it was, and stays usable."""
    made = await load(sessions)
    huge = replace(message(0), content=(text("ж" * (turn_documents.MAX_BYTES // 2)),))
    with pytest.raises(SessionTooLarge):
        await sessions.commit(ANNA, made, closed_turn(made, messages=(huge,)))
    await commit(sessions, 2)
    assert (await load(sessions)).turns == (2,)


async def test_more_messages_than_the_validator_takes_are_refused(sessions):
    made = await load(sessions)
    many = tuple(message(seq) for seq in range(turn_documents.MAX_MESSAGES + 1))
    with pytest.raises(SessionTooLarge):
        await sessions.commit(ANNA, made, closed_turn(made, messages=many))
    await sessions.commit(ANNA, made, closed_turn(made, messages=many[:-1]))


async def test_a_cancelled_commit_is_one_or_nothing(sessions):
    """C114: whatever the moment of the cancellation, the turn is stored once or not at all."""
    for update_id in range(1, 11):
        made = await load(sessions)
        before = made.revision
        saving = asyncio.ensure_future(sessions.commit(ANNA, made, closed_turn(made, update_id)))
        for _ in range(update_id // 2):
            await asyncio.sleep(0)
        saving.cancel()
        await asyncio.wait({saving})
        stored = await load(sessions)
        assert stored.turns.count(update_id) == stored.revision - before
        assert len(stored.messages) == stored.next_seq == 2 * stored.revision
