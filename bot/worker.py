"""The worker: claims lanes and has their entries answered. One order inside a lane, many lanes side
by side.

One task of one process serves a lane at a time (`bot.lane_runner`) and gives it back when nothing
is left. At most `slots` lanes run at once, at most `owner_lanes` of one Owner and, beside them,
`SIDE_LANES` of commands that run aside; what is not claimed waits in the inbox. A command that
cancels (`/new`, `/stop`) keeps its place in the lane, so it finds the running turn ended.
"""

from __future__ import annotations

import asyncio
import logging

from bot.aio import cancel_and_wait, run_until
from bot.errors import StoreError
from bot.lane_runner import LaneRunner
from bot.ports import Claim, Frontend, Inbox
from bot.running_lanes import RunningLane, RunningLanes

log = logging.getLogger(__name__)

IDLE_SECONDS = 1.0


class Worker:
    """Claims lanes and has them served while `run` runs."""

    def __init__(
        self,
        inbox: Inbox,
        frontend: Frontend,
        *,
        slots: int,
        owner_lanes: int,
        lease_seconds: float,
    ) -> None:
        self._inbox = inbox
        self._running = RunningLanes(inbox, owner_lanes)
        self._runner = LaneRunner(inbox, frontend, self._running, lease_seconds)
        self._free = asyncio.Semaphore(slots)
        self._last_claim: set[asyncio.Task[None]] = set()
        self._may_go_on = asyncio.Event()

    async def run(self, leave: asyncio.Event, *, grace_seconds: float) -> None:
        """Serve until `leave` is set; then allow `grace_seconds`, and hand back what still runs."""
        keepers = self._running.keepers(self._runner.lease_seconds)
        try:
            await run_until(leave, self._claim_lanes())
        finally:
            self._runner.leaving.set()
            served = {lane.task for lane in self._running.by_id.values()}
            if running := self._last_claim | served:
                await asyncio.wait(running, timeout=grace_seconds)
            await cancel_and_wait(*running)
            await cancel_and_wait(*keepers)

    def lanes(self) -> int:
        """How many lanes run now."""
        return len(self._running.by_id)

    async def _claim_lanes(self) -> None:
        while True:
            await self._free.acquire()
            claim = None
            try:
                claim = await self._claim()
            finally:
                if claim is None:
                    self._free.release()
            if claim is None:
                await self._idle()
            else:
                self._begin(claim)

    async def _claim(self) -> Claim | None:
        """A claim that is on its way when the bot leaves may be granted all the same: then the lane
        is handed back.
        """
        self._may_go_on.clear()
        busy, full = self._running.by_id.keys(), self._running.full_shares()
        asked = asyncio.ensure_future(self._inbox.claim(busy, full))
        try:
            return await asyncio.shield(asked)
        except StoreError as failure:
            log.warning("nothing can be claimed: %s", failure)
            return None
        except asyncio.CancelledError:
            self._last_claim.add(
                asyncio.create_task(self._return(asked), name="hand back the last claim")
            )
            raise

    async def _return(self, asked: asyncio.Future[Claim | None]) -> None:
        try:
            claim = await asked
        except StoreError as failure:
            log.warning("the last claim was lost, its lease will run out: %s", failure)
            return
        if claim is not None:
            await self._runner.hand_back(claim, 0.0)

    async def _idle(self) -> None:
        """Until something arrives or goes on here; what arrived elsewhere, or lost its holder, is
        found by looking.
        """
        try:
            async with asyncio.timeout(IDLE_SECONDS):
                await run_until(self._may_go_on, self._inbox.wait())
        except TimeoutError:
            return

    def _begin(self, claim: Claim) -> None:
        task = asyncio.create_task(self._runner.serve(claim), name=f"lane {claim.lane}")
        self._running.by_id[claim.lane] = RunningLane(claim, task)
        task.add_done_callback(lambda ended: self._end(claim, ended))

    def _end(self, claim: Claim, task: asyncio.Task[float | None]) -> None:
        was_full = claim.share in self._running.full_shares()
        del self._running.by_id[claim.lane]
        self._free.release()
        if was_full:
            self._may_go_on.set()  # what waits of this Owner was announced long ago
        if not task.cancelled() and (failure := task.exception()) is not None:
            log.error("a lane broke", exc_info=failure)
        elif (pause := 0.0 if task.cancelled() else task.result()) is not None:
            asyncio.get_running_loop().call_later(pause, self._may_go_on.set)
