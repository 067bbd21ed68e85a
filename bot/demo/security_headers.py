"""Protects the page's server: decides who may ask, and what a browser may do with the answer.

The page shows what models and people wrote, so no inline or foreign code runs in it and strings
cannot become markup (Trusted Types). A foreign site whose name points at this machine sends its own
Host or Origin and is refused.
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
    """Refuse requests with a foreign Host or Origin."""
    origin = request.headers.get("Origin")
    if (
        request.remote not in LOOPBACK
        or _name(request.host) not in LOOPBACK
        or origin not in _own(request.host)
    ):
        raise web.HTTPForbidden(text="only from this machine")
    return await handler(request)


async def protect(_: web.Request, response: web.StreamResponse) -> None:
    """Add the headers, but keep a stricter policy that an answer brings (a file somebody sent)."""
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)


def _own(host: str) -> tuple[str | None, ...]:
    return None, f"http://{host}"


def _name(host: str) -> str | None:
    try:
        return urlsplit(f"//{host}").hostname
    except ValueError:
        return None
