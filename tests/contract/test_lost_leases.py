"""A worker that was frozen past its lease: what it still writes changes nothing, and the next
holder knows what to do.

A lease ends here by a date in the database, so no test waits for one.
"""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from bot.errors import LaneLost
from bot.ops.clock import ManualClock
from bot.ports import Entry
from bot.store.mongo.inbox import MongoInbox
from bot.store.mongo.queries import LeaseOwner
from tests.builders import ANNA, BORIS, NOON, lane

ANNAS, BORIS_LANE = lane(ANNA), lane(BORIS)


def entry(update_id, of=ANNAS, kind="content", **marks):
    return Entry(update_id, of, kind, {"owner": of.owner.id}, NOON, **marks)


@pytest.fixture
def process(store):
    """Make the inbox of another process over the same database."""

    def made(name, lease_seconds=15.0):
        holder = LeaseOwner(name, lease_seconds)
        return MongoInbox(
            store.database,
            store.calls,
            ManualClock(NOON),
            holder,
        )

    return made


@pytest.fixture
def lease_ends(store):
    async def end(of=ANNAS):
        over = {"$set": {"leaseUntil": datetime(2026, 1, 1, tzinfo=UTC)}}
        assert (await store.database["lanes"].update_one({"_id": of.id}, over)).matched_count == 1

    return end


@pytest.fixture
async def taken_over(process, lease_ends):
    """The inbox, claim and batch of the worker that froze, then those of the one that took its lane
    over.
    """
    frozen, other = process("frozen"), process("other")
    await frozen.put(entry(1))
    old = await frozen.claim(())
    stale = await frozen.next(old)
    await lease_ends()
    new = await other.claim(())
    return (frozen, old, stale), (other, new, await other.next(new))


async def test_a_lane_whose_lease_is_over_is_claimed_by_another_one_who_knows_that_it_is_a_retry(
    taken_over,
):
    (_, old, _), (_, new, fresh) = taken_over
    assert new.fence > old.fence
    assert (old.tries, old.is_retry, new.tries, new.is_retry) == (1, False, 2, True)
    assert [waiting.id for waiting in fresh.entries] == [1]


async def test_a_lease_that_lasts_is_nobody_elses(process):
    first, second = process("first"), process("second")
    await first.put(entry(1))
    await first.claim(())
    assert await second.claim(()) is None


async def test_what_a_zombie_sends_is_not_recorded_once_the_next_holder_has_begun(taken_over):
    """C24: it may not even finish the entry, whose answer the other one is about to send."""
    (frozen, _, stale), (other, new, fresh) = taken_over
    record, zombie = other.record(fresh), frozen.record(stale)
    await record.part_sent(1, 501)
    with pytest.raises(LaneLost):
        await zombie.part_sent(1, 502)
    with pytest.raises(LaneLost):
        await zombie.effect_begins(1, "send", "hash")
    with pytest.raises(LaneLost):
        await frozen.finish(stale, "failed")

    assert [waiting.id for waiting in (await other.next(new)).entries] == [1]
    assert record.parts_sent(1) == 1
    assert (await other.finish(fresh, "done")).fence == new.fence


async def test_a_part_that_the_zombie_sent_meanwhile_stops_the_next_holder(taken_over):
    """It looked before: what it would send may be a copy. The run that follows counts anew."""
    (frozen, _, stale), (other, new, fresh) = taken_over
    await frozen.record(stale).part_sent(1, 501)
    with pytest.raises(LaneLost):
        await other.record(fresh).part_sent(1, 502)

    assert other.record(await other.next(new)).parts_sent(1) == 1


async def test_a_zombie_can_neither_release_nor_hand_back_what_is_not_its_own(taken_over, process):
    (frozen, old, _), _ = taken_over
    with pytest.raises(LaneLost):
        await frozen.release(old)
    await frozen.hand_back(old)

    assert await process("third").claim(()) is None


async def test_a_renewal_names_the_lanes_that_were_lost(taken_over):
    (frozen, old, _), (other, new, _) = taken_over
    await frozen.put(entry(2, BORIS_LANE))
    kept = await frozen.claim(())

    assert set(await frozen.keep([old, kept])) == {ANNAS.id}
    assert not await other.keep([new])


async def test_a_renewed_lease_lasts(process, lease_ends):
    first, second = process("first"), process("second")
    await first.put(entry(1))
    claim = await first.claim(())
    await lease_ends()
    assert not await first.keep([claim])

    assert await second.claim(()) is None
    first.record(await first.next(claim)).require_lease()


async def test_a_lease_that_is_over_by_our_own_clock_is_not_trusted(process):
    """C24: the zombie finds out before it sends, without asking."""
    inbox = process("late", lease_seconds=0)
    await inbox.put(entry(1))
    claim = await inbox.claim(())
    with pytest.raises(LaneLost):
        inbox.record(await inbox.next(claim)).require_lease()


async def test_a_lane_that_was_given_back_is_not_trusted(process):
    inbox = process("first")
    await inbox.put(entry(1))
    claim = await inbox.claim(())
    record = inbox.record(await inbox.next(claim))
    await inbox.hand_back(claim)
    with pytest.raises(LaneLost):
        record.require_lease()


async def test_each_crash_is_a_try_and_a_finished_entry_ends_the_counting(process, lease_ends):
    inbox = process("first")
    await inbox.put(entry(1))
    await inbox.put(entry(2))
    tries = []
    for _ in range(4):
        claim = await inbox.claim(())
        tries.append(claim.tries)
        await lease_ends()
    assert tries == [1, 2, 3, 4]

    await inbox.finish(await inbox.next(claim), "dead")
    again = await inbox.claim(())
    assert again.tries == 2  # the second entry stood first when the lease ended
    assert [waiting.id for waiting in (await inbox.next(again)).entries] == [2]


async def test_an_update_that_was_stored_and_not_announced_is_announced_when_it_comes_again(
    process, store
):
    """The process died between the two; Telegram had not been told to forget the update."""
    inbox = process("first")
    await inbox.put(entry(1))
    await store.database["lanes"].delete_many({})
    assert await inbox.claim(()) is None

    assert not await inbox.put(entry(1))
    claim = await inbox.claim(())
    assert [waiting.id for waiting in (await inbox.next(claim)).entries] == [1]
