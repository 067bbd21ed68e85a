"""The answers of the emulated model, and the short functions that a test writes them with.

    server.script("Hello", call("remember", {"text": "tea"}), calls(call(...), call(...)),
    think("Hmm.", "Yes"))

A test then reads like a dialogue. Tool ids are given out when the answer is sent, fresh for every
request, as the real API does, so that code which relies on ids being the same after a retry fails
here too.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Text:
    """Words."""

    text: str

    def wire(self) -> dict[str, Any]:
        """The block as the API returns it."""
        return {"type": "text", "text": self.text}

    @property
    def written(self) -> str:
        """What the model had to write for it."""
        return self.text


@dataclass(frozen=True, slots=True)
class Thought:
    """Thinking; the server signs it.

    `shown` is what the client gets of it: usually nothing, though all is billed.
    """

    text: str
    shown: str = ""
    signature: str = ""

    def wire(self) -> dict[str, Any]:
        """The block as the API returns it."""
        return {"type": "thinking", "thinking": self.shown, "signature": self.signature}

    @property
    def written(self) -> str:
        """What the model had to write for it."""
        return self.text


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of a tool. `partial`: the JSON as far as it was written, where it is not whole."""

    name: str
    input: Json = field(default_factory=dict)
    id: str = ""
    partial: str | None = None

    def wire(self) -> dict[str, Any]:
        """The block as the API returns it."""
        return {"type": "tool_use", "id": self.id, "name": self.name, "input": dict(self.input)}

    @property
    def written(self) -> str:
        """What the model had to write for it."""
        return json.dumps(self.input, ensure_ascii=False) if self.partial is None else self.partial


@dataclass(frozen=True, slots=True)
class Whole:
    """Any other block: it arrives in one piece, without deltas."""

    block: Json

    def wire(self) -> dict[str, Any]:
        """The block as the API returns it."""
        return dict(self.block)

    @property
    def written(self) -> str:
        """What the model had to write for it: nothing of what a tool of the server has answered."""
        return "" if "tool_use_id" in self.block else json.dumps(self.block, ensure_ascii=False)


Piece = Text | Thought | ToolCall | Whole


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer of the model. Without a `stop` it ends as such an answer naturally does."""

    blocks: tuple[Piece, ...] = ()
    stop: str = ""
    stop_sequence: str | None = None
    details: Json | None = None

    @property
    def stop_reason(self) -> str:
        """Why the model stopped."""
        natural = (
            "tool_use" if any(isinstance(block, ToolCall) for block in self.blocks) else "end_turn"
        )
        return self.stop or natural

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The tool calls in it."""
        return tuple(block for block in self.blocks if isinstance(block, ToolCall))

    def ending(self, stop: str, *blocks: Piece) -> Answer:
        """The same answer with another stop reason, and more blocks at its end."""
        return replace(self, blocks=(*self.blocks, *blocks), stop=stop)


def say(text: str) -> Answer:
    """Words, and the end of the turn."""
    return Answer((Text(text),))


def call(name: str, arguments: Json | None = None, *, text: str = "") -> Answer:
    """One tool call, possibly with words before it."""
    words = (Text(text),) if text else ()
    return Answer((*words, ToolCall(name, arguments or {})))


def calls(*answers: Answer) -> Answer:
    """Several calls in one answer."""
    return Answer(tuple(block for answer in answers for block in answer.blocks))


def think(thought: str, answer: Answer | str) -> Answer:
    """Thinking before an answer."""
    answer = say(answer) if isinstance(answer, str) else answer
    return replace(answer, blocks=(Thought(thought), *answer.blocks))
