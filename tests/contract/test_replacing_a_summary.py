"""Putting a summary in place of messages: one update, guarded by the epoch, beside running
turns.
"""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from bot.errors import SessionGone
from bot.session import CompactionState, Gap, Summary
from tests.builders import ANNA, ANNAS_CHAT, BORIS, LIFETIME, NOON, closed_turn, dialogue, session

STATE = CompactionState(0, None, (NOON,))


def summary(up_to, epoch=1, words="They talked."):
    return Summary(words, up_to, epoch, 20, "small", NOON, (Gap(0, 1),))


@pytest.fixture
async def sessions(stores):
    await stores.sessions.create(ANNA, session(messages=dialogue(5)))
    return stores.sessions


async def load(sessions):
    return await sessions.load(ANNA, ANNAS_CHAT, at=NOON, now=NOON, lifetime=LIFETIME)


async def test_the_summary_stands_for_what_it_covers(sessions):
    """C40: the tail stays as it was; the revision does not move."""
    made = await load(sessions)
    assert await sessions.replace_summary(ANNA, made, summary(5), STATE)
    found = await load(sessions)
    assert (found.summary, found.compaction, found.revision) == (summary(5), STATE, made.revision)
    assert found.messages == made.messages[6:]


async def test_of_two_compactors_one_wins(sessions):
    """The mutant without the epoch in its filter fails here."""
    made = await load(sessions)
    assert await sessions.replace_summary(ANNA, made, summary(5), STATE)
    assert not await sessions.replace_summary(ANNA, made, summary(7, words="Another."), STATE)
    found = await load(sessions)
    assert (found.summary, len(found.messages)) == (summary(5), 4)


async def test_the_next_summary_builds_on_the_last(sessions):
    await sessions.replace_summary(ANNA, await load(sessions), summary(3), STATE)
    assert await sessions.replace_summary(ANNA, await load(sessions), summary(7, epoch=2), STATE)
    assert [entry.seq for entry in (await load(sessions)).messages] == [8, 9]


async def test_a_turn_that_runs_meanwhile_commits(sessions):
    """C47: the new turn survives and the summary is applied beside it."""
    running = await load(sessions)
    assert await sessions.replace_summary(ANNA, await load(sessions), summary(7), STATE)
    await sessions.commit(ANNA, running, closed_turn(running, 9))
    assert [entry.seq for entry in (await load(sessions)).messages] == [8, 9, 10, 11]


async def test_an_erased_session_takes_no_summary(sessions):
    """C47: /reset during the summary call: nothing comes back."""
    made = await load(sessions)
    await sessions.erase(ANNA, ANNAS_CHAT)
    assert not await sessions.replace_summary(ANNA, made, summary(5), STATE)
    assert not await sessions.exists(ANNA, made.id)


async def test_nobody_summarises_another_ones_session(sessions):
    made = await load(sessions)
    assert not await sessions.replace_summary(BORIS, made, summary(5), STATE)
    assert await load(sessions) == made


async def test_a_failed_try_is_remembered_and_changes_nothing_else(sessions):
    made = await load(sessions)
    state = CompactionState(2, NOON + timedelta(minutes=8))
    await sessions.postpone(ANNA, made, state)
    found = await load(sessions)
    made.compaction = state
    assert found == made


async def test_a_late_failure_does_not_undo_another_compactors_success(sessions):
    made = await load(sessions)
    await sessions.replace_summary(ANNA, await load(sessions), summary(5), STATE)
    await sessions.postpone(ANNA, made, CompactionState(3, NOON))
    assert (await load(sessions)).compaction == STATE


async def test_turns_and_two_compactors_together_lose_nothing(stores, sessions):
    """archive ∪ messages = 0 … nextSeq − 1, whatever interleaves (on a real mongod; elsewhere one
    after the other).

    A compactor that lost to the other leaves rows behind whose messages still stand; the next one
    relies on them.
    """

    async def talk():
        for update_id in range(1, 31):
            made = await load(sessions)
            await sessions.commit(ANNA, made, closed_turn(made, update_id))

    async def compact():
        for _ in range(12):
            made = await load(sessions)
            if len(made.messages) > 4:
                old = made.messages[:-4]
                await stores.archive.add(ANNA, made.id, old)
                await sessions.replace_summary(
                    ANNA, made, summary(old[-1].seq, made.epoch + 1), STATE
                )
            await asyncio.sleep(0)

    await asyncio.gather(talk(), compact(), compact())
    found = await load(sessions)
    archived = await stores.archive.of(ANNA, found.id)
    assert sorted({entry.seq for entry in (*archived, *found.messages)}) == list(range(70))
    assert (found.summary.up_to + 1, found.next_seq - 1) == (
        found.messages[0].seq,
        found.messages[-1].seq,
    )
    assert (found.next_seq, found.revision) == (70, 30)
    with pytest.raises(SessionGone):
        await sessions.commit(ANNA, session(), closed_turn(session()))
