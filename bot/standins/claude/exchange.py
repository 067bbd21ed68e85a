"""One HTTP request: reads it, answers it and keeps its entry in the journal.

A pause ends when the server closes, so a request that a test left hanging cannot delay it.
"""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from bot.standins.claude.faults import Reply
from bot.standins.claude.journal import Journal, State
from bot.standins.claude.refusals import Refused, error_body
from bot.standins.claude.stream import Chunk, Drop, Event, Stall, Step, Wait

BODY_BYTES = 32 * 1024 * 1024


async def body_of(request: web.Request) -> tuple[bytes, int]:
    """The body and its size; one that is larger than the API takes is not kept."""
    try:
        raw = await request.read()
    except web.HTTPRequestEntityTooLarge:
        return b"", BODY_BYTES + 1
    return raw, len(raw)


def admit(request: web.Request, key: str, size: int) -> None:
    """Refuse a request by its headers, or for its mere size."""
    bearer = request.headers.get("authorization", "").removeprefix("Bearer ")
    if "x-api-key" in request.headers:
        both = "Send either an `Authorization` or an `x-api-key` header, not both"
        raise Refused(both if bearer else "invalid x-api-key", 401)
    if not hmac.compare_digest(bearer.encode(), key.encode()):
        raise Refused("invalid bearer token", 401)
    if size > BODY_BYTES:
        raise Refused("Request exceeds the maximum size", 413)
    if "anthropic-version" not in request.headers:
        raise Refused("anthropic-version: header is required")


@dataclass(frozen=True, slots=True)
class HttpExchange:
    """A request while it is being answered. `number` is its place in the journal."""

    request: web.Request
    id: str
    raw: bytes
    number: int
    journal: Journal
    closing: asyncio.Event

    @property
    def route(self) -> tuple[str, str]:
        """Method and path."""
        return self.request.method, self.request.path

    async def note(self, state: State | None = None, **changes: Any) -> None:
        """Write into the journal."""
        await self.journal.note(self.number, **({"state": state} if state else {}), **changes)

    def json(self, body: Mapping[str, Any], status: int = 200) -> web.Response:
        """An answer in one piece."""
        return web.json_response(body, status=status, headers=self._headers)

    async def refuse(self, refused: Refused) -> web.Response:
        """An error answer."""
        await self.note("refused", reason=refused.message)
        return self.json(error_body(refused.status, refused.message, self.id), refused.status)

    async def fail(self, reply: Reply) -> web.Response:
        """The answer of something that is not the model; or none."""
        if not reply.status:
            await self.closing.wait()
        return web.Response(
            text=reply.body,
            status=reply.status or 503,
            content_type=reply.content_type,
            headers={**self._headers, **reply.headers},
        )

    async def stream(self, steps: Iterable[Step], pace: Callable[[], float]) -> web.StreamResponse:
        """An answer step by step."""
        response = web.StreamResponse(
            headers={**self._headers, "content-type": "text/event-stream; charset=utf-8"}
        )
        await response.prepare(self.request)
        for step in steps:
            match step:
                case Event() | Chunk():
                    await response.write(step.encode())
                    self.journal.wrote(self.number, step.written)
                    await self._rest(pace())
                case Wait(seconds):
                    await self._rest(seconds)
                case Stall():
                    await self.closing.wait()
                case Drop():
                    self._hang_up()
                    break
        return response

    @property
    def _headers(self) -> dict[str, str]:
        return {"request-id": self.id}

    async def _rest(self, seconds: float) -> None:
        if seconds:
            with suppress(TimeoutError):
                await asyncio.wait_for(self.closing.wait(), seconds)

    def _hang_up(self) -> None:
        if self.request.transport is not None:
            self.request.transport.close()
