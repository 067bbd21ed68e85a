"""The Model behind a Messages API: Anthropic's, or any server that speaks `/v1/messages`.

One client for the life of the process, no retries of its own (the loop has them), exactly one kind of credential. A
call has succeeded when a stop reason arrived, not when the stream merely ended. The silence limit counts parsed events:
pings keep a connection alive, not an answer. The SDK lets much through that is no error of its own; `classify` turns
everything into one of ours, with a message made of codes only: the vendor's texts may quote anything.
"""

from __future__ import annotations

import asyncio
import logging
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import urlsplit

import anthropic
import httpx2

from bot.agent.blocks import acceptable, without_dropped_servers
from bot.agent.prompt import with_breakpoints
from bot.errors import FilesRefused, ModelBusy, ModelError, ModelMisconfigured, PromptTooLong
from bot.ports import Completion, Json, Request
from bot.ports.model import unbilled, unseen
from bot.session import Block, Usage, clean
from bot.settings import ANTHROPIC_URL
from bot.settings.mcp import McpServer

log = logging.getLogger(__name__)

USUAL_WINDOW = 200_000
CARD_SECONDS = 5.0
_OF_PROVIDER = frozenset({"server_tool_use", "mcp_tool_use"})
MCP_BETA = "mcp-client-2026-09-15"
CONNECT_SECONDS = 10.0

_FAILURES = (
    anthropic.AnthropicError,
    httpx2.HTTPError,
    OSError,
    RuntimeError,
    AssertionError,  # from the SDK, for a stream without events
    AttributeError,  # from the SDK, for events without the fields it reads
    LookupError,
    TypeError,
    ValueError,
)
_BY_TYPE: Mapping[str, type[ModelError]] = {
    "request_too_large": PromptTooLong,
    "exceed_context_size_error": PromptTooLong,
    "invalid_request_error": ModelMisconfigured,
    "authentication_error": ModelMisconfigured,
    "billing_error": ModelMisconfigured,
    "permission_error": ModelMisconfigured,
    "not_found_error": ModelMisconfigured,
}
_BY_STATUS: Mapping[int, type[ModelError]] = {408: ModelBusy, 409: ModelBusy, 413: PromptTooLong, 429: ModelBusy}
_PLAIN = frozenset({"text", "tool_use", "mcp_tool_use", "mcp_tool_result"})
_INSIDE_A_STREAM = 200
_SERVER_FAULT = 500
_REFUSALS = {400, 415, 422, 500, 501}
_SPENT = re.compile(r"(ramp_limit_exceeded|\w*spend_limit_reached)")
"""A rate limit that does not pass by waiting: the operator has to act."""
_TOO_LONG = re.compile(r"prompt is too long|exceeds?\b.{0,40}\bcontext|context (length|window|size)", re.IGNORECASE)
_OF_A_FILE = re.compile(r"\b(images?|pdfs?|documents?|media.type|pixels|vision|multi-?modal|mmproj)\b", re.IGNORECASE)
"""What servers name when they cannot take in a picture or a document, some of them with a status of 500."""
_CODE = re.compile(r"[A-Za-z0-9_.-]{1,80}")
Credential = Literal["bearer", "x-api-key"]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A server, the key for it, and what it can do. Anything beyond a plain request is off for unknown servers."""

    url: str
    key: str
    credential: Credential = "bearer"
    caching: bool = False
    mcp: tuple[McpServer, ...] = ()
    """Servers that it asks itself, where their tools are offered."""

    @classmethod
    def at(
        cls, url: str, key: str, *, credential: Credential = "bearer", caching: Literal["auto", "on", "off"] = "auto"
    ) -> Endpoint:
        """What is known of the server at this address."""
        is_official = urlsplit(url).hostname == urlsplit(ANTHROPIC_URL).hostname
        return cls(url, key, credential, caching == "on" or (caching == "auto" and is_official))


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
            default_headers=_credential(endpoint),
        )

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def window(self, model: str) -> int:
        """How many tokens the model can take in, asked once at start; a common size where the server does not say."""
        try:
            card = await self._client.models.retrieve(model, timeout=CARD_SECONDS)
        except _FAILURES as error:
            log.info("the window of %s is not known, taken for %d tokens: %s", model, USUAL_WINDOW, classify(error))
            return USUAL_WINDOW
        if getattr(card, "lifecycle", "active") != "active":
            log.warning("%s is %s and ends on %.10s: choose another MODEL", model, card.lifecycle, card.retires_at)
        return getattr(card, "max_input_tokens", None) or USUAL_WINDOW

    async def complete(
        self,
        request: Request,
        on_text: Callable[[str], None],
        on_start: Callable[[Usage], None] = unbilled,
        on_tool: Callable[[str], None] = unseen,
    ) -> Completion:
        """Call the model once, streaming. Raises a ModelError that carries the usage known so far."""
        billed: list[Usage] = []

        def start(usage: Usage) -> None:
            billed.append(usage)
            on_start(usage)

        try:
            completion = await self._heard(body(request, self._endpoint), on_text, start, on_tool)
        except _FAILURES as error:
            failure = classify(error)
        else:
            if completion is not None:
                return completion
            failure = ModelBusy("the stream ended without a stop reason")
        failure.usage = billed[-1] if billed else None
        raise failure

    async def _heard(
        self,
        wanted: dict[str, Any],
        on_text: Callable[[str], None],
        on_start: Callable[[Usage], None],
        on_tool: Callable[[str], None],
    ) -> Completion | None:
        """The answer, if it came to a stop; what its start is billed is said at once: a torn one costs too."""
        now = asyncio.get_running_loop().time
        stream_of: Any = (self._client.beta if "betas" in wanted else self._client).messages.stream
        async with asyncio.timeout(self._silence) as limit, stream_of(**wanted) as stream:
            async for event in stream:
                limit.reschedule(now() + self._silence)
                if event.type == "text":
                    on_text(event.text)
                elif event.type == "message_start":
                    on_start(_usage(event.message.usage))
                elif event.type == "content_block_start" and event.content_block.type in _OF_PROVIDER:
                    on_tool(event.content_block.name)
            message = stream.current_message_snapshot
        if message is None or message.stop_reason is None:
            return None
        return Completion(tuple(map(_block, message.content)), message.stop_reason, _usage(message.usage))


def _credential(endpoint: Endpoint) -> Any:
    """One header and never two: some servers refuse both together."""
    if endpoint.credential == "bearer":
        return None
    return {"x-api-key": endpoint.key, "Authorization": anthropic.omit}


def body(request: Request, endpoint: Endpoint) -> dict[str, Any]:
    """The request as this server takes it."""
    system, messages = request.system, request.messages
    wanted: dict[str, Any] = {"model": request.model, "max_tokens": request.max_tokens}
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
    offered = {tool["mcp_server_name"] for tool in request.tools if tool.get("type") == "mcp_toolset"}
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


def _block(block: Any) -> Block:
    """A block as it came; optional fields that are null say nothing, and other servers may not know them."""
    # A warning would quote what does not fit the SDK's types.
    plain: Json = clean(block.to_dict(exclude_none=block.type in _PLAIN, warnings=False))
    return acceptable(plain) if "input" in plain else plain


def _usage(reported: Any) -> Usage:
    """What a server leaves out counts as nothing."""
    return Usage(
        input_tokens=getattr(reported, "input_tokens", 0) or 0,
        output_tokens=getattr(reported, "output_tokens", 0) or 0,
        cache_read_tokens=getattr(reported, "cache_read_input_tokens", 0) or 0,
        cache_write_tokens=getattr(reported, "cache_creation_input_tokens", 0) or 0,
    )


# ------------------------------------------------------------------------------------------------ failures


def classify(error: Exception) -> ModelError:
    """Which of our errors a failure of the SDK is."""
    match error:
        case anthropic.APIStatusError():
            return _classify_status(error)
        case TimeoutError():
            return ModelBusy("the model was silent for too long")
        case AssertionError():
            return ModelBusy("an empty answer: is ANTHROPIC_BASE_URL right, or is a captive portal in the way?")
        case anthropic.CredentialsError():
            return ModelMisconfigured("no usable credentials")
    return ModelBusy(f"the connection or the stream broke: {type(error).__name__}")


def _classify_status(error: anthropic.APIStatusError) -> ModelError:
    message = (
        f"status {error.status_code}, {_code(error.type)}, {_code(error.error_code)}, request {_code(error.request_id)}"
    )
    kind = _kind(error)
    if kind is not ModelBusy:
        return kind(message)
    headers = error.response.headers
    return ModelBusy(message, retry_after=_retry_after(headers), at_once=headers.get("x-should-retry") != "false")


def _kind(error: anthropic.APIStatusError) -> type[ModelError]:
    if error.error_code and _SPENT.fullmatch(error.error_code):
        return ModelMisconfigured
    kind = _BY_TYPE.get(error.type or "", ModelBusy)
    if error.status_code != _INSIDE_A_STREAM and kind is not PromptTooLong:
        default = ModelBusy if error.status_code >= _SERVER_FAULT else ModelMisconfigured
        kind = _BY_STATUS.get(error.status_code, default)
    if kind is not PromptTooLong and error.status_code in _REFUSALS and _OF_A_FILE.search(error.api_message or ""):
        return FilesRefused
    if kind is ModelMisconfigured and _TOO_LONG.search(error.api_message or ""):
        return PromptTooLong
    is_passing = error.response.headers.get("x-should-retry") == "true"
    return ModelBusy if is_passing and kind is ModelMisconfigured else kind


def _code(value: object) -> str:
    """A code is short and has no spaces; whatever else a server put in its place stays out of our log."""
    return value if isinstance(value, str) and _CODE.fullmatch(value) else "-"


def _retry_after(headers: Mapping[str, str]) -> float | None:
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers[name]) * unit
        except (KeyError, ValueError):
            continue
        if math.isfinite(seconds) and seconds >= 0:
            return seconds
    return None
