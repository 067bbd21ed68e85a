"""Health checks: whether the process lives (`/healthz`) and whether it can work (`/readyz`).

`/healthz` answers as long as the event loop turns. `/readyz` pings all parts side by side, each for
a bounded time, and names those that fail, without their error texts, which may hold addresses.
However many clients ask, the parts are pinged at most once in FRESH_SECONDS.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping

from aiohttp import web

Ping = Callable[[], Awaitable[object]]
"""Returns when its part works, raises when it does not."""

FRESH_SECONDS = 1.0

log = logging.getLogger(__name__)


class Health:
    """Pings the parts of the process and serves both checks."""

    def __init__(
        self, pings: Mapping[str, Ping], *, timeout: float = 2.0, fresh: float = FRESH_SECONDS
    ) -> None:
        self._pings = pings
        self._timeout = timeout
        self._fresh = fresh
        self._failing: tuple[str, ...] = ()
        self._pinged_at = 0.0
        self._pinging: asyncio.Task[tuple[str, ...]] | None = None

    def routes(self) -> list[web.RouteDef]:
        """Return the routes of both checks."""
        return [web.get("/healthz", self._alive), web.get("/readyz", self._ready)]

    async def failing(self) -> tuple[str, ...]:
        """Return the names of the parts that failed at the last ping."""
        now = asyncio.get_running_loop().time()
        if self._pinging is None or (self._pinging.done() and now - self._pinged_at >= self._fresh):
            self._pinged_at, self._pinging = now, asyncio.create_task(self._ask(), name="readiness")
        return await asyncio.shield(
            self._pinging
        )  # one who leaves takes the answer from nobody else

    async def _ask(self) -> tuple[str, ...]:
        outcomes = await asyncio.gather(
            *(asyncio.wait_for(ping(), self._timeout) for ping in self._pings.values()),
            return_exceptions=True,
        )
        faults = {
            name: type(outcome).__name__
            for name, outcome in zip(self._pings, outcomes, strict=True)
            if isinstance(outcome, BaseException)
        }
        self._report(faults)
        return tuple(faults)

    def _report(self, faults: Mapping[str, str]) -> None:
        """Log changes only, since probes come every few seconds."""
        if self._failing == (failing := tuple(faults)):
            return
        self._failing = failing
        if faults:
            log.warning(
                "Not ready: %s", ", ".join(f"{name} ({kind})" for name, kind in faults.items())
            )
        else:
            log.info("Ready again")

    async def _alive(self, _: web.Request) -> web.Response:
        return web.json_response({"alive": True})

    async def _ready(self, _: web.Request) -> web.Response:
        failing = await self.failing()
        return web.json_response(
            {"ready": not failing, "failing": failing}, status=503 if failing else 200
        )
