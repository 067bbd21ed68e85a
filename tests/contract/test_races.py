"""Races that only a real server shows: an emulation runs its calls one after the other and passes
them all (C112).
"""

from __future__ import annotations

import asyncio

from bot.errors import AlreadyActive, SessionGone
from tests.builders import ANNA, ANNAS_CHAT, LIFETIME, NOON, closed_turn, session


async def load(store):
    return await store.sessions.load(ANNA, ANNAS_CHAT, at=NOON, now=NOON, lifetime=LIFETIME)


async def attempt(awaitable, error):
    """Whether it went through rather than losing its race."""
    try:
        await awaitable
    except error:
        return False
    return True


async def test_twenty_first_messages_make_one_session(store, mongo_client):
    """C27: the losers are told, and find the winner's Session."""
    made = [session(f"{number:032x}") for number in range(20)]
    won = await asyncio.gather(
        *(attempt(store.sessions.create(ANNA, one), AlreadyActive) for one in made)
    )
    assert won.count(True) == 1
    assert (await load(store)).id == made[won.index(True)].id
    assert mongo_client[store.database.name]["sessions"].count_documents({}) == 1


async def test_of_many_commits_at_one_revision_exactly_one_wins(store):
    """C112: without the compare-and-set all would land."""
    await store.sessions.create(ANNA, session())
    rivals = [await load(store) for _ in range(10)]
    turns = [closed_turn(rival, 100 + number) for number, rival in enumerate(rivals)]
    tries = (
        store.sessions.commit(ANNA, rival, turn) for rival, turn in zip(rivals, turns, strict=True)
    )
    won = await asyncio.gather(*(attempt(one, SessionGone) for one in tries))
    assert won.count(True) == 1
    assert (await load(store)).turns == (100 + won.index(True),)


async def test_eight_hands_lose_no_turn(store):
    """C26: each that lost its race loads again; all turns are there afterwards, whole and in
    order.
    """
    await store.sessions.create(ANNA, session())

    async def hand(first):
        for update_id in range(first, first + 5):
            while not await attempt(commit(update_id), SessionGone):
                pass

    async def commit(update_id):
        made = await load(store)
        await store.sessions.commit(
            ANNA, made, closed_turn(made, update_id, f"question {update_id}")
        )

    await asyncio.gather(*(hand(10 * number) for number in range(1, 9)))
    found = await load(store)
    assert [entry.seq for entry in found.messages] == list(range(80))
    assert sorted(found.turns) == [
        10 * number + step for number in range(1, 9) for step in range(5)
    ]
    assert [entry.turn for entry in found.messages[::2]] == [
        entry.turn for entry in found.messages[1::2]
    ]


async def test_commits_and_endings_at_the_same_moment_leave_nothing_half_done(store):
    """C35, C47: either the turn is in the Session that was closed, or nowhere; never in the next
    one.
    """
    for number in range(10):
        made = session(f"{number:032x}")
        await store.sessions.create(ANNA, made)
        committed, closed = await asyncio.gather(
            attempt(store.sessions.commit(ANNA, made, closed_turn(made, 7)), SessionGone),
            store.sessions.close(ANNA, ANNAS_CHAT),
        )
        assert closed.knows(7) == committed
        assert await load(store) is None


async def test_erasing_beats_a_running_commit(store, mongo_client):
    """C30: whichever comes first, nothing of the Session is left."""
    for number in range(10):
        made = session(f"{number:032x}")
        await store.sessions.create(ANNA, made)
        await asyncio.gather(
            attempt(store.sessions.commit(ANNA, made, closed_turn(made)), SessionGone),
            store.sessions.erase(ANNA, ANNAS_CHAT),
        )
    assert mongo_client[store.database.name]["sessions"].count_documents({}) == 0
