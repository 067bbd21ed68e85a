"""Filters that carry the Owner: the one way a query of this package begins.

Only equality with plain values can be said of a field here, so a mapping such as ``{"$ne": ""}``
that slipped in as an id is refused before a command is made; words that are searched for are
escaped. Limits on dates are added by the store that needs them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from bot.owner import Owner, Place
from bot.ports import Cursor
from bot.session import Alive, Lifetime

Filter = dict[str, object]
"""A query, or a part of one."""


def owned(owner: Owner, **equal: str | int | None) -> Filter:
    """What belongs to `owner` and has these values."""
    if not isinstance(owner, Owner):
        raise TypeError(f"an Owner is needed, not {type(owner).__name__}")
    for name, value in equal.items():
        if not isinstance(value, str | int | None) or isinstance(value, bool):
            raise TypeError(f"{name} must be a plain value, not {type(value).__name__}")
    return {"ownerId": owner.id, **equal}


def owner_document(owner: Owner) -> dict[str, int]:
    """The one document about `owner`."""
    owned(owner)
    return {"_id": owner.id}


def on_day(owner: Owner, at: datetime) -> Filter:
    """What `owner` has used on the day of this moment."""
    return owned(owner) | {"day": day_of(at)}


def day_of(at: datetime) -> datetime:
    """The day of this moment, by its first instant in UTC."""
    return at.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)


def active(owner: Owner, place: Place) -> Filter:
    """The active Session of an Owner in a Place; the literal status is what makes its index
    usable.
    """
    return owned(owner, chatId=place.chat_id, threadId=place.thread_id, status="active")


def alive(lifetime: Lifetime, at: datetime, now: datetime) -> Filter:
    """Sessions that are not over: the one rule, part of each query that shows anything of them.

    Idleness is measured at `at`, which may be when a message was sent, age at `now`.
    """
    young = {"createdAt": {"$gte": now - lifetime.max_age}}
    idle = {"status": "active", "lastActive": {"$gte": at - lifetime.idle}}
    resumable = {"status": "closed", "lastActive": {"$gte": at - lifetime.idle - lifetime.resume}}
    # Said in each branch: beside them, the server would examine each document once more for it.
    return {"$or": [idle | young, resumable | young]}


def visible_notes(owner: Owner, place: Place, **equal: str) -> Filter:
    """An Owner's Notes that may be seen in a Place: a group's own, or (chat null) the private
    ones.
    """
    return owned(owner, chatId=None if place.is_private else place.chat_id, **equal)


def seen_from(owner: Owner, place: Place) -> Filter:
    """The Sessions of any status that may be read in a Place: in private all of the Owner's, in a
    group its own.
    """
    return (
        owned(owner)
        if place.is_private
        else owned(owner, chatId=place.chat_id, threadId=place.thread_id)
    )


def dialogue(owner: Owner, place: Place, session_id: str, unless_over: Alive) -> Filter:
    """One Session that may be seen from a Place and is not over, by an id that is no authority."""
    at = unless_over.at
    lives = alive(unless_over.lifetime, at, at)
    return seen_from(owner, place) | owned(owner, _id=session_id) | lives


def listed(owner: Owner, place: Place, unless_over: Alive, cursor: Cursor | None = None) -> Filter:
    """The Sessions a list shows, from the cursor on; the limits of `lastActive` bound its index."""
    at, lifetime = unless_over.at, unless_over.lifetime
    span: Filter = {"$gte": at - lifetime.idle - lifetime.resume}
    conditions = [alive(lifetime, at, at)]
    if cursor is not None:
        beyond, reach = ("$gt", "$gte") if cursor.newer else ("$lt", "$lte")
        span = {**({} if cursor.newer else span), reach: cursor.at}
        equal = {"lastActive": cursor.at, "_id": {beyond: edge(cursor)}}
        conditions.append({"$or": [{"lastActive": {beyond: cursor.at}}, equal]})
    shown: Filter = {"nextSeq": {"$gt": 0}, "lastActive": span, "$and": conditions}
    return seen_from(owner, place) | shown


def edge(cursor: Cursor) -> str:
    """Sorts behind every id with this start where newer ones are wanted, else before them."""
    return f"{cursor.id_start}g" if cursor.newer else cursor.id_start


def id_in(owner: Owner, field: str, ids: Sequence[str]) -> Filter:
    """What belongs to `owner` and has one of these ids in `field`."""
    for one in ids:
        owned(owner, **{field: one})
    return owned(owner) | {field: {"$in": list(ids)}}


def text_matches(wanted: Sequence[str], content: str) -> Filter:
    """Content whose texts have all `wanted` words or parts of words in them, in any case; each
    taken literally.
    """
    texts = f"{content}.text"
    return (
        {"$and": [{texts: {"$regex": re.escape(part), "$options": "i"}} for part in wanted]}
        if wanted
        else {}
    )


def matches(content: Sequence[Mapping[str, object]], wanted: Sequence[str]) -> bool:
    """The same about content in hand."""
    texts = [str(block["text"]) for block in content if "text" in block]
    return all(
        any(re.search(re.escape(part), text, re.IGNORECASE) for text in texts) for part in wanted
    )
