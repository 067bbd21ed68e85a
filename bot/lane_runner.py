"""Serves one claimed lane: handles what waits in it, batch by batch, and gives it back.

An entry whose processes have died runs as `bot.suspects` has it; all others go on meanwhile.

A turn that cannot go on now (Telegram asks to wait, MongoDB is away, the process is told to leave)
hands its lane back: it has committed whole or not at all, and its entries still wait.
"""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import dataclass, field

from bot.errors import ChatBusy, LaneLost, StoreError, StoreUnavailable
from bot.ops.logs import bound
from bot.ports import Batch, Claim, Frontend, Inbox, Run, State
from bot.running_lanes import LOST, RunningLanes
from bot.suspects import is_guilty, is_suspect, pause_before

log = logging.getLogger(__name__)

RETRY_SECONDS = 5.0
LOST_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class LaneRunner:
    """Serves the lanes of one worker, one task each."""

    inbox: Inbox
    frontend: Frontend
    lanes: RunningLanes
    lease_seconds: float
    leaving: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when no further batch may begin: the process is told to leave."""
    began: float = field(default_factory=time.monotonic)
    """When this process began to serve."""

    async def serve(self, claim: Claim) -> float | None:
        """Handle all that waits in the lane, and give it back.

        None: it is free. Otherwise it was handed back, to be claimed again after so many seconds.
        """
        try:
            pause = await self._serve_all(claim)
        except LaneLost:
            # It may have ended while nobody could take it, as in an outage: then no process was
            # lost, and no try.
            log.warning(LOST)
            pause = LOST_SECONDS
        except ChatBusy as busy:
            pause = busy.seconds
        except StoreError as failure:
            log.warning("a lane has to wait: %s", failure)
            pause = RETRY_SECONDS
        except asyncio.CancelledError:
            await asyncio.shield(self.hand_back(claim, 0.0))
            raise
        if pause is not None:
            await self.hand_back(claim, pause)
        return pause

    async def hand_back(self, claim: Claim, seconds: float) -> None:
        """Let the lane be claimed again after so many seconds, by whoever is first."""
        try:
            await self.inbox.hand_back(claim, seconds)
        except StoreError as failure:
            log.warning("a lane could not be handed back, its lease will run out: %s", failure)

    async def _serve_all(self, claim: Claim) -> float | None:
        """None once nothing waits and the lane is free; else in how many seconds to go on."""
        going_on: Claim | None = claim
        while going_on is not None:
            batch = await self.inbox.next(going_on)
            if batch is None:
                going_on = await self.inbox.release(going_on)
            elif self.leaving.is_set():
                return 0.0
            elif pause := batch.early or self._pause_before(batch.claim):
                return pause
            else:
                going_on = await self.inbox.finish(batch, await self._handle(batch))
        return None

    def _pause_before(self, claim: Claim) -> float:
        return pause_before(
            claim,
            lease_seconds=self.lease_seconds,
            lived=time.monotonic() - self.began,
            is_free=not self.lanes.has_suspect(),
        )

    async def _handle(self, batch: Batch) -> State:
        with bound(turn=batch.turn, lane=batch.claim.lane):
            try:
                return await self._dispatch(batch)
            except (ChatBusy, LaneLost, StoreUnavailable):
                raise
            except Exception:  # one broken entry must not end the lane, let alone the worker
                log.exception("the batch broke")
                return "failed"

    def _begin(self, batch: Batch) -> Run:
        stopped = self.lanes.has_stopped_turn(batch.claim.lane)
        return Run(self.inbox.record(batch), asyncio.Event(), has_stopped_turn=stopped)

    async def _dispatch(self, batch: Batch) -> State:
        run, claim = self._begin(batch), batch.claim
        run.record.require_lease()
        if batch.overtaken:
            return await self.frontend.skip_superseded(batch, run)
        if is_guilty(claim):
            return await self.frontend.give_up(batch, run)
        if not is_suspect(claim):
            return await self._run(batch, run)
        with self.lanes.running_suspect(claim.lane):
            await self.inbox.run_alone(claim)
            return await self._run(batch, run)

    async def _run(self, batch: Batch, run: Run) -> State:
        if batch.entries[0].kind != "content":
            return await self.frontend.run_command(batch, run)
        with self.lanes.running_turn(batch.claim.lane, batch.turn, run.stop):
            return await self.frontend.answer(batch, run)
