"""The inbox in memory: the same order, deduplication and cancelling as a durable one, gone with the process.

Invariants: a lane is held by at most one claim; entries of a lane keep the order they came in; an id that was accepted
once is not accepted again while it is remembered (the last 100,000 ids: Telegram repeats for 24 hours at most).
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import count, takewhile

from bot.owner import Lane
from bot.ports import Batch, Claim, Entry, State

BATCH_MESSAGES = 20
IDS_REMEMBERED = 100_000


@dataclass(slots=True)
class _Queue:
    """What waits in one lane."""

    waiting: deque[Entry] = field(default_factory=deque)
    held: bool = False
    cancel_before: int | None = None


class MemoryInbox:
    """Implements the Inbox port for one process."""

    def __init__(self) -> None:
        self._queues: dict[Lane, _Queue] = {}
        self._states: OrderedDict[int, State] = OrderedDict()
        self._fences = count(1)
        self._arrived = asyncio.Event()

    async def put(self, entry: Entry) -> bool:
        if entry.id in self._states:
            return False
        self._remember(entry.id)
        queue = self._queues.setdefault(entry.lane, _Queue())
        queue.waiting.append(entry)
        if entry.cancels:
            queue.cancel_before = entry.id
        self._arrived.set()
        return True

    def _remember(self, update_id: int) -> None:
        self._states[update_id] = "queued"
        if len(self._states) > IDS_REMEMBERED:
            self._states.popitem(last=False)

    async def claim(self) -> Claim | None:
        self._arrived.clear()
        for lane, queue in self._queues.items():
            if queue.waiting and not queue.held:
                queue.held = True
                return Claim(lane, next(self._fences))
        return None

    async def next(self, claim: Claim) -> Batch | None:
        queue = self._queues[claim.lane]
        if not queue.waiting:
            return None
        head = queue.waiting[0]
        if head.kind != "content":
            return Batch(claim, (head,))
        run = takewhile(lambda entry: entry.kind == "content", queue.waiting)
        if (before := self._cancelling(queue)) is not None:
            return Batch(claim, tuple(takewhile(lambda entry: entry is not before, run)), overtaken=True)
        return Batch(claim, tuple(run)[:BATCH_MESSAGES])

    def _cancelling(self, queue: _Queue) -> Entry | None:
        """The waiting command that cancels what stands before it."""
        return next((entry for entry in queue.waiting if entry.id == queue.cancel_before), None)

    async def finish(self, batch: Batch, state: State) -> None:
        queue = self._queues[batch.lane]
        for entry in batch.entries:
            queue.waiting.remove(entry)
            self._states[entry.id] = state
            if entry.id == queue.cancel_before:
                queue.cancel_before = None

    async def release(self, claim: Claim) -> None:
        queue = self._queues.pop(claim.lane)
        if queue.waiting:
            # to the end of the line, so that a busy lane does not starve the others
            self._queues[claim.lane] = replace(queue, held=False)
            self._arrived.set()

    async def cancelled(self, lanes: Sequence[Lane]) -> Sequence[Lane]:
        return [lane for lane in lanes if lane in self._queues and self._queues[lane].cancel_before is not None]

    async def wait(self) -> None:
        await self._arrived.wait()
