"""The worker: claims lanes and has their entries answered. One order inside a lane, many lanes side by side.

A lane is held by one task of one process at a time, which handles what waits in it batch by batch and gives it back
when nothing is left. Bounded: at most `slots` lanes are held at once; what is not claimed waits in the inbox.
A command that cancels (`/new`, `/reset`) keeps its place in the lane, so it finds the turn before it ended: the worker
asks the inbox twice a second, in one query for all its lanes, and sets the running turn's `stop`.

At shutdown the worker claims nothing more, lets running turns finish for a while, then cancels the rest. A cancelled
turn has committed whole or not at all, and its entries are still the inbox's.
"""

from __future__ import annotations

import asyncio
import logging

from bot.ops.logs import bound
from bot.ops.stopping import end
from bot.owner import Lane
from bot.ports import Batch, Claim, Frontend, Inbox, State

log = logging.getLogger(__name__)

WATCH_SECONDS = 0.5


class Worker:
    """Serves lanes until its `run` is told to stop."""

    def __init__(self, inbox: Inbox, frontend: Frontend, *, slots: int) -> None:
        self._inbox = inbox
        self._frontend = frontend
        self._free = asyncio.Semaphore(slots)
        self._serving: set[asyncio.Task[None]] = set()
        self._stops: dict[Lane, asyncio.Event] = {}
        self._leaving = False

    async def run(self, leave: asyncio.Event, *, grace_seconds: float) -> None:
        """Serve until `leave` is set; then finish what runs within `grace_seconds` and return."""
        claiming = asyncio.create_task(self._claim_lanes(), name="claim lanes")
        watching = asyncio.create_task(self._watch_for_cancels(), name="watch for cancels")
        leaving = asyncio.create_task(leave.wait())
        try:
            await asyncio.wait({claiming, watching, leaving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._leaving = True
            await end(claiming, leaving)
            await self._drain(grace_seconds)
            await end(watching)
        _raise_failure(claiming, watching)

    async def _claim_lanes(self) -> None:
        while True:
            await self._free.acquire()
            claim = await self._inbox.claim()
            if claim is None:
                self._free.release()
                await self._inbox.wait()
                continue
            task = asyncio.create_task(self._serve(claim), name=f"lane {claim.lane.id}")
            self._serving.add(task)
            task.add_done_callback(self._served)

    def _served(self, task: asyncio.Task[None]) -> None:
        self._serving.discard(task)
        self._free.release()
        if not task.cancelled() and (failure := task.exception()) is not None:
            log.error("a lane broke", exc_info=failure)

    async def _serve(self, claim: Claim) -> None:
        while not self._leaving and (batch := await self._inbox.next(claim)) is not None:
            await self._inbox.finish(batch, await self._handle(batch))
        await self._inbox.release(claim)

    async def _handle(self, batch: Batch) -> State:
        with bound(turn=batch.entries[0].id, lane=batch.lane.id):
            try:
                return await self._dispatch(batch)
            except Exception:  # one broken entry must not end the lane, let alone the worker
                log.exception("the batch broke")
                return "failed"

    async def _dispatch(self, batch: Batch) -> State:
        if batch.overtaken:
            return await self._frontend.decline(batch)
        if batch.entries[0].kind != "content":
            return await self._frontend.obey(batch)
        stop = self._stops[batch.lane] = asyncio.Event()
        try:
            return await self._frontend.answer(batch, stop)
        finally:
            del self._stops[batch.lane]

    async def _watch_for_cancels(self) -> None:
        while True:
            await asyncio.sleep(WATCH_SECONDS)
            if self._stops:
                for lane in await self._inbox.cancelled(tuple(self._stops)):
                    self._stop(lane)

    def _stop(self, lane: Lane) -> None:
        if lane in self._stops:  # the turn may have ended while the inbox was asked
            self._stops[lane].set()

    async def _drain(self, grace_seconds: float) -> None:
        if self._serving:
            await asyncio.wait(self._serving, timeout=grace_seconds)
        await end(*self._serving)


def _raise_failure(*tasks: asyncio.Task[None]) -> None:
    for task in tasks:
        if not task.cancelled() and (failure := task.exception()) is not None:
            raise failure
