"""A strict Messages API on 127.0.0.1: what the real one refuses is refused, what it streams is streamed.

    async with ClaudeServer() as server:
        server.script("Hello")
        server.faults.next(Fault.overloaded())
        client = AsyncAnthropic(api_key=server.key, base_url=server.url, max_retries=0)

Without a script the small rule-based mind answers, from nothing but the request. Everything asked is in
`server.journal`. A request is checked before any fault is served, so a fault never hides an invalid request.
"""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import count as counter
from typing import Any, Self

from aiohttp import web

from bot.demo.claude_answers import Answer, Json
from bot.demo.claude_cache import PromptCache, PromptUsage
from bot.demo.claude_faults import Fault, Faults, Reply
from bot.demo.claude_finish import fitted, output_tokens, signed, stopped
from bot.demo.claude_journal import Exchange, Journal
from bot.demo.claude_mind import answer as mind_answer
from bot.demo.claude_models import Offer, card, standard_offers
from bot.demo.claude_prompt import CountText, Meter, rough_count
from bot.demo.claude_refusals import Refused, error_body
from bot.demo.claude_requests import MessagesRequest, Prompt, parse, shaped
from bot.demo.claude_rules import check, marks_allowed, roles_known
from bot.demo.claude_script import Line, Script, is_chat
from bot.demo.claude_stream import Chunk, Drop, Event, Stall, Step, Wait, message_frame, stream_steps
from bot.ops.clock import SystemClock
from bot.ports import Clock

BODY_BYTES = 32 * 1024 * 1024
Mind = Callable[[Json], Answer]
Respond = Callable[[web.Request], Awaitable[web.StreamResponse]]
NUMBER = "exchange"
REQUEST_ID = "request_id"


class ClaudeServer:
    """The server; `url` serves as ANTHROPIC_BASE_URL."""

    def __init__(
        self,
        *,
        key: str = "test-key",
        clock: Clock | None = None,
        count: CountText = rough_count,
        offers: Mapping[str, Offer] | None = None,
        mind: Mind = mind_answer,
    ) -> None:
        self.key = key
        self.url = ""
        self._script = Script()
        self.faults = Faults()
        self.journal = Journal()
        self.offers = dict(offers or standard_offers())
        self._mind = mind
        self._clock = clock or SystemClock()
        self._meter = Meter(count)
        self._cache = PromptCache(self._clock)
        self._numbers = counter(1)
        self._closing = asyncio.Event()

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=BODY_BYTES, middlewares=[self._frame])
        app.router.add_post("/v1/messages", self._messages)
        app.router.add_post("/v1/messages/count_tokens", self._count_tokens)
        app.router.add_get("/v1/models/{model}", self._model)
        self._runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=2)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        host, port = self._runner.addresses[0][:2]
        self.url = f"http://{host}:{port}"
        return self

    async def __aexit__(self, *_failure: object) -> None:
        self._closing.set()
        await self._runner.cleanup()

    def script(self, *lines: Line | str, when: Callable[[Json], bool] = is_chat) -> None:
        """Prepare answers, in order; what they do not cover is answered by the mind."""
        self._script.add(*lines, when=when)

    @property
    def unsaid(self) -> int:
        """How many prepared answers were not asked for yet."""
        return len(self._script)

    async def until(self, holds: Callable[[Sequence[Exchange]], bool], seconds: float = 5) -> Sequence[Exchange]:
        """Wait for the journal to look like this."""
        return await self.journal.until(holds, seconds)

    # ------------------------------------------------------------------------------------------ every request

    @web.middleware
    async def _frame(self, request: web.Request, handler: Respond) -> web.StreamResponse:
        request[REQUEST_ID] = self._new_id("req")
        raw, size = await _body(request)
        request[NUMBER] = self.journal.open(request.path, raw, request.headers, self._clock.now())
        try:
            self._admit(request, size)
            return await handler(request)
        except Refused as refused:
            return await self._refuse(request, refused)
        except web.HTTPException as missing:
            return await self._refuse(request, Refused(missing.reason, missing.status))
        except (asyncio.CancelledError, ConnectionResetError):
            await self.journal.leave(request[NUMBER])
            raise

    async def _refuse(self, request: web.Request, refused: Refused) -> web.Response:
        await self._note(request, state="refused", reason=refused.message)
        body = error_body(refused.status, refused.message, request[REQUEST_ID])
        return web.json_response(body, status=refused.status, headers=_headers(request))

    async def _note(self, request: web.Request, **changes: Any) -> None:
        await self.journal.note(request[NUMBER], **changes)

    def _admit(self, request: web.Request, size: int) -> None:
        if size > BODY_BYTES:
            raise Refused("Request exceeds the maximum size", 413)
        bearer = request.headers.get("authorization", "").removeprefix("Bearer ")
        if "x-api-key" in request.headers:
            both = "Send either an `Authorization` or an `x-api-key` header, not both"
            raise Refused(both if bearer else "invalid x-api-key", 401)
        if not hmac.compare_digest(bearer.encode(), self.key.encode()):
            raise Refused("invalid bearer token", 401)
        if "anthropic-version" not in request.headers:
            raise Refused("anthropic-version: header is required")

    def _new_id(self, prefix: str) -> str:
        return f"{prefix}_01{next(self._numbers):022d}"

    # ------------------------------------------------------------------------------------------ endpoints

    async def _model(self, request: web.Request) -> web.Response:
        name = request.match_info["model"]
        await self._note(request, state="answered")
        return web.json_response(card(name, self._offer(name)), headers=_headers(request))

    async def _count_tokens(self, request: web.Request) -> web.Response:
        body = await self._read(request, Prompt)
        total = self._meter.prompt(self._meter.items(body))
        await self._note(request, state="answered")
        return web.json_response({"input_tokens": total}, headers=_headers(request))

    async def _messages(self, request: web.Request) -> web.StreamResponse:
        body = await self._read(request, MessagesRequest)
        offer = self._offer(body["model"])
        prompt = self._bill(body, offer)
        await self._note(request, prompt=prompt)
        fault = self.faults.take(body)
        if fault and fault.reply:
            return await self._fail(request, fault.name, fault.reply)
        answer = self._answer(body, fault, _room(body, offer, prompt))
        frame = message_frame(
            self._new_id("msg"), body["model"], answer, prompt.wire(output_tokens(answer, self._meter))
        )
        return await self._deliver(request, body, fault, answer, frame)

    async def _read(self, request: web.Request, shape: type[Prompt]) -> dict[str, Any]:
        body = parse(await request.read())
        await self._note(request, body=body)
        roles_known(body)
        shaped(shape, body)
        self._offer(body["model"])
        check(body)
        return body

    def _offer(self, model: str) -> Offer:
        if model not in self.offers:
            raise Refused(f"model: {model}", 404)
        return self.offers[model]

    def _bill(self, body: Json, offer: Offer) -> PromptUsage:
        if body["max_tokens"] > offer.longest_answer:
            raise Refused(
                f"max_tokens: {body['max_tokens']} > {offer.longest_answer}, which is the maximum allowed number of "
                f"output tokens for {body['model']}"
            )
        items = self._meter.items(body)
        marks_allowed(body, items)
        total = self._meter.prompt(items)
        if total > offer.window:
            raise Refused(f"prompt is too long: {total} tokens > {offer.window} maximum")
        return self._cache.bill(body, items, total, offer.cache_floor)

    def _answer(self, body: Json, fault: Fault | None, room: tuple[int, str]) -> Answer:
        prepared = self._script.peek(body)
        answer = stopped(prepared.play(body) if prepared else self._mind(body), body)
        if prepared and (fault is None or fault.spends):
            self._script.spend(prepared)
        answer = fitted(answer, *room, self._meter)
        if fault and fault.twist:
            answer = fault.twist(answer)
        return signed(answer, body, self._new_id)

    # ------------------------------------------------------------------------------------------ sending

    async def _fail(self, request: web.Request, name: str, reply: Reply) -> web.Response:
        await self._note(request, state="faulted", reason=name)
        if not reply.status:
            await self._closing.wait()
        headers = {**_headers(request), **reply.headers}
        return web.Response(
            text=reply.body, status=reply.status or 503, content_type=reply.content_type, headers=headers
        )

    async def _deliver(
        self, request: web.Request, body: Json, fault: Fault | None, answer: Answer, frame: dict[str, Any]
    ) -> web.StreamResponse:
        steps: Iterable[Step] = tuple(stream_steps(frame, answer))
        if fault and fault.bend:
            steps = fault.bend(tuple(steps))
        failed = fault is not None and not fault.spends
        if failed:
            await self._note(request, state="faulted", reason=fault.name if fault else "")
        if body.get("stream"):
            response = await self._stream(request, steps)
        else:
            response = web.json_response(frame, headers=_headers(request))
        if not failed:
            await self._note(request, state="answered", reason=fault.name if fault else "", answer=frame)
        return response

    async def _stream(self, request: web.Request, steps: Iterable[Step]) -> web.StreamResponse:
        response = web.StreamResponse(headers={**_headers(request), "content-type": "text/event-stream"})
        await response.prepare(request)
        for step in steps:
            match step:
                case Event() | Chunk():
                    await response.write(step.encode())
                    await self._rest(self.faults.pace)
                case Wait(seconds):
                    await self._rest(seconds)
                case Stall():
                    await self._closing.wait()
                case Drop():
                    _hang_up(request)
                    break
        return response

    async def _rest(self, seconds: float) -> None:
        if seconds:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._closing.wait(), seconds)


async def _body(request: web.Request) -> tuple[bytes, int]:
    """The body and its size; one that is larger than the API takes is not kept."""
    try:
        raw = await request.read()
    except web.HTTPRequestEntityTooLarge:
        return b"", BODY_BYTES + 1
    return raw, len(raw)


def _headers(request: web.Request) -> dict[str, str]:
    return {"request-id": request[REQUEST_ID]}


def _room(body: Json, offer: Offer, prompt: PromptUsage) -> tuple[int, str]:
    """How long the answer may become, and what stops it there."""
    left = offer.window - prompt.total
    return (left, "model_context_window_exceeded") if left < body["max_tokens"] else (body["max_tokens"], "max_tokens")


def _hang_up(request: web.Request) -> None:
    if request.transport is not None:
        request.transport.close()
