"""The Inbox port: what any inbox promises the worker, in memory or durable."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import pytest

from bot.owner import Lane, Owner, Place
from bot.ports import Entry, Inbox
from bot.store.memory_inbox import MemoryInbox

ANNA = Lane(Owner(1), Place(1))
BORIS = Lane(Owner(2), Place(2))
COMMANDS = ("command", "press")


def entry(update_id: int, lane: Lane = ANNA, kind="content", *, cancels=False) -> Entry:
    return Entry(update_id, lane, kind, {"update_id": update_id}, datetime(2026, 1, 5, tzinfo=UTC), cancels=cancels)


def new(update_id: int, lane: Lane = ANNA) -> Entry:
    return entry(update_id, lane, "command", cancels=True)


@pytest.fixture(params=["memory"])
def inbox() -> Inbox:
    return MemoryInbox()


async def ids_of_next(inbox, claim):
    batch = await inbox.next(claim)
    return batch and [waiting.id for waiting in batch.entries]


async def test_an_update_is_accepted_once(inbox):
    """C16: duplicates are found by exact id, so an id lower than one seen before is news."""
    assert await inbox.put(entry(900))
    assert not await inbox.put(entry(900))
    assert await inbox.put(entry(7))


async def test_a_finished_update_is_not_accepted_again(inbox):
    """C11: Telegram repeats what it believes undelivered."""
    await inbox.put(entry(1))
    claim = await inbox.claim()
    batch = await inbox.next(claim)
    await inbox.finish(batch, "done")
    await inbox.release(claim)

    assert not await inbox.put(entry(1))
    assert await inbox.claim() is None


async def test_a_lane_is_held_once(inbox):
    await inbox.put(entry(1))
    held = await inbox.claim()
    await inbox.put(entry(2))

    assert held.lane == ANNA
    assert await inbox.claim() is None


async def test_lanes_are_claimed_side_by_side(inbox):
    """C23: no lane waits for another one."""
    await inbox.put(entry(1, ANNA))
    await inbox.put(entry(2, BORIS))

    assert {(await inbox.claim()).lane, (await inbox.claim()).lane} == {ANNA, BORIS}


async def test_waiting_messages_make_one_batch_in_the_order_sent(inbox):
    for update_id in (5, 3, 4):
        await inbox.put(entry(update_id))
    claim = await inbox.claim()

    assert await ids_of_next(inbox, claim) == [5, 3, 4]


async def test_a_batch_holds_at_most_twenty_messages(inbox):
    for update_id in range(25):
        await inbox.put(entry(update_id))
    claim = await inbox.claim()
    batch = await inbox.next(claim)
    await inbox.finish(batch, "done")

    assert [waiting.id for waiting in batch.entries] == list(range(20))
    assert await ids_of_next(inbox, claim) == list(range(20, 25))


@pytest.mark.parametrize("kind", COMMANDS)
async def test_commands_keep_their_place_among_messages(inbox, kind):
    await inbox.put(entry(1))
    await inbox.put(entry(2, kind=kind))
    await inbox.put(entry(3))
    claim = await inbox.claim()
    seen = []
    while (batch := await inbox.next(claim)) is not None:
        seen.append([waiting.id for waiting in batch.entries])
        await inbox.finish(batch, "done")

    assert seen == [[1], [2], [3]]


async def test_what_is_not_finished_is_handed_out_again(inbox):
    await inbox.put(entry(1))
    claim = await inbox.claim()
    await inbox.next(claim)
    await inbox.release(claim)

    again = await inbox.claim()
    assert again.fence > claim.fence
    assert await ids_of_next(inbox, again) == [1]


async def test_what_arrives_while_the_lane_is_held_is_found_after_its_release(inbox):
    await inbox.put(entry(1))
    claim = await inbox.claim()
    await inbox.finish(await inbox.next(claim), "done")
    await inbox.put(entry(2))
    await inbox.release(claim)

    assert await ids_of_next(inbox, await inbox.claim()) == [2]


async def test_a_busy_lane_does_not_starve_the_others(inbox):
    await inbox.put(entry(1, ANNA))
    claim = await inbox.claim()
    await inbox.put(entry(2, ANNA))
    await inbox.put(entry(3, BORIS))
    await inbox.release(claim)

    assert (await inbox.claim()).lane == BORIS


async def test_a_cancelling_command_is_told_to_the_lane_it_stands_in_and_to_no_other(inbox):
    await inbox.put(entry(1, ANNA))
    await inbox.put(entry(2, BORIS))
    await inbox.claim()
    await inbox.put(new(3, ANNA))

    assert list(await inbox.cancelled([ANNA, BORIS])) == [ANNA]


async def test_messages_before_a_cancelling_command_are_overtaken_and_those_after_it_are_not(inbox):
    for waiting in (entry(1), entry(2), new(3), entry(4)):
        await inbox.put(waiting)
    claim = await inbox.claim()
    seen = []
    while (batch := await inbox.next(claim)) is not None:
        seen.append(([waiting.id for waiting in batch.entries], batch.overtaken))
        await inbox.finish(batch, "done")

    assert seen == [([1, 2], True), ([3], False), ([4], False)]
    assert not await inbox.cancelled([ANNA])


async def test_the_last_of_two_cancelling_commands_decides(inbox):
    for waiting in (new(1), entry(2), new(3), entry(4)):
        await inbox.put(waiting)
    claim = await inbox.claim()
    overtaken: dict[int, bool] = {}
    while (batch := await inbox.next(claim)) is not None:
        overtaken |= {waiting.id: batch.overtaken for waiting in batch.entries}
        await inbox.finish(batch, "done")

    assert overtaken == {1: False, 2: True, 3: False, 4: False}


async def test_waiting_ends_when_something_arrives(inbox):
    assert await inbox.claim() is None
    waiting = asyncio.create_task(inbox.wait())
    await inbox.put(entry(1))

    await asyncio.wait_for(waiting, 5)
