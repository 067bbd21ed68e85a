"""The worker: one order inside a lane, many lanes side by side, and a clean way out."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from datetime import UTC, datetime

from bot.ops.clock import ManualClock
from bot.owner import Lane, Owner, Place
from bot.inbox import Entry
from bot.store.memory_inbox import MemoryInbox
from bot.worker import Worker

ANNA = Lane(Owner(1), Place(1))
BORIS = Lane(Owner(2), Place(2))


def entry(update_id, lane=ANNA, kind="content", *, cancels=False):
    return Entry(update_id, lane, kind, {}, datetime(2026, 1, 5, tzinfo=UTC), cancels=cancels)


class Desk:
    """A Frontend that answers when it is allowed to, and keeps a record."""

    def __init__(self):
        self.log = []
        self.gates = {}
        self.changed = asyncio.Condition()

    def hold(self, update_id):
        """Make the answer to this update wait for the returned event."""
        self.gates[update_id] = asyncio.Event()
        return self.gates[update_id]

    async def answer(self, batch, run):
        stop = run.stop
        ids = tuple(waiting.id for waiting in batch.entries)
        await self._note("begun", ids)
        if (gate := self.gates.get(ids[0])) is not None:
            await self._first(gate, stop)
        await self._note("stopped" if stop.is_set() else "answered", ids)
        return "done"

    async def obey(self, batch):
        await self._note("obeyed", (batch.entries[0].id,))
        return "done"

    async def bury(self, batch):
        await self._note("buried", (batch.entries[0].id,))
        return "dead"

    async def decline(self, batch):
        await self._note("declined", tuple(waiting.id for waiting in batch.entries))
        return "cancelled"

    async def _first(self, *events):
        tasks = [asyncio.create_task(event.wait()) for event in events]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()

    async def _note(self, what, ids):
        async with self.changed:
            self.log.append((what, ids))
            self.changed.notify_all()

    async def until(self, *expected):
        async with asyncio.timeout(5), self.changed:
            await self.changed.wait_for(lambda: all(line in self.log for line in expected))


@asynccontextmanager
async def working(desk, inbox, slots=8, grace_seconds=5.0):
    leave = asyncio.Event()
    running = asyncio.create_task(Worker(inbox, desk, slots=slots, lease_seconds=15).run(leave, grace_seconds=grace_seconds))
    try:
        yield leave
    finally:
        leave.set()
        await asyncio.wait_for(running, 10)


async def turns_of_the_loop(number):
    for _ in range(number):
        await asyncio.sleep(0)


async def test_what_waits_in_one_lane_is_answered_in_order_and_never_two_at_a_time():
    """C20"""
    inbox, desk = MemoryInbox(ManualClock()), Desk()
    gate = desk.hold(1)
    async with working(desk, inbox):
        await inbox.put(entry(1))
        await desk.until(("begun", (1,)))
        await inbox.put(entry(2))
        await inbox.put(entry(3))
        gate.set()
        await desk.until(("answered", (2, 3)))

    assert desk.log == [("begun", (1,)), ("answered", (1,)), ("begun", (2, 3)), ("answered", (2, 3))]


async def test_a_long_turn_of_one_person_does_not_delay_another():
    """C23"""
    inbox, desk = MemoryInbox(ManualClock()), Desk()
    gate = desk.hold(1)
    async with working(desk, inbox):
        await inbox.put(entry(1, ANNA))
        await inbox.put(entry(2, BORIS))
        await desk.until(("answered", (2,)))
        assert ("answered", (1,)) not in desk.log
        gate.set()


async def test_no_more_lanes_are_held_than_there_are_slots():
    inbox, desk = MemoryInbox(ManualClock()), Desk()
    gates = [desk.hold(number) for number in (1, 2, 3)]
    async with working(desk, inbox, slots=2):
        for number in (1, 2, 3):
            await inbox.put(entry(number, Lane(Owner(number), Place(number))))
        await desk.until(("begun", (1,)), ("begun", (2,)))
        assert ("begun", (3,)) not in desk.log
        gates[0].set()
        await desk.until(("begun", (3,)))
        for gate in gates:
            gate.set()


async def test_new_ends_the_running_turn_and_declines_what_was_sent_before_it():
    """C35: the command does not wait for the turn; nothing disappears without a word."""
    inbox, desk = MemoryInbox(ManualClock()), Desk()
    desk.hold(1)
    async with working(desk, inbox):
        await inbox.put(entry(1))
        await desk.until(("begun", (1,)))
        for waiting in (entry(2), entry(3, kind="command", cancels=True), entry(4)):
            await inbox.put(waiting)
        await desk.until(("answered", (4,)))

    assert desk.log == [
        ("begun", (1,)),
        ("stopped", (1,)),
        ("declined", (2,)),
        ("obeyed", (3,)),
        ("begun", (4,)),
        ("answered", (4,)),
    ]


async def test_one_broken_entry_ends_neither_its_lane_nor_the_worker():
    class Fragile(Desk):
        async def answer(self, batch, run):
            if batch.entries[0].id == 1:
                raise ZeroDivisionError
            return await super().answer(batch, run)

    inbox, desk = MemoryInbox(ManualClock()), Fragile()
    await inbox.put(entry(1))
    async with working(desk, inbox):
        await asyncio.sleep(0)
        await inbox.put(entry(2, BORIS))
        await desk.until(("answered", (2,)))
        await inbox.put(entry(3))
        await desk.until(("answered", (3,)))


async def test_leaving_lets_the_running_turn_finish_and_claims_nothing_more():
    """C4"""
    inbox, desk = MemoryInbox(ManualClock()), Desk()
    gate = desk.hold(1)
    async with working(desk, inbox) as leave:
        await inbox.put(entry(1, ANNA))
        await desk.until(("begun", (1,)))
        leave.set()
        await turns_of_the_loop(10)
        await inbox.put(entry(2, ANNA))
        await inbox.put(entry(3, BORIS))
        gate.set()

    assert desk.log == [("begun", (1,)), ("answered", (1,))]
    assert (await inbox.claim()) is not None


async def test_leaving_cancels_a_turn_that_does_not_finish_in_time():
    inbox, desk = MemoryInbox(ManualClock()), Desk()
    desk.hold(1)
    async with working(desk, inbox, grace_seconds=0.05):
        await inbox.put(entry(1))
        await desk.until(("begun", (1,)))

    assert desk.log == [("begun", (1,))]
