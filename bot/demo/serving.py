"""Serves the page and its routes on the loopback interface, with their protection."""

from __future__ import annotations

import errno
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from aiohttp import web

from bot.demo.security_headers import guard, protect
from bot.errors import StartError

PAGE = Path(__file__).with_name("page")
KINDS = {
    ".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".mjs": "text/javascript",
    ".json": "application/json", ".svg": "image/svg+xml", ".png": "image/png", ".ico": "image/x-icon",  # noqa: E501
}  # fmt: skip
"""Not left to the machine's own table, which may call a module plain text."""
NEXT_PORTS = 20
UPLOAD_BYTES = 64 << 20


@asynccontextmanager
async def serving(
    routes: Sequence[web.RouteDef], port: int, page: Path = PAGE
) -> AsyncIterator[str]:
    """Serve while the block runs; yields the page's address, on another port if it is taken."""
    app = web.Application(client_max_size=UPLOAD_BYTES, middlewares=[guard])
    app.on_response_prepare.append(protect)
    app.add_routes([*routes, *files(page)])
    runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    try:
        yield f"http://127.0.0.1:{await _bound(runner, port)}/"
    finally:
        await runner.cleanup()


def files(folder: Path) -> list[web.RouteDef]:
    """Make a route for each file of a kind that a page needs; index.html is at the root."""
    folder = folder.resolve()

    def found(name: str) -> Path:
        return (folder / (name or "index.html")).resolve()

    async def answer(request: web.Request) -> web.Response:
        path = found(request.match_info["name"])
        kind = KINDS.get(path.suffix)
        if kind is None or not path.is_relative_to(folder) or not path.is_file():
            raise web.HTTPNotFound(text="there is no such page")
        return web.Response(
            body=path.read_bytes(), headers={"Content-Type": f"{kind}; charset=utf-8"}
        )

    return [web.get("/{name:.*}", answer)]


async def _bound(runner: web.AppRunner, port: int) -> int:
    """Bind the port, or one of the next, or any."""
    wanted = range(port, min(port + NEXT_PORTS, 1 << 16)) if port else ()
    for one in (*wanted, 0):
        try:
            await web.TCPSite(runner, "127.0.0.1", one).start()
        except OSError as fault:
            if fault.errno not in {errno.EADDRINUSE, errno.EACCES}:
                raise
        else:
            return int(runner.addresses[0][1])
    raise StartError("No port of this machine can be had for the page.")
