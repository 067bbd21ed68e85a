"""The Model behind a Messages API: Anthropic's, or any server that speaks `/v1/messages`.

One client for the life of the process, no retries of its own (the loop has them), exactly one kind
of credential. A call has succeeded when a stop reason arrived, not when the stream merely ended.
The silence limit counts parsed events: pings keep a connection alive, not an answer. Whatever fails
becomes one of our errors (`model_failures`).
"""

from __future__ import annotations

import asyncio
import logging
import math
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal
from urllib.parse import urlsplit

import anthropic
import httpx2

from bot.agent.model_failures import FAILURES, classify, is_unbilled
from bot.agent.prompt import with_breakpoints
from bot.agent.storable_content import without_dropped_servers
from bot.agent.streamed import StreamedMessage
from bot.errors import ModelBusy, ModelError, ModelMisconfigured
from bot.ports import Completion, ModelCard, Request
from bot.ports.model import unbilled, unseen
from bot.settings import ANTHROPIC_URL
from bot.settings.mcp import McpServer
from bot.usage import Usage

log = logging.getLogger(__name__)

USUAL_WINDOW = 200_000
CARD_SECONDS = 5.0
MCP_BETA = "mcp-client-2026-09-15"
CONNECT_SECONDS = 10.0
UNSEEN_TOKENS_PER_SECOND = 100
"""What a model thinks at most, where its provider shows nothing of it and is left before it reports
its usage.
"""
_ONE_UNSEEN = "..."
NO_STOP_REASON = "the stream ended without a stop reason"
NOTHING_CAME = "an empty answer: is ANTHROPIC_BASE_URL right, or is a captive portal in the way?"

Credential = Literal["bearer", "x-api-key"]
Body = dict[str, Any]
"""Of a request, as JSON."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A server, the key for it, and what it can do.

    Anything beyond a plain request is off for unknown servers.
    """

    url: str
    key: str
    credential: Credential = "bearer"
    caching: bool = False
    mcp: tuple[McpServer, ...] = ()
    """Servers that it asks itself, where their tools are offered."""

    @classmethod
    def at(
        cls,
        url: str,
        key: str,
        *,
        credential: Credential = "bearer",
        caching: Literal["auto", "on", "off"] = "auto",
    ) -> Endpoint:
        """What is known of the server at this address."""
        is_official = urlsplit(url).hostname == urlsplit(ANTHROPIC_URL).hostname
        return cls(url, key, credential, caching == "on" or (caching == "auto" and is_official))


@cache
def tls_context() -> ssl.SSLContext:
    """What httpx2 would make for each client of its own; it takes as long as 40 ms."""
    return httpx2.create_ssl_context()


class Claude:
    """Implements Model through the vendor's SDK. Made once per process, inside the event loop."""

    def __init__(self, endpoint: Endpoint, *, silence_seconds: float = 60.0) -> None:
        self._endpoint = endpoint
        self._silence = silence_seconds
        self._client = anthropic.AsyncAnthropic(
            api_key=endpoint.key or "none",
            base_url=endpoint.url,
            max_retries=0,
            timeout=httpx2.Timeout(silence_seconds, connect=CONNECT_SECONDS),
            default_headers=_credential(endpoint),  # type: ignore[arg-type]  # it takes its own Omit, too
            http_client=anthropic.DefaultAioHttpClient(verify=tls_context()),
        )

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def card(self, model: str, setting: str = "MODEL") -> ModelCard:
        """How much the model can take in and write, asked once at start; a common size where the
        server does not say.
        """
        try:
            card = await self._client.models.retrieve(model, timeout=CARD_SECONDS)
        except FAILURES as error:
            _log_unknown_card(model, setting, classify(error))
            return ModelCard(USUAL_WINDOW)
        if getattr(card, "lifecycle", "active") != "active":
            log.warning(
                "%s is %s and ends on %.10s: choose another %s",
                model,
                card.lifecycle,
                card.retires_at,
                setting,
            )
        return ModelCard(
            window=getattr(card, "max_input_tokens", None) or USUAL_WINDOW,
            max_tokens=getattr(card, "max_tokens", None),
        )

    async def complete(
        self,
        request: Request,
        on_text: Callable[[str], None],
        on_start: Callable[[Usage], None] = unbilled,
        on_tool: Callable[[str], None] = unseen,
        on_hidden: Callable[[str], None] = unseen,
    ) -> Completion:
        """Call the model once, streaming.

        Raises a ModelError that carries the usage known so far.
        """
        message = StreamedMessage(on_text, on_start, on_tool, on_hidden)
        try:
            await self._hear(body(request, self._endpoint), message)
            failure: ModelError = ModelBusy(
                NO_STOP_REASON if message.usage else NOTHING_CAME, usage=message.usage
            )
        except FAILURES as error:
            failure = classify(error, Usage() if is_unbilled(error) else message.usage)
        # What breaks behind the stop reason takes nothing from the answer, which is billed already.
        if (completion := message.completion()) is not None:
            return completion
        raise failure

    async def _hear(self, wanted: Body, message: StreamedMessage) -> None:
        """Add event after event to the message until the stream ends; an unseen thought counts by
        its time.
        """
        now = asyncio.get_running_loop().time
        heard_at = now()
        try:
            async with asyncio.timeout(self._silence) as limit, await self._open(wanted) as events:
                async for event in events:
                    limit.reschedule(now() + self._silence)
                    message.add(event)  # type: ignore[arg-type]  # whatever is no object has no fields: a TypeError
                    heard_at = heard_at if message.is_thinking_unseen else now()
        finally:
            if message.is_thinking_unseen:
                message.on_hidden(
                    _ONE_UNSEEN * math.ceil((now() - heard_at) * UNSEEN_TOKENS_PER_SECOND)
                )

    async def _open(self, wanted: Body) -> anthropic.AsyncStream[object]:
        """Make the call; its events are plain JSON: the SDK's types cost as much again, and guess
        at arguments.
        """
        betas = wanted.pop("betas", ())
        events: anthropic.AsyncStream[object] = await self._client.post(
            "/v1/messages",
            body={**wanted, "stream": True},
            options={"headers": {"anthropic-beta": ",".join(betas)}} if betas else {},
            cast_to=object,
            stream=True,
            stream_cls=anthropic.AsyncStream[object],
        )
        if events.response.headers.get("content-type", "").startswith("text/html"):
            await events.close()
            # What answered stood in the provider's way, so the call never arrived.
            raise ModelBusy(NOTHING_CAME, usage=Usage())
        return events


def _log_unknown_card(model: str, setting: str, failure: ModelError) -> None:
    level = logging.WARNING if isinstance(failure, ModelMisconfigured) else logging.INFO
    log.log(
        level,
        "%s: the window of %s is taken for %d tokens: %s",
        setting,
        model,
        USUAL_WINDOW,
        failure,
    )


def _credential(endpoint: Endpoint) -> Mapping[str, str | anthropic.Omit] | None:
    """One header and never two: some servers refuse both together."""
    if endpoint.credential == "bearer":
        return None
    return {"x-api-key": endpoint.key, "Authorization": anthropic.omit}


def body(request: Request, endpoint: Endpoint) -> Body:
    """The request as this server takes it."""
    system, messages = request.system, request.messages
    wanted: Body = {"model": request.model, "max_tokens": request.max_tokens}
    if endpoint.caching and not request.once:
        system, messages = with_breakpoints(system, messages)  # type: ignore[assignment]  # blocks are as good as text
    if request.tools:
        wanted |= {"tools": list(request.tools), "tool_choice": {"type": request.tool_choice}}
    if request.end_user:
        wanted["metadata"] = {"user_id": request.end_user}
    if request.thinking:
        wanted["thinking"] = {"type": request.thinking}
    if request.effort:
        wanted["output_config"] = {"effort": request.effort}
    offered = {
        tool["mcp_server_name"] for tool in request.tools if tool.get("type") == "mcp_toolset"
    }
    asked = [server for server in endpoint.mcp if server.name in offered]
    if asked:
        wanted |= {"betas": [MCP_BETA], "mcp_servers": [_mcp_server(server) for server in asked]}
    return {
        **wanted,
        "system": system,
        "messages": without_dropped_servers(messages, {server.name for server in asked}),
    }


def _mcp_server(server: McpServer) -> dict[str, str]:
    token = {"authorization_token": server.token.get_secret_value()} if server.token else {}
    return {"type": "url", "name": server.name, "url": server.url.get_secret_value(), **token}
