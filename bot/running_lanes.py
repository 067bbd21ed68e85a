"""The lanes that this process runs now, and what is asked of the inbox for all of them at once.

Every third of a lease their leases are renewed; a task whose lease was lost is cancelled, since
another worker may be at it. Twice a second the inbox is asked which of them were told to end their
turn.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from bot.aio import repeat
from bot.errors import StoreError
from bot.owner import ASIDE
from bot.ports import Claim, Inbox

log = logging.getLogger(__name__)

SIDE_LANES = 1
"""Side lanes of one Owner that run at once: its commands do not wait for its turns, nor take the
workers.
"""
WATCH_SECONDS = 0.5
LOST = "the lease of a lane was lost"


@dataclass(slots=True)
class RunningLane:
    """A lane that this process runs."""

    claim: Claim
    task: asyncio.Task[float | None]
    turn: int | None = None
    """The turn that runs in it now."""
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    """Set to end that turn."""
    was_stopped: bool = False
    """Whether the turn that ran last was told to end."""
    is_suspect: bool = False
    """What runs in it now may end the process, and no other such one may run beside it."""


@dataclass(frozen=True, slots=True)
class RunningLanes:
    """The lanes of one worker, by their ids."""

    inbox: Inbox
    owner_lanes: int
    """At most so many of one Owner, not counting its side lanes."""
    by_id: dict[str, RunningLane] = field(default_factory=dict)

    def full_shares(self) -> Collection[str]:
        """The shares of which as many lanes run here as may: no further one is claimed."""
        running = Counter(lane.claim.share for lane in self.by_id.values() if lane.claim.share)
        return [share for share, lanes in running.items() if lanes >= self._limit_of(share)]

    def _limit_of(self, share: str) -> int:
        return SIDE_LANES if share.endswith(ASIDE) else self.owner_lanes

    def has_suspect(self) -> bool:
        """Whether an entry runs that may end the process."""
        return any(lane.is_suspect for lane in self.by_id.values())

    @contextmanager
    def running_turn(self, lane: str, turn: int, stop: asyncio.Event) -> Iterator[None]:
        """Let `stop` be set when this turn is told to end while it runs inside the block."""
        running = self.by_id[lane]
        running.turn, running.stop = turn, stop
        try:
            yield
        finally:
            running.turn, running.was_stopped = None, stop.is_set()

    def has_stopped_turn(self, lane: str) -> bool:
        """Whether the turn that ran last in this lane was told to end; asked once."""
        running = self.by_id[lane]
        was_stopped, running.was_stopped = running.was_stopped, False
        return was_stopped

    @contextmanager
    def running_suspect(self, lane: str) -> Iterator[None]:
        """What runs inside the block may end the process."""
        running = self.by_id[lane]
        running.is_suspect = True
        try:
            yield
        finally:
            running.is_suspect = False

    def keepers(self, lease_seconds: float) -> list[asyncio.Task[None]]:
        """Start what renews the leases and what stops cancelled turns; both run until cancelled."""
        return [
            asyncio.create_task(repeat(seconds, look, _log_failure), name=look.__name__)
            for seconds, look in (
                (lease_seconds / 3, self._keep_leases),
                (WATCH_SECONDS, self._stop_cancelled),
            )
        ]

    async def _keep_leases(self) -> None:
        if asked := dict(self.by_id):
            for lane in await self.inbox.keep([running.claim for running in asked.values()]):
                log.warning(LOST)
                # Not who holds the lane by now: it may have been given back and claimed anew.
                asked[lane].task.cancel()

    async def _stop_cancelled(self) -> None:
        if turns := [lane for lane, running in self.by_id.items() if running.turn is not None]:
            for lane, before in (await self.inbox.cancelled(turns)).items():
                running = self.by_id.get(lane)  # the turn may have ended while the inbox was asked
                if running is not None and running.turn is not None and running.turn < before:
                    running.stop.set()


def _log_failure(failure: Exception) -> None:
    """A store that does not answer is asked again; meanwhile leases run out by themselves."""
    if isinstance(failure, StoreError):
        log.warning("the inbox cannot be asked: %s", failure)
    else:
        log.error("the inbox was asked in vain", exc_info=failure)
