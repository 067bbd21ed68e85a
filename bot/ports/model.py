"""The language model, in the shapes of the Messages API, and what is known of how it counts
tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from math import ceil
from typing import Any, Literal, Protocol

from bot.content import Block, WireMessage, words
from bot.usage import Usage

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Request:
    """One call of the language model, in the shapes of the Messages API."""

    model: str
    system: str
    messages: Sequence[WireMessage]
    tools: Sequence[Json] = ()
    max_tokens: int = 4096
    tool_choice: Literal["auto", "none"] = "auto"
    end_user: str = ""
    """An opaque name for the Owner; never the Telegram id."""
    thinking: str = ""
    """A type of thinking, and below how hard to try; empty: as the model does by itself."""
    effort: str = ""
    once: bool = False
    """No request that begins alike will follow, so it is not worth a place in the provider's
    cache.
    """


@dataclass(frozen=True, slots=True)
class ModelCard:
    """What a model's provider says of its sizes, in tokens."""

    window: int
    max_tokens: int | None = None
    """The longest answer; None: not told."""


@dataclass(frozen=True, slots=True)
class Completion:
    """A finished call.

    `stop_reason` is never None: a stream that merely ended is a ModelBusy, not a success.
    """

    content: tuple[Block, ...]
    stop_reason: str
    usage: Usage
    malformed: AbstractSet[str] = frozenset()
    """The ids of its tool calls whose arguments were not one whole JSON object; their `input` is
    empty.
    """

    @property
    def text(self) -> str:
        """The words of the completion, its text blocks joined."""
        return words(self.content)


def rough(text: str) -> int:
    """Tokens by the rule of thumb: a little too high for most languages, which is the safe side."""
    return ceil(max(len(text.encode("utf-8", "replace")) / 4, len(text) / 3))


class UsageMeter:
    """What one piece of work owes so far: its calls that have ended, and the one that runs.

    A call that was sent is owed from then on, with our own estimate of its prompt until the
    provider reports a better one. So a call that is cut short, by a failure or by its person, is
    paid for whether or not anything was reported.
    """

    def __init__(self) -> None:
        self._ended = self._running = Usage()
        self._written: list[str] = []

    @property
    def total(self) -> Usage:
        """All of it."""
        return self._ended + self._so_far(self._running)

    def send(self, prompt_tokens: int) -> None:
        """A call is on its way, and its prompt has about so many tokens."""
        self.break_off(None)
        self._running = Usage(input_tokens=prompt_tokens)

    def begin(self, usage: Usage) -> None:
        """The answer has begun, and the provider reports what that costs; nothing at all is no
        report.
        """
        self._running = usage if usage.tokens else self._running

    def write(self, delta: str) -> None:
        """More was written of the answer: words, thinking, or the arguments of a tool."""
        self._written.append(delta)

    def end(self, usage: Usage) -> None:
        """The call was answered to its end, and cost so much; nothing at all is no report."""
        self._close(usage if usage.tokens else self._so_far(self._running))

    def break_off(self, reported: Usage | None) -> None:
        """The call failed or was cut short.

        `reported`: the last that was heard of its cost; None: nothing was.
        """
        self._close(self._so_far(self._running if reported is None else reported))

    def add(self, usage: Usage) -> None:
        """More is owed, whatever runs."""
        self._ended += usage

    def settle(self) -> Usage:
        """All of it, which is owed no more."""
        total = self.total
        self._ended = Usage()
        self._running = Usage()
        self._written.clear()
        return total

    def _so_far(self, usage: Usage) -> Usage:
        """The usage, with no less output than was seen to be written."""
        return replace(usage, output_tokens=max(usage.output_tokens, rough("".join(self._written))))

    def _close(self, usage: Usage) -> None:
        self._ended += usage
        self._running = Usage()
        self._written.clear()


def unbilled(_usage: Usage) -> None:
    """For whoever needs no bill."""


def unseen(_said: str) -> None:
    """For whoever need not know what the provider does, or what is written that nobody reads."""


class Model(Protocol):
    """The port of the language model."""

    async def complete(
        self,
        request: Request,
        on_text: Callable[[str], None],
        on_start: Callable[[Usage], None] = unbilled,
        on_tool: Callable[[str], None] = unseen,
        on_hidden: Callable[[str], None] = unseen,
    ) -> Completion:
        """Call the model once. Raises a ModelError.

        `on_text` gets each piece of text as it arrives; `on_start` gets what is owed as soon as the
        answer begins; `on_tool` the name of each tool that the provider begins to run by itself;
        `on_hidden` each piece of what is written and paid for but read by nobody: thinking, and the
        arguments of tools.
        """


class CountTokens(Protocol):
    """Estimates tokens. Never fails and never asks the network."""

    async def __call__(self, text: str) -> int:
        """The estimated number of tokens of `text`."""


@dataclass(frozen=True, slots=True)
class TokenRatio:
    """How a model's own counts relate to our estimates: `fixed` (tools, system) + `ratio` ×
    estimate.
    """

    ratio: float = 1.35
    fixed: float = 0.0


class TokenRatioStore(Protocol):
    """What was learned of models' token counts."""

    async def load(self, model: str) -> TokenRatio | None:
        """What is known of this model; None: nothing yet."""

    async def save(self, model: str, token_ratio: TokenRatio) -> None:
        """Keep what is known now."""
