"""An Answer as the events of a stream, and the frame of a message that is not streamed.

Text comes in small pieces with a very small first one, tool input in odd-sized pieces of JSON that
break inside words and numbers, thinking with its signature last; usage in `message_delta` is
cumulative. What a server may do besides sending events (wait, stall, drop the connection) is a step
of the same list, so that a fault is a list operation.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, cycle, repeat
from typing import Any

from bot.standins.claude.answers import Answer, Piece, Text, Thought, ToolCall, Whole

TEXT_SIZES = (2, 5, 11)
TEXT_SIZE = 24
JSON_SIZES = (1, 3, 7, 2, 11)
_WRITTEN = ("text", "thinking", "partial_json")
"""The fields of a delta that the model writes."""


@dataclass(frozen=True, slots=True)
class Event:
    """A server-sent event."""

    name: str
    body: Mapping[str, Any]
    written: str = ""
    """What the model has written for it, shown or not: it is billed, whoever goes away before the
    end.
    """

    def encode(self) -> bytes:
        """The bytes on the wire."""
        return f"event: {self.name}\ndata: {json.dumps(self.body, ensure_ascii=False)}\n\n".encode()


@dataclass(frozen=True, slots=True)
class Chunk:
    """Bytes that are no proper event."""

    raw: bytes
    written: str = ""

    def encode(self) -> bytes:
        """The bytes on the wire."""
        return self.raw


@dataclass(frozen=True, slots=True)
class Wait:
    """A pause."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Stall:
    """Nothing more, and the connection stays open."""


@dataclass(frozen=True, slots=True)
class Drop:
    """The connection breaks."""


Step = Event | Chunk | Wait | Stall | Drop


def event(name: str, **fields: Any) -> Event:
    """An event whose body names its own type, as all do."""
    return Event(name, {"type": name, **fields})


def message_frame(
    message_id: str, model: str, answer: Answer, usage: Mapping[str, Any]
) -> dict[str, Any]:
    """The message as it is returned without streaming."""
    return {
        "id": message_id,
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [block.wire() for block in answer.blocks],
        "stop_reason": answer.stop_reason,
        "stop_sequence": answer.stop_sequence,
        "stop_details": answer.details,
        "usage": dict(usage),
    }


def stream_steps(frame: Mapping[str, Any], answer: Answer) -> Iterator[Step]:
    """The events of a whole, healthy stream."""
    usage = frame["usage"]
    begun = {
        **frame,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "stop_details": None,
    }
    yield event("message_start", message={**begun, "usage": {**usage, "output_tokens": 1}})
    for index, block in enumerate(answer.blocks):
        whole = block.written if isinstance(block, Whole) else ""
        yield replace(
            event("content_block_start", index=index, content_block=_opening(block)), written=whole
        )
        if index == 0:
            yield event("ping")
        for hidden in pieces(_hidden(block), repeat(TEXT_SIZE)):
            yield replace(event("ping"), written=hidden)
        for delta in _deltas(block):
            written = next((delta[name] for name in _WRITTEN if name in delta), "")
            yield replace(event("content_block_delta", index=index, delta=delta), written=written)
        yield event("content_block_stop", index=index)
    ending = {key: frame[key] for key in ("stop_reason", "stop_sequence", "stop_details")}
    yield event("message_delta", delta=ending, usage=_cumulative(usage))
    yield event("message_stop")


def _hidden(block: Piece) -> str:
    """Thinking of which the client hears nothing but that the connection is alive."""
    return block.text if isinstance(block, Thought) and not block.shown else ""


def _cumulative(usage: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in usage.items() if key.endswith("_tokens")}


def _opening(block: Piece) -> dict[str, Any]:
    empty: dict[type, dict[str, Any]] = {
        Text: {"text": ""},
        Thought: {"thinking": "", "signature": ""},
        ToolCall: {"input": {}},
        Whole: {},
    }
    return {**block.wire(), **empty[type(block)]}


def _deltas(block: Piece) -> Iterator[dict[str, Any]]:
    match block:
        case Text(text):
            for piece in pieces(text, chain(TEXT_SIZES, repeat(TEXT_SIZE))):
                yield {"type": "text_delta", "text": piece}
        case Thought(_, shown, signature):
            for piece in pieces(shown, repeat(TEXT_SIZE)):
                yield {"type": "thinking_delta", "thinking": piece}
            yield {"type": "signature_delta", "signature": signature}
        case ToolCall():
            yield {"type": "input_json_delta", "partial_json": ""}
            for piece in pieces(block.written, cycle(JSON_SIZES)):
                yield {"type": "input_json_delta", "partial_json": piece}


def pieces(text: str, sizes: Iterator[int]) -> Iterator[str]:
    """`text` cut into pieces of these sizes."""
    start = 0
    while start < len(text):
        size = next(sizes)
        yield text[start : start + size]
        start += size


def delta_places(steps: Sequence[Step], kind: str) -> list[int]:
    """Where in `steps` the deltas of one kind stand."""
    return [
        place
        for place, step in enumerate(steps)
        if isinstance(step, Event) and step.body.get("delta", {}).get("type") == kind
    ]
