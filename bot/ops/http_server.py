"""The process's HTTP server, bounded so that clients can exhaust neither its files nor its time.

A connection that sends no whole request within IDLE_SECONDS is closed, whether it is new, kept
alive or trickling. At most MAX_CONNECTIONS are open, far fewer than the process may have files; a
further one replaces the oldest that waits. At most ANSWERS_PER_SECOND answers leave, first come,
first served; only an accepted update (a POST answered with 200) never waits for its turn.
"""

from __future__ import annotations

import asyncio
import errno
import logging
from collections.abc import Sequence
from typing import Self, cast

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.typedefs import Handler

from bot.errors import StartError
from bot.ops.descriptors import file_limit

log = logging.getLogger(__name__)

IDLE_SECONDS = 10.0
MAX_CONNECTIONS = 256
SHARE_OF_FILES = 4
"""Connections take at most one in so many of the files that may be open."""
BACKLOG = 64
"""So many connections the system accepts before one of them is looked at."""
ANSWERS_PER_SECOND = 100
READ_BYTES = 16 * 1024
"""A connection is read in pieces of this size, so that one is refused before it has sent much."""
LINGERING_SECONDS = 0.3
"""For how long the rest of a body that was refused is read and thrown away, so that the refusal is
heard.
"""
LEAVING_SECONDS = 5.0

_WHY = {
    errno.EADDRINUSE: "another program uses it already",
    errno.EACCES: "this user may not open it",
    errno.EADDRNOTAVAIL: "this machine does not have that address",
}


class HttpServer:
    """Serves routes on one address inside `async with`.

    `setting` is the variable that a failure to open the port names.
    """

    def __init__(
        self,
        host: str,
        port: int,
        routes: Sequence[web.RouteDef],
        *,
        setting: str = "PORT",
        idle: float = IDLE_SECONDS,
    ) -> None:
        self.port = port
        """Once open, the port in use: 0 asks for any free one."""
        self._host = host
        self._setting = setting
        self._idle = idle
        self._open: dict[Connection, asyncio.Transport] = {}
        self._working: set[object] = set()
        self._line = asyncio.Lock()
        self._next_answer = 0.0
        app = web.Application(middlewares=[self._bound])
        app.add_routes(routes)
        self._runner = web.AppRunner(app, shutdown_timeout=LEAVING_SECONDS)

    async def __aenter__(self) -> Self:
        await self._runner.setup()
        self._max_connections = min(MAX_CONNECTIONS, file_limit() // SHARE_OF_FILES)
        loop = asyncio.get_running_loop()
        try:
            self._listener = await loop.create_server(
                self._accept, self._host, self.port, backlog=BACKLOG
            )
        except OSError as error:
            await self._runner.cleanup()
            why = _WHY.get(error.errno or 0, "the system refuses it")
            address = f"{self._setting} {self.port}"
            raise StartError(f"{address} cannot be opened on {self._host}: {why}.") from None
        self.port = self._listener.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._listener.close()
        await self._runner.cleanup()

    def opened(self, connection: Connection, transport: asyncio.Transport) -> None:
        """Count a new connection; if there are too many, abort the oldest one that waits."""
        while len(self._open) >= self._max_connections:
            oldest = next(
                (one for one in self._open if one not in self._working), next(iter(self._open))
            )
            self._open.pop(oldest).abort()  # a mere close would wait for a reader that never reads
        self._open[connection] = transport

    def closed(self, connection: Connection) -> None:
        """Stop counting a closed connection."""
        self._open.pop(connection, None)

    def _accept(self) -> Connection:
        return Connection(self, cast("web.Server", self._runner.server), self._idle)

    @web.middleware
    async def _bound(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        self._working.add(request.protocol)
        try:
            response = await handler(request)
        except web.HTTPException:
            self._working.discard(request.protocol)
            await self._stand_in_line(request)
            raise
        finally:
            self._working.discard(request.protocol)
        if request.method != "POST" or response.status != web.HTTPOk.status_code:
            await self._stand_in_line(request)
        return response

    async def _stand_in_line(self, request: web.Request) -> None:
        """Wait until the next answer may leave; a client that has gone meanwhile uses no slot."""
        loop = asyncio.get_running_loop()
        async with self._line:
            if request.transport is None:
                return
            await asyncio.sleep(self._next_answer - loop.time())
            self._next_answer = loop.time() + 1 / ANSWERS_PER_SECOND


class Connection(web.RequestHandler):
    """One connection, which its server counts until the system has closed it."""

    __slots__ = ("_counted_by",)

    def __init__(self, counted_by: HttpServer, manager: web.Server, idle: float) -> None:
        super().__init__(
            manager,
            loop=asyncio.get_running_loop(),
            access_log=None,  # type: ignore[arg-type]  # so does web.run_app: no line for each answer
            keepalive_timeout=idle,
            lingering_time=LINGERING_SECONDS,
        )
        self._counted_by = counted_by

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Register with the server before anything is read."""
        self._counted_by.opened(self, cast("asyncio.Transport", transport))
        # What asyncio's transports pass to recv(); the 256 KiB they begin with cost 2 ms to refuse.
        transport.max_size = READ_BYTES  # type: ignore[attr-defined]
        super().connection_made(transport)

    def log_exception(self, *args: object, **options: object) -> None:
        """Log what failed here; of a request that cannot be read, no more than a line at DEBUG.

        Anybody can send such a request, and a traceback for each would fill the operator's disk.
        """
        if isinstance(options.get("exc_info"), HttpProcessingError):
            log.debug("a request cannot be read: %s", type(options["exc_info"]).__name__)
        else:
            super().log_exception(*args, **options)

    def connection_lost(self, exc: BaseException | None) -> None:
        """Unregister from the server."""
        self._counted_by.closed(self)
        super().connection_lost(exc)
