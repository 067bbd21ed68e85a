"""The message that the events of one stream add up to.

Events are taken as they came on the wire, as plain JSON, so that a block goes back to the provider
exactly as it was sent. The arguments of a tool stay text until their block is whole and are then
parsed once, strictly: a stream may end inside them although it says `tool_use`, and a lenient
parser would make a shorter call of it. What is not one whole JSON object is marked in `malformed`
and never run; in its place stands an empty object, which every server takes back.

An event that does not fit the message raises a LookupError, a TypeError or an AttributeError: the
stream is broken.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

from bot.agent.storable_content import acceptable_name
from bot.content import as_block, clean
from bot.ports import Completion, Json
from bot.ports.model import unbilled, unseen
from bot.usage import Usage

Wire = dict[str, Any]
"""An object as it came over the wire."""
MAX_DEPTH = 32
"""Of objects and lists inside one another in the arguments of a tool."""
_RUN_BY_PROVIDER = frozenset({"server_tool_use", "mcp_tool_use"})
_CALLS = _RUN_BY_PROVIDER | {"tool_use"}
_NULLS_SAY_NOTHING = frozenset({"text", "tool_use", "mcp_tool_use", "mcp_tool_result"})
_USAGE_FIELDS = {
    "input_tokens": "input_tokens",
    "output_tokens": "output_tokens",
    "cache_read_tokens": "cache_read_input_tokens",
    "cache_write_tokens": "cache_creation_input_tokens",
}


@dataclass(slots=True)
class StreamedMessage:
    """A message while it arrives. The callbacks are those of `Model.complete`."""

    on_text: Callable[[str], None]
    on_start: Callable[[Usage], None] = unbilled
    on_tool: Callable[[str], None] = unseen
    on_hidden: Callable[[str], None] = unseen
    usage: Usage | None = None
    """As far as it was reported; None until the message has begun."""
    stop_reason: str | None = None
    _blocks: list[Wire] = field(default_factory=list)
    _arguments: dict[int, list[str]] = field(default_factory=dict)

    def add(self, event: Json) -> None:
        """Take in the next event; kinds that nobody knows are passed over."""
        match event["type"]:
            case "message_start":
                self.usage = _reported(Usage(), event["message"].get("usage"))
                self.on_start(self.usage)
            case "content_block_start":
                self._open(event["content_block"])
            case "content_block_delta":
                self._grow(event["index"], event["delta"])
            case "message_delta":
                self.stop_reason = event["delta"].get("stop_reason") or self.stop_reason
                self.usage = _reported(self.usage or Usage(), event.get("usage"))

    @property
    def is_thinking_unseen(self) -> bool:
        """Whether the last that came is a thought of which nothing is shown, and that has not
        ended.
        """
        last = self._blocks[-1] if self._blocks else {}
        return last.get("type") == "thinking" and not (
            last.get("thinking") or last.get("signature")
        )

    def completion(self) -> Completion | None:
        """The whole message; None while it has not come to a stop."""
        if self.stop_reason is None:
            return None
        malformed = [self._fill_in(index) for index in self._arguments]
        content = tuple(as_block(_sendable(block)) for block in self._blocks)
        return Completion(
            content, self.stop_reason, self.usage or Usage(), frozenset(filter(None, malformed))
        )

    def _open(self, block: Json) -> None:
        if block["type"] in _CALLS:
            self._arguments[len(self._blocks)] = []
            name = acceptable_name(block["name"]) if block["type"] == "tool_use" else block["name"]
            block = {"input": {}, **block, "id": block["id"], "name": name}
        if block["type"] in _RUN_BY_PROVIDER:
            self.on_tool(block["name"])
        if block["type"] == "text" and block["text"]:
            self.on_text(block["text"])
        self._blocks.append(dict(block))

    def _grow(self, index: int, delta: Json) -> None:
        block = self._blocks[index]
        match delta["type"], block["type"]:
            case "text_delta", "text":
                block["text"] += delta["text"]
                self.on_text(delta["text"])
            case "citations_delta", "text":
                block["citations"] = [*(block.get("citations") or ()), delta["citation"]]
            case "thinking_delta", "thinking":
                block["thinking"] += delta["thinking"]
                self.on_hidden(delta["thinking"])
            case "signature_delta", "thinking":
                block["signature"] = delta["signature"]
            case "input_json_delta", _ if index in self._arguments:
                self._arguments[index].append(delta["partial_json"])
                self.on_hidden(delta["partial_json"])

    def _fill_in(self, index: int) -> str:
        """Give a call the arguments that were written for it; its id where they are malformed, or
        else empty.
        """
        block, written = self._blocks[index], "".join(self._arguments[index])
        given = parse_arguments(written or json.dumps(block["input"]))
        block["input"] = given or {}
        return block["id"] if given is None else ""


def parse_arguments(written: str) -> Wire | None:
    """The arguments of a tool, if this is one whole JSON object and nothing besides."""
    try:
        given = json.loads(
            written, object_pairs_hook=_unambiguous, parse_constant=_no_number, parse_float=_finite
        )
    except (ValueError, RecursionError):
        return None
    return given if isinstance(given, dict) and _is_shallow(given) else None


def _unambiguous(pairs: Iterable[tuple[str, object]]) -> Wire:
    """Of two values under one name nobody can tell which was meant."""
    pairs = list(pairs)
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a name stands twice")
    return dict(pairs)


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def _finite(digits: str) -> float:
    if not math.isfinite(number := float(digits)):
        raise ValueError("a number beyond all bounds")
    return number


def _is_shallow(value: object, left: int = MAX_DEPTH) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return left > 0 and all(_is_shallow(one, left - 1) for one in inner)


def _sendable(block: Json) -> Json:
    """A block as it came; optional fields that are null say nothing, and other servers may not know
    them.
    """
    if block["type"] in _NULLS_SAY_NOTHING:
        block = {
            name: value if name == "input" else _without_nulls(value)
            for name, value in block.items()
        }
        block = {name: value for name, value in block.items() if value is not None}
    tidy: Json = clean(block)
    return tidy


def _without_nulls(value: object) -> object:
    if isinstance(value, dict):
        return {name: _without_nulls(inner) for name, inner in value.items() if inner is not None}
    return [_without_nulls(inner) for inner in value] if isinstance(value, list) else value


def _reported(known: Usage, report: Json | None) -> Usage:
    """What is known after this report: its counts are sums, and what it leaves out stays as it
    was.
    """
    counts = {ours: (report or {}).get(theirs) for ours, theirs in _USAGE_FIELDS.items()}
    return replace(known, **{ours: count for ours, count in counts.items() if count is not None})
