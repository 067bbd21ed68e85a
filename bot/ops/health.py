"""Answers whoever watches the process: whether it lives, and whether it can work.

`/healthz` answers as long as the event loop turns. `/readyz` asks every part through the ping it brought, all at once
and each for a bounded time, and names the failing parts; their error texts, which may hold addresses, go nowhere.
"""

from __future__ import annotations

import asyncio
import errno
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Self

from aiohttp import web

from bot.errors import StartError

Ping = Callable[[], Awaitable[object]]
"""Returns when its part works, raises when it does not."""

_WHY = {
    errno.EADDRINUSE: "another program uses it already",
    errno.EACCES: "this user may not open it",
}

LINGERING_SECONDS = 1.0
"""For how long the rest of a body that was refused is read and thrown away, so that the refusal is heard."""
LEAVING_SECONDS = 5.0

log = logging.getLogger(__name__)


class Health:
    """The HTTP answers on PORT, open inside `async with`."""

    def __init__(
        self, port: int, pings: Mapping[str, Ping], routes: Sequence[web.RouteDef] = (), *, patience: float = 2.0
    ) -> None:
        self.port = port
        """Once open, the port in use: 0 asks for any free one."""
        self._pings = pings
        self._patience = patience
        self._failing: tuple[str, ...] = ()
        app = web.Application()
        app.add_routes([web.get("/healthz", self._alive), web.get("/readyz", self._ready), *routes])
        self._runner = web.AppRunner(
            app, access_log=None, lingering_time=LINGERING_SECONDS, shutdown_timeout=LEAVING_SECONDS
        )

    async def __aenter__(self) -> Self:
        await self._runner.setup()
        try:
            await web.TCPSite(self._runner, "0.0.0.0", self.port).start()  # noqa: S104 - probes come from outside
        except OSError as error:
            await self._runner.cleanup()
            why = _WHY.get(error.errno or 0, "the system refuses it")
            raise StartError(f"PORT {self.port} cannot be opened: {why}.") from None
        self.port = self._runner.addresses[0][1]
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()

    async def failing(self) -> tuple[str, ...]:
        """The names of the parts that do not work now."""
        outcomes = await asyncio.gather(
            *(asyncio.wait_for(ping(), self._patience) for ping in self._pings.values()), return_exceptions=True
        )
        faults = {
            name: type(outcome).__name__
            for name, outcome in zip(self._pings, outcomes, strict=True)
            if isinstance(outcome, BaseException)
        }
        self._report(faults)
        return tuple(faults)

    def _report(self, faults: Mapping[str, str]) -> None:
        """Log changes only: probes come every few seconds."""
        if self._failing == (failing := tuple(faults)):
            return
        self._failing = failing
        if faults:
            log.warning("Not ready: %s", ", ".join(f"{name} ({kind})" for name, kind in faults.items()))
        else:
            log.info("Ready again")

    async def _alive(self, _: web.Request) -> web.Response:
        return web.json_response({"alive": True})

    async def _ready(self, _: web.Request) -> web.Response:
        failing = await self.failing()
        return web.json_response({"ready": not failing, "failing": failing}, status=503 if failing else 200)
