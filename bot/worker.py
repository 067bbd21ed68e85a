"""The worker: claims lanes and has their entries answered. One order inside a lane, many lanes side
by side.

One task of one process runs a lane at a time: it handles the waiting entries batch by batch and
releases the lane when nothing is left. At most `slots` lanes run at once, at most `owner_lanes` of
one Owner and, beside them, `SIDE_LANES` of commands that run aside; what is not claimed waits in
the inbox.

Two things are asked of the inbox for all held lanes at once: every third of a lease their leases
are renewed, and a task whose lease was lost is cancelled, since another worker may be at it; twice
a second, which of them were told to end their turn. A command that cancels (`/new`, `/stop`) keeps
its place in the lane, so it finds that turn ended.

An entry whose processes have died runs as `bot.suspects` has it; all others go on meanwhile.

A turn that cannot go on now (Telegram asks to wait, MongoDB is away, the process is told to leave)
hands its lane back: it has committed whole or not at all, and its entries still wait.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from bot.aio import cancel_and_wait, repeat, run_until
from bot.errors import ChatBusy, LaneLost, StoreError, StoreUnavailable
from bot.inbox import Batch, Claim, Frontend, Inbox, Run, State
from bot.ops.logs import bound
from bot.owner import ASIDE
from bot.suspects import is_guilty, is_suspect, pause_before

log = logging.getLogger(__name__)

SIDE_LANES = 1
"""Side lanes of one Owner that run at once: its commands do not wait for its turns, nor take the
workers.
"""
WATCH_SECONDS = 0.5
IDLE_SECONDS = 1.0
RETRY_SECONDS = 5.0
LOST_SECONDS = 1.0
LOST = "the lease of a lane was lost"


@dataclass(slots=True)
class _RunningLane:
    """A lane that this process runs."""

    claim: Claim
    task: asyncio.Task[float | None]
    turn: int | None = None
    """The turn that runs in it now."""
    is_suspect: bool = False
    """What runs in it now may end the process, and no other such one may run beside it."""
    stop: asyncio.Event = field(default_factory=asyncio.Event)


class Worker:
    """Claims lanes and handles their entries while `run` runs."""

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
        self._frontend = frontend
        self._free = asyncio.Semaphore(slots)
        self._owner_lanes = owner_lanes
        self._lease_seconds = lease_seconds
        self._held: dict[str, _RunningLane] = {}
        self._leaving = False
        self._began = 0.0
        self._last_claim: set[asyncio.Task[Any]] = set()
        self._may_go_on = asyncio.Event()

    async def run(self, leave: asyncio.Event, *, grace_seconds: float) -> None:
        """Serve until `leave` is set; then finish what runs within `grace_seconds`, hand back the
        rest and return.
        """
        self._began = asyncio.get_running_loop().time()
        keepers = [
            asyncio.create_task(repeat(seconds, look, _log_failure), name=look.__name__)
            for seconds, look in (
                (self._lease_seconds / 3, self._keep_leases),
                (WATCH_SECONDS, self._stop_cancelled),
            )
        ]
        try:
            await run_until(leave, self._claim_lanes())
        finally:
            self._leaving = True
            if running := self._last_claim | {held.task for held in self._held.values()}:
                await asyncio.wait(running, timeout=grace_seconds)
            await cancel_and_wait(*running)
            await cancel_and_wait(*keepers)

    def lanes(self) -> int:
        """How many lanes run now."""
        return len(self._held)

    # ---------------------------------------------------------------------------------------- lanes

    async def _claim_lanes(self) -> None:
        while True:
            await self._free.acquire()
            try:
                claim = await self._claim()
            except BaseException:
                self._free.release()
                raise
            if claim is None:
                self._free.release()
                await self._idle()
                continue
            self._hold(claim)

    async def _claim(self) -> Claim | None:
        """A claim that is on its way when the bot leaves may be granted all the same: then the lane
        is handed back.
        """
        self._may_go_on.clear()
        asked = asyncio.ensure_future(self._inbox.claim(self._held.keys(), self._full_shares()))
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

    def _full_shares(self) -> Collection[str]:
        """The shares of which as many lanes run here as may: no further one is claimed."""
        running = Counter(
            held.claim.share for held in self._held.values() if held.claim.share is not None
        )
        return [share for share, lanes in running.items() if lanes >= self._limit_of(share)]

    def _limit_of(self, share: str) -> int:
        return SIDE_LANES if share.endswith(ASIDE) else self._owner_lanes

    async def _return(self, asked: asyncio.Future[Claim | None]) -> None:
        try:
            claim = await asked
        except StoreError as failure:
            log.warning("the last claim was lost, its lease will run out: %s", failure)
            return
        if claim is not None:
            await self._hand_back(claim, 0.0)

    async def _idle(self) -> None:
        """Until something arrives or goes on here; what arrived elsewhere, or lost its holder, is
        found by looking.
        """
        try:
            async with asyncio.timeout(IDLE_SECONDS):
                await run_until(self._may_go_on, self._inbox.wait())
        except TimeoutError:
            return

    def _hold(self, claim: Claim) -> None:
        task = asyncio.create_task(self._serve(claim), name=f"lane {claim.lane}")
        self._held[claim.lane] = _RunningLane(claim, task)
        task.add_done_callback(lambda ended: self._let_go(claim.lane, ended))

    def _let_go(self, lane: str, task: asyncio.Task[float | None]) -> None:
        was_full = self._held[lane].claim.share in self._full_shares()
        del self._held[lane]
        self._free.release()
        if was_full:
            self._may_go_on.set()  # what waits of this Owner was announced long ago
        if not task.cancelled() and (failure := task.exception()) is not None:
            log.error("a lane broke", exc_info=failure)
        elif (pause := 0.0 if task.cancelled() else task.result()) is not None:
            asyncio.get_running_loop().call_later(pause, self._may_go_on.set)

    async def _serve(self, claim: Claim) -> float | None:
        """Handle what waits in the lane; what cannot go on now leaves it to be claimed again after
        so many seconds.
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
            await asyncio.shield(self._hand_back(claim, 0.0))
            raise
        if pause is not None:
            await self._hand_back(claim, pause)
        return pause

    async def _serve_all(self, claim: Claim) -> float | None:
        """None once nothing waits and the lane was given back; otherwise in how many seconds to go
        on.
        """
        going_on: Claim | None = claim
        while going_on is not None:
            batch = await self._inbox.next(going_on)
            if batch is None:
                going_on = await self._inbox.release(going_on)
            elif self._leaving:
                return 0.0
            elif batch.early:
                return batch.early
            elif pause := self._pause_before(batch.claim):
                return pause
            else:
                going_on = await self._inbox.finish(batch, await self._handle(batch))
        return None

    def _pause_before(self, claim: Claim) -> float:
        return pause_before(
            claim,
            lease_seconds=self._lease_seconds,
            lived=asyncio.get_running_loop().time() - self._began,
            is_free=not any(held.is_suspect for held in self._held.values()),
        )

    async def _hand_back(self, claim: Claim, seconds: float) -> None:
        try:
            await self._inbox.hand_back(claim, seconds)
        except StoreError as failure:
            log.warning("a lane could not be handed back, its lease will run out: %s", failure)

    # -------------------------------------------------------------------------------------- batches

    async def _handle(self, batch: Batch) -> State:
        with bound(turn=batch.turn, lane=batch.claim.lane):
            try:
                return await self._dispatch(batch)
            except (ChatBusy, LaneLost, StoreUnavailable):
                raise
            except Exception:  # one broken entry must not end the lane, let alone the worker
                log.exception("the batch broke")
                return "failed"

    async def _dispatch(self, batch: Batch) -> State:
        run = Run(self._inbox.record(batch), asyncio.Event())
        run.record.require_lease()
        if batch.overtaken:
            return await self._frontend.skip_superseded(batch, run)
        if is_guilty(batch.claim):
            return await self._frontend.give_up(batch, run)
        held = self._held[batch.claim.lane]
        held.is_suspect = is_suspect(batch.claim)
        try:
            if held.is_suspect:
                await self._inbox.run_alone(batch.claim)
            return await self._run(batch, run, held)
        finally:
            held.turn, held.is_suspect = None, False

    async def _run(self, batch: Batch, run: Run, held: _RunningLane) -> State:
        if batch.entries[0].kind != "content":
            return await self._frontend.run_command(batch, run)
        held.turn, held.stop = batch.turn, run.stop
        return await self._frontend.answer(batch, run)

    # ---------------------------------------------------------------------------- all lanes at once

    async def _keep_leases(self) -> None:
        if asked := dict(self._held):
            for lane in await self._inbox.keep([held.claim for held in asked.values()]):
                log.warning(LOST)
                # Not who holds the lane by now: it may have been given back and claimed anew.
                asked[lane].task.cancel()

    async def _stop_cancelled(self) -> None:
        if running := [lane for lane, held in self._held.items() if held.turn is not None]:
            for lane, before in (await self._inbox.cancelled(running)).items():
                held = self._held.get(lane)  # the turn may have ended while the inbox was asked
                if held is not None and held.turn is not None and held.turn < before:
                    held.stop.set()


def _log_failure(failure: Exception) -> None:
    """A store that does not answer is asked again; meanwhile leases run out by themselves."""
    if isinstance(failure, StoreError):
        log.warning("the inbox cannot be asked: %s", failure)
    else:
        log.error("the inbox was asked in vain", exc_info=failure)
