"""What protects the page's server: who may ask, and what a browser may do with the answer.

The page shows what models and people wrote, so nothing inline and nothing foreign runs in it, and
strings cannot become markup (Trusted Types). A site that made its name point at this machine
carries its own Host or Origin and is refused.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

from aiohttp import web

from bot.standins.telegram.receiving import LOOPBACK

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "media-src 'self' blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}


@web.middleware
async def guard(request: web.Request, handler: Answer) -> web.StreamResponse:
    """Let pass only whoever asks from this machine, under its own name, for a page of ours."""
    origin = request.headers.get("Origin")
    if (
        request.remote not in LOOPBACK
        or _name(request.host) not in LOOPBACK
        or origin not in _own(request.host)
    ):
        raise web.HTTPForbidden(text="only from this machine")
    return await handler(request)


async def protect(_: web.Request, response: web.StreamResponse) -> None:
    """Add the headers; an answer that brings a stricter policy of its own (a file somebody sent)
    keeps it.
    """
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)


def _own(host: str) -> tuple[str | None, ...]:
    return None, f"http://{host}"


def _name(host: str) -> str | None:
    try:
        return urlsplit(f"//{host}").hostname
    except ValueError:
        return None
