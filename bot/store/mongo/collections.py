"""What the database is made of: collections with their validators and indexes.

Every query of this package is served by an index named here. Expiry (TTL) is garbage collection
only: what is over is decided by the code that loads it, since the server's sweeper lags a minute
and more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypedDict

from bot.errors import StartError
from bot.store.documents import Document
from bot.store.mongo.validators import (
    ARCHIVE,
    CHATS,
    INBOX,
    LANES,
    LEASES,
    MODELS,
    NOTES,
    OWNERS,
    SESSIONS,
    SETTINGS,
    USAGE,
)

DAY = 86_400
MAX_SECONDS = 2**31 - 1
GIVEN_UP = ("dead", "failed", "budget")
"""The states of dead letters: entries that are not tried again unless somebody asks for it."""
_OF_SESSIONS = "SESSION_TTL_SECONDS + SESSION_RESUME_SECONDS"


class IndexOptions(TypedDict, total=False):
    """What createIndex is told besides the keys."""

    unique: bool
    partialFilterExpression: Mapping[str, object]
    expireAfterSeconds: int


@dataclass(frozen=True, slots=True)
class Index:
    """One index, by name. `options` are createIndex's."""

    name: str
    keys: Mapping[str, int]
    options: IndexOptions = field(default_factory=IndexOptions)


@dataclass(frozen=True, slots=True)
class Collection:
    """One collection with what the server shall enforce on it."""

    name: str
    validator: Document
    indexes: tuple[Index, ...]


@dataclass(frozen=True, slots=True)
class Retention:
    """Seconds until the server deletes: a Session since it was last active, an archived message
    since it was said.

    No document carries its own end, so what is stored already follows a changed setting.
    """

    sessions: int
    archive: int = 40 * DAY


def collections(retention: Retention) -> tuple[Collection, ...]:
    """All collections, in which documents expire as `retention` says."""
    place = {"ownerId": 1, "chatId": 1, "threadId": 1}
    return (
        Collection(
            "sessions",
            SESSIONS,
            (
                Index(
                    "one_active",
                    place,
                    {"unique": True, "partialFilterExpression": {"status": "active"}},
                ),
                Index("owner_recent", {"ownerId": 1, "lastActive": -1, "_id": -1}),
                Index("place_recent", {**place, "lastActive": -1, "_id": -1}),
                Index("by_turn", {"ownerId": 1, "turns": 1}),
                Index(
                    "idle_ttl",
                    {"lastActive": 1},
                    {"expireAfterSeconds": _seconds(_OF_SESSIONS, retention.sessions)},
                ),
            ),
        ),
        Collection(
            "archive",
            ARCHIVE,
            (
                Index("one_of_each", {"ownerId": 1, "sessionId": 1, "seq": 1}, {"unique": True}),
                Index(
                    "expiry",
                    {"at": 1},
                    {"expireAfterSeconds": _seconds("ARCHIVE_DAYS in seconds", retention.archive)},
                ),
            ),
        ),
        Collection(
            "notes",
            NOTES,
            (
                Index(
                    "one_operation", {"ownerId": 1, "chatId": 1, "operationId": 1}, {"unique": True}
                ),
                Index("in_order", {"ownerId": 1, "chatId": 1, "at": 1, "_id": 1}),
            ),
        ),
        Collection("owners", OWNERS, ()),
        Collection(
            "usage",
            USAGE,
            (
                Index("one_a_day", {"ownerId": 1, "day": 1}, {"unique": True}),
                Index("expiry", {"day": 1}, {"expireAfterSeconds": 90 * DAY}),
            ),
        ),
        Collection(
            "inbox",
            INBOX,
            (
                Index("in_lane", {"lane": 1, "state": 1, "_id": 1}),
                Index("of_turn", {"lane": 1, "turn": 1, "_id": 1}),
                Index(
                    "given_up",
                    {"doneAt": -1, "state": 1},
                    {"partialFilterExpression": {"state": {"$in": list(GIVEN_UP)}}},
                ),
                Index("expiry", {"doneAt": 1}, {"expireAfterSeconds": 2 * DAY}),
            ),
        ),
        Collection(
            "lanes",
            LANES,
            (
                Index(
                    "claimable",
                    {"ready": 1, "leaseUntil": 1, "share": 1},
                    {"partialFilterExpression": {"ready": True}},
                ),
                Index("expiry", {"lastSeen": 1}, {"expireAfterSeconds": 90 * DAY}),
            ),
        ),
        Collection("chats", CHATS, (Index("by_new_id", {"movedTo": 1}),)),
        Collection("models", MODELS, ()),
        Collection("leases", LEASES, ()),
        Collection("settings", SETTINGS, ()),
    )


def _seconds(name: str, value: int) -> int:
    """The server takes NaN for "delete all at once", so nothing but a sensible int may reach it."""
    if not isinstance(value, int) or isinstance(value, bool) or not 0 < value <= MAX_SECONDS:
        raise StartError(f"{name} must be a number from 1 to {MAX_SECONDS}.")
    return value
