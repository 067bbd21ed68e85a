"""Owner, Place and Lane: who talks, where, and the queue of the two together.

An Owner is made in `telegram/inbound/identity.py` only, from the authenticated sender of an
update. It is a type of its own so that no loose id, and no mapping such as ``{"$ne": ""}``, can
stand where a query expects one.
"""

from __future__ import annotations

from dataclasses import dataclass

ASIDE = ":aside"


def _require_int(name: str, value: object) -> None:
    """Refuse all but integers; a `bool` is one in Python, and True would equal the id 1."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{name} must be an int, not {type(value).__name__}")


@dataclass(frozen=True, slots=True)
class Owner:
    """The authenticated Telegram user a Session belongs to."""

    id: int

    def __post_init__(self) -> None:
        _require_int("Owner.id", self.id)
        if self.id <= 0:
            raise ValueError("Owner.id must be positive: chats are negative, users are not")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a conversation goes on: a chat and, inside it, a topic."""

    chat_id: int
    thread_id: int | None = None

    def __post_init__(self) -> None:
        _require_int("Place.chat_id", self.chat_id)
        if self.thread_id is not None:
            _require_int("Place.thread_id", self.thread_id)

    @property
    def is_private(self) -> bool:
        """Whether it is a private chat, whose id is its user's and positive; groups have negative
        ids.
        """
        return self.chat_id > 0


@dataclass(frozen=True, slots=True)
class Lane:
    """The queue of one Owner in one Place: ordered inside, parallel to all others."""

    owner: Owner
    place: Place
    aside: bool = False
    """Beside the talk: what can be answered at once, whatever runs in it (`/help`)."""

    @property
    def id(self) -> str:
        """The lane's key, readable for an admin: ``owner:chat:thread``, and ``:aside`` for commands
        that run aside.
        """
        main = f"{self.owner.id}:{self.place.chat_id}:{self.place.thread_id or ''}"
        return f"{main}{ASIDE}" if self.aside else main

    @property
    def share(self) -> str:
        """The share of the workers that it counts against: ``owner`` or ``owner:aside``."""
        return f"{self.owner.id}{ASIDE}" if self.aside else str(self.owner.id)
