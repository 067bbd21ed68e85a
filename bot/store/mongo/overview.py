"""The view without any text, and the lifetimes by which it tells what is over.

An admin sees a Session as its Owner does: expired from the moment it is over, whenever the server's
clean-up comes. The lifetimes are settings of the bot, so each start writes them where the view
reads them; neither an admin's rights nor a new view are needed when they change.
"""

from __future__ import annotations

from collections.abc import Mapping

from pymongo.asynchronous.database import AsyncDatabase

from bot.session import Lifetime
from bot.store.documents import Document
from bot.store.mongo.driver_gate import DriverGate

_LIFETIME = "lifetime"


async def publish_lifetime(
    database: AsyncDatabase[Document], calls: DriverGate, lifetime: Lifetime
) -> None:
    """Let the view tell what is over by these lifetimes."""
    seconds = {
        "idleSeconds": int(lifetime.idle.total_seconds()),
        "maxAgeSeconds": int(lifetime.max_age.total_seconds()),
        "resumeSeconds": int(lifetime.resume.total_seconds()),
    }
    async with calls:
        await database["settings"].update_one({"_id": _LIFETIME}, {"$set": seconds}, upsert=True)


def _seconds_since(field: str) -> Document:
    return {"$toInt": {"$dateDiff": {"startDate": field, "endDate": "$$NOW", "unit": "second"}}}


def _later(field: str, *seconds: object) -> Document:
    return {
        "$dateAdd": {"startDate": field, "unit": "second", "amount": {"$add": [*seconds]}},
    }


_MAY_IDLE: Document = {
    "$cond": [{"$eq": ["$status", "active"]}, 0, "$lifetime.resumeSeconds"],
}
"""What a Session may be idle beyond the limit: a closed one, as long as it may be resumed."""
_EXPIRES_AT: Document = {
    "$min": [
        _later("$createdAt", "$lifetime.maxAgeSeconds"),
        _later("$lastActive", "$lifetime.idleSeconds", _MAY_IDLE),
    ]
}
_STATUS: Document = {
    "$let": {
        "vars": {"end": {"$ifNull": [_EXPIRES_AT, "$$NOW"]}},
        "in": {"$cond": [{"$lt": ["$$end", "$$NOW"]}, "expired", "$status"]},
    }
}
SHOWN: Mapping[str, object] = {
    "ownerId": 1,
    "chatId": 1,
    "threadId": 1,
    "status": _STATUS,
    "createdAt": 1,
    "lastActive": 1,
    "expiresAt": _EXPIRES_AT,
    "ageSeconds": _seconds_since("$createdAt"),
    "idleSeconds": _seconds_since("$lastActive"),
    "revision": 1,
    "messages": {"$size": "$messages"},
    "archived": {"$subtract": ["$nextSeq", {"$size": "$messages"}]},
    "contextTokens": "$context.tokens",
    "summary": {
        "tokens": "$summary.tokens",
        "epoch": "$summary.epoch",
        "upTo": "$summary.upTo",
        "gaps": {"$size": {"$ifNull": ["$summary.gaps", []]}},
    },
    "compactionFails": "$compaction.fails",
    "steps": {"$size": {"$ifNull": ["$task.steps", []]}},
    "usage": 1,
    "schemaVersion": 1,
}
"""What an admin's read-only role may see of a Session: ids, ages, counts, tokens, and no text."""
_LOOK_UP_LIFETIME: Document = {
    "$lookup": {
        "from": "settings",
        "pipeline": [{"$match": {"_id": _LIFETIME}}],
        "as": "lifetime",
    }
}

OVERVIEW: Mapping[str, Document] = {
    "sessions_overview": {
        "viewOn": "sessions",
        "pipeline": [
            _LOOK_UP_LIFETIME,
            {"$unwind": {"path": "$lifetime", "preserveNullAndEmptyArrays": True}},
            {"$project": SHOWN},
        ],
    }
}
