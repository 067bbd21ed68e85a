"""A strict Messages API on 127.0.0.1: it refuses what the real one refuses and streams alike.

    async with ClaudeServer() as server:
        server.script("Hello")
        server.faults.next(Fault.overloaded())
        client = AsyncAnthropic(api_key=server.key, base_url=server.url, max_retries=0)

Without a script the small rule-based model answers, from nothing but the request. Everything asked
is in `server.journal`. A request is checked before any fault is served, so a fault never hides an
invalid request.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from itertools import count as counter
from typing import Any, Self

from aiohttp import web

from bot.standins.claude.answers import Answer, Json
from bot.standins.claude.cache import PromptCache, PromptUsage
from bot.standins.claude.connector import check_connector
from bot.standins.claude.exchange import BODY_BYTES, HttpExchange, admit, body_of
from bot.standins.claude.fault_schedule import Faults
from bot.standins.claude.faults import Fault
from bot.standins.claude.finish import fitted, output_tokens, signed, stopped, thoughtless
from bot.standins.claude.journal import Exchange, Journal
from bot.standins.claude.models import Offer, card, standard_offers
from bot.standins.claude.prompt import CountText, Meter, rough_count
from bot.standins.claude.refusals import Refused
from bot.standins.claude.requests import MessagesRequest, Prompt, parse, shaped
from bot.standins.claude.rule_model import answer as rule_model_answer
from bot.standins.claude.rules import check, marks_allowed, roles_known
from bot.standins.claude.script import Line, Script, is_chat
from bot.standins.claude.stream import message_frame, stream_steps
from bot.standins.claude.thinking import may_think
from bot.standins.clock import Clock, SystemClock

Model = Callable[[Json], Answer]
MODELS_PATH = "/v1/models/"


class ClaudeServer:
    """The server; `url` serves as ANTHROPIC_BASE_URL."""

    def __init__(
        self,
        *,
        key: str = "test-key",
        clock: Clock | None = None,
        count: CountText = rough_count,
        offers: Mapping[str, Offer] | None = None,
        model: Model = rule_model_answer,
    ) -> None:
        self.key = key
        self.url = ""
        self.faults = Faults()
        self.journal = Journal()
        self.offers = dict(offers or standard_offers())
        self._script = Script()
        self.model = model
        self._clock = clock or SystemClock()
        self._meter = Meter(count)
        self._cache = PromptCache(self._clock)
        self._numbers = counter(1)
        self._closing = asyncio.Event()

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=BODY_BYTES)
        app.router.add_route("*", "/{path:.*}", self._serve)
        self._runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=2)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        host, port = self._runner.addresses[0][:2]
        self.url = f"http://{host}:{port}"
        return self

    async def __aexit__(self, *_failure: object) -> None:
        self._closing.set()
        await self._runner.cleanup()

    def script(self, *lines: Line | str, when: Callable[[Json], bool] = is_chat) -> None:
        """Prepare answers, in order; what they do not cover is answered by that model."""
        self._script.add(*lines, when=when)

    @property
    def unsaid(self) -> int:
        """How many prepared answers were not asked for yet."""
        return len(self._script)

    @property
    def connections(self) -> int:
        """How many clients are connected."""
        return len(self._runner.server.connections) if self._runner.server else 0

    async def until(
        self, holds: Callable[[Sequence[Exchange]], bool], seconds: float = 60
    ) -> Sequence[Exchange]:
        """Wait for the journal to look like this."""
        return await self.journal.until(holds, seconds)

    def billed(self, exchange: Exchange) -> int:
        """Tokens that a request is billed, whether or not its client was told, or stayed to hear
        it.
        """
        if exchange.prompt is None:
            return 0
        written = exchange.usage.get("output_tokens") or self._meter.text(exchange.written)
        return int(exchange.prompt.total + written)

    # ------------------------------------------------------------------------------------- requests

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        raw, size = await body_of(request)
        number = self.journal.open(request.path, raw, request.headers, self._clock.now())
        exchange = HttpExchange(
            request, self._new_id("req"), raw, number, self.journal, self._closing
        )
        try:
            admit(request, self.key, size)
            return await self._respond(exchange)
        except Refused as refused:
            return await exchange.refuse(refused)
        except (asyncio.CancelledError, ConnectionResetError):
            await self.journal.leave(number)
            raise

    async def _respond(self, exchange: HttpExchange) -> web.StreamResponse:
        match exchange.route:
            case "POST", "/v1/messages":
                return await self._messages(exchange)
            case "POST", "/v1/messages/count_tokens":
                return await self._count_tokens(exchange)
            case "GET", path if path.startswith(MODELS_PATH):
                return await self._model(exchange, path.removeprefix(MODELS_PATH))
        raise Refused("Not found", 404)

    async def _model(self, exchange: HttpExchange, name: str) -> web.Response:
        model = card(name, self._offer(name))
        await exchange.note("answered")
        return exchange.json(model)

    async def _count_tokens(self, exchange: HttpExchange) -> web.Response:
        body = await self._read(exchange, Prompt)
        await exchange.note("answered")
        return exchange.json({"input_tokens": self._meter.prompt(self._meter.items(body))})

    async def _messages(self, exchange: HttpExchange) -> web.StreamResponse:
        body = await self._read(exchange, MessagesRequest)
        prompt = self._price(body)
        fault = self.faults.take(body)
        if not (fault and fault.is_free):
            await exchange.note(prompt=prompt)
        if fault and not fault.spends:
            await exchange.note("faulted", reason=fault.name)
        if fault and fault.reply:
            return await exchange.fail(fault.reply)
        answer = self._answer(body, fault, prompt)
        usage = prompt.wire(output_tokens(answer, self._meter))
        frame = message_frame(self._new_id("msg"), body["model"], answer, usage)
        if body.get("stream"):
            steps = tuple(stream_steps(frame, answer))
            bent = fault.bend(steps) if fault and fault.bend else steps
            response: web.StreamResponse = await exchange.stream(bent, lambda: self.faults.pace)
        else:
            response = exchange.json(frame)
        if not fault or fault.spends:
            await exchange.note("answered", reason=fault.name if fault else "", answer=frame)
        return response

    # --------------------------------------------------------------------------------- what is said

    async def _read(self, exchange: HttpExchange, shape: type[Prompt]) -> dict[str, Any]:
        body = parse(exchange.raw)
        await exchange.note(body=body)
        roles_known(body)
        shaped(shape, body)
        check(body, self._offer(body["model"]))
        check_connector(body, exchange.request.headers.get("anthropic-beta", ""))
        return body

    def _offer(self, model: str) -> Offer:
        if model not in self.offers:
            raise Refused(f"model: {model}", 404)
        return self.offers[model]

    def _price(self, body: Json) -> PromptUsage:
        offer = self.offers[body["model"]]
        if body["max_tokens"] > offer.max_answer_tokens:
            raise Refused(
                f"max_tokens: {body['max_tokens']} > {offer.max_answer_tokens}, which is the "
                f"maximum allowed number of "
                f"output tokens for {body['model']}"
            )
        items = self._meter.items(body)
        marks_allowed(body, items)
        total = self._meter.prompt(items)
        if total > offer.window:
            raise Refused(f"prompt is too long: {total} tokens > {offer.window} maximum")
        return self._cache.meter(body, items, total, offer.cache_floor)

    def _answer(self, body: Json, fault: Fault | None, prompt: PromptUsage) -> Answer:
        prepared = self._script.peek(body)
        answer = stopped(prepared.play(body) if prepared else self.model(body), body)
        if prepared and (fault is None or fault.spends):
            self._script.spend(prepared)
        offer = self.offers[body["model"]]
        answer = answer if may_think(body, offer) else thoughtless(answer)
        left = offer.window - prompt.total
        limit = min(
            (body["max_tokens"], "max_tokens"),
            (left, "model_context_window_exceeded"),
            key=lambda pair: pair[0],
        )
        answer = fitted(answer, *limit, self._meter)
        if fault and fault.twist:
            answer = fault.twist(answer)
        return signed(answer, body, self._new_id)

    def _new_id(self, prefix: str) -> str:
        return f"{prefix}_01{next(self._numbers):022d}"
