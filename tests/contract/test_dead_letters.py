"""Entries that were given up: an admin sees which, never what was said, and has one tried again,
once.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from bot.ops.clock import ManualClock
from bot.ports import Entry
from bot.store.mongo.dead_letters import DeadLetter
from bot.store.mongo.inbox import MongoInbox
from bot.store.mongo.queries import LeaseOwner
from tests.builders import ANNA, BORIS, NOON, lane

ANNAS, BORIS_LANE = lane(ANNA), lane(BORIS)


def entry(update_id, of=ANNAS, kind="content"):
    return Entry(update_id, of, kind, {"owner": of.owner.id, "text": "planted"}, NOON)


@pytest.fixture
def clock():
    return ManualClock(NOON)


@pytest.fixture
def inbox(store, clock):
    return MongoInbox(
        store.database,
        store.calls,
        clock,
        LeaseOwner("here", 15),
    )


@pytest.fixture
def again(store, clock):
    return lambda update_id: store.dead_letters.requeue(update_id, clock.now())


async def ended(inbox, state, *entries):
    """These were handled, and so they ended."""
    for one in entries:
        await inbox.put(one)
    claim = await inbox.claim(())
    while (batch := await inbox.next(claim)) is not None:
        claim = await inbox.finish(batch, state)
    await inbox.release(claim)


async def waiting(inbox):
    claim = await inbox.claim(())
    batch = await inbox.next(claim) if claim else None
    return [one.id for one in batch.entries] if batch else []


async def test_those_given_up_are_named_latest_first_without_their_words(inbox, store, clock):
    await ended(inbox, "dead", entry(1))
    clock.advance(timedelta(minutes=1))
    await ended(inbox, "failed", entry(2, BORIS_LANE, "command"))
    await ended(inbox, "done", entry(3))
    await inbox.put(entry(4))
    found = await store.dead_letters.latest()

    assert found == [
        DeadLetter(2, BORIS_LANE.id, "command", "failed", NOON + timedelta(minutes=1)),
        DeadLetter(1, ANNAS.id, "content", "dead", NOON),
    ]
    assert "planted" not in str(found)


@pytest.mark.parametrize("state", ["dead", "failed"])
async def test_one_that_was_given_up_is_handled_again(inbox, store, again, state):
    await ended(inbox, state, entry(1))
    assert await again(1)

    assert await store.dead_letters.latest() == []
    claim = await inbox.claim(())
    assert (claim.tries, claim.is_retry) == (
        1,
        True,
    )  # what it may have committed is looked up first
    assert [one.update["text"] for one in (await inbox.next(claim)).entries] == ["planted"]


async def test_it_keeps_its_place_before_what_was_said_later(inbox, again):
    await ended(inbox, "dead", entry(1))
    await inbox.put(entry(2))
    await again(1)
    assert await waiting(inbox) == [1, 2]


@pytest.mark.parametrize("state", ["done", "cancelled", "refused"])
async def test_what_was_not_given_up_is_not_handled_again(inbox, again, state):
    await ended(inbox, state, entry(1))
    assert not await again(1)
    assert not await again(99)
    assert await waiting(inbox) == []


async def test_however_many_admins_ask_it_is_handled_once(inbox, again):
    await ended(inbox, "dead", entry(1))
    assert await asyncio.gather(*(again(1) for _ in range(5))) == [True] * 5
    claim = await inbox.claim(())
    claim = await inbox.finish(await inbox.next(claim), "done")

    assert await inbox.release(claim) is None
    assert not await again(1)


async def test_one_that_was_requeued_and_not_announced_is_announced_when_asked_again(
    inbox, store, again
):
    """The first try was cut off between the two."""
    await ended(inbox, "dead", entry(1))
    await store.database["inbox"].update_one({"_id": 1}, {"$set": {"state": "queued"}})
    assert await waiting(inbox) == []
    assert await again(1)
    assert await waiting(inbox) == [1]


async def test_a_lane_that_was_forgotten_meanwhile_is_made_anew(inbox, store, again):
    await ended(inbox, "dead", entry(1))
    await store.database["lanes"].delete_many({})
    await again(1)
    assert await inbox.claim((), [ANNAS.share]) is None
    assert await waiting(inbox) == [1]


async def test_the_worker_that_holds_the_lane_comes_to_it(inbox, again):
    await ended(inbox, "dead", entry(1))
    await inbox.put(entry(2))
    claim = await inbox.claim(())
    claim = await inbox.finish(await inbox.next(claim), "done")
    await again(1)
    going_on = await inbox.release(claim)

    assert (going_on.fence, going_on.is_retry) == (claim.fence, False)
    assert [one.id for one in (await inbox.next(going_on)).entries] == [1]


async def test_looking_walks_no_collection(inbox, store, commands, mongo_client):
    for number in range(1, 40):
        await ended(inbox, "done" if number > 3 else "dead", entry(number))
    commands.forget()
    commands.explain = mongo_client
    await store.dead_letters.latest()
    [plan] = commands.plans
    assert "COLLSCAN" not in plan.stages
    assert "SORT" not in plan.stages


# ----------------------------------------------------------------------------- by whoever sent them


async def test_a_failed_turn_waits_again_with_all_its_messages_once_however_often_it_is_asked_for(
    inbox, store
):
    """C20: two taps give one turn.

    They come through the lane, and even side by side only one of them finds it.
    """
    await inbox.put(entry(1), entry(2))
    claim = await inbox.claim(())
    claim = await inbox.finish(await inbox.next(claim), "failed")
    taps = await asyncio.gather(*(store.dead_letters.try_again(ANNAS, 1) for _ in range(4)))

    assert max(taps)
    assert [one.id for one in (await inbox.next(claim)).entries] == [1, 2]
    assert not await store.dead_letters.try_again(ANNAS, 1)


@pytest.mark.parametrize("state", ["done", "cancelled", "refused"])
async def test_only_what_was_given_up_is_tried_again(inbox, store, state):
    await ended(inbox, state, entry(1))
    assert not await store.dead_letters.try_again(ANNAS, 1)


async def test_what_was_put_aside_is_tried_again_by_its_person_once(inbox, store):
    """It begins with its first try: what is well again by now is answered."""
    await ended(inbox, "dead", entry(1))
    assert await store.dead_letters.try_again(ANNAS, 1)
    assert not await store.dead_letters.try_again(ANNAS, 1)

    await inbox.put(entry(2))
    claim = await inbox.claim(())
    assert (claim.tries, [one.id for one in (await inbox.next(claim)).entries]) == (1, [1, 2])


async def test_nobody_tries_what_another_has_sent_or_what_was_sent_elsewhere(inbox, store):
    await ended(inbox, "failed", entry(1))
    for of in (BORIS_LANE, replace(ANNAS, aside=True)):
        assert not await store.dead_letters.try_again(of, 1)
    assert await waiting(inbox) == []
