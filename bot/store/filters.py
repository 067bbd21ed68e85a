"""Filters that carry the Owner: the one way a query of this package begins.

Only equality with a plain value can be said here, so a mapping such as ``{"$ne": ""}`` that slipped in as an id is
refused before a command is made. Limits on dates are added by the store that needs them.
"""

from __future__ import annotations

from typing import Any

from bot.owner import Owner, Place


def owned(owner: Owner, **equal: str | int | None) -> dict[str, Any]:
    """What belongs to `owner` and has these values."""
    if not isinstance(owner, Owner):
        raise TypeError(f"an Owner is needed, not {type(owner).__name__}")
    for name, value in equal.items():
        if not isinstance(value, str | int | None) or isinstance(value, bool):
            raise TypeError(f"{name} must be a plain value, not {type(value).__name__}")
    return {"ownerId": owner.id, **equal}


def active(owner: Owner, place: Place) -> dict[str, Any]:
    """The active Session of an Owner in a Place; the literal status is what makes its index usable."""
    return owned(owner, chatId=place.chat_id, threadId=place.thread_id, status="active")


def noted(owner: Owner, place: Place, **equal: str) -> dict[str, Any]:
    """An Owner's Notes that may be seen in a Place: a group's own, or (chat null) the private ones."""
    return owned(owner, chatId=None if place.is_private else place.chat_id, **equal)
