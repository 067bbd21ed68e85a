"""A command that was given, a button that was pressed, and what comes of a press."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from telegram import InlineKeyboardMarkup

from bot.owner import Lane
from bot.telegram.outbound.replies import TelegramReply
from bot.texts import Language

MAX_DIGITS = 18
"""A longer number does not fit into MongoDB's 64 bits."""


@dataclass(frozen=True, slots=True)
class Invocation:
    """A command that somebody gave."""

    lane: Lane
    language: Language
    argument: str
    reply: TelegramReply
    has_stopped_turn: bool = False
    """Whether an answer was being written when it came."""


@dataclass(frozen=True, slots=True)
class Press:
    """Somebody pressed a button that carries this token."""

    lane: Lane
    language: Language
    token: str

    @property
    def number(self) -> int | None:
        """The token as an update id; None where it is none."""
        return _number(self.token)

    @property
    def numbers(self) -> tuple[int, ...]:
        """The token as several update ids; empty where one of them is none."""
        found = [_number(part) for part in self.token.split(":")]
        return tuple(number for number in found if number is not None) if None not in found else ()


@dataclass(frozen=True, slots=True)
class Effect:
    """What comes of a press."""

    answer: str = ""
    """An answer of the model, to be sent."""
    turn: int | None = None
    """The turn it answered."""
    instead: str = ""
    """Our own sentence, which replaces the message with the button."""
    markup: InlineKeyboardMarkup | None = None
    """The buttons below that sentence."""
    asks: str = ""
    """A sentence that asks for words, which the person sends in reply to it."""
    renames: str = ""
    """The Session whose title those words become."""


Command = Callable[[Invocation], Awaitable[None]]
Callback = Callable[[Press], Awaitable[Effect | None]]
"""None: the button has expired for whoever pressed it."""


def _number(token: str) -> int | None:
    return int(token) if token.isascii() and token.isdigit() and len(token) <= MAX_DIGITS else None
