"""What the server refuses to store: the `$jsonSchema` of each collection.

The dates are the point: a document whose `lastActive` is absent, null or text would never expire.
"""

from __future__ import annotations

from bot.store.turn_documents import MAX_MESSAGES

Rule = dict[str, object]

_ID: Rule = {"bsonType": "objectId"}
_INT: Rule = {"bsonType": ["int", "long"]}
_INT_OR_NULL: Rule = {"bsonType": ["int", "long", "null"]}
_COUNT: Rule = {**_INT, "minimum": 0}
_TEXT: Rule = {"bsonType": "string"}
_BOOL: Rule = {"bsonType": "bool"}
_DATE: Rule = {"bsonType": "date"}
_DATE_OR_NULL: Rule = {"bsonType": ["date", "null"]}


def _record(**fields: Rule) -> Rule:
    """Exactly these fields, all of them required."""
    return {
        "bsonType": "object",
        "required": list(fields),
        "additionalProperties": False,
        "properties": fields,
    }


def _or_null(record: Rule) -> Rule:
    return {**record, "bsonType": ["object", "null"]}


def _list(items: Rule, **limits: int) -> Rule:
    return {"bsonType": "array", "items": items, **limits}


_BLOCK: Rule = {"bsonType": "object", "required": ["type"], "properties": {"type": _TEXT}}
_MESSAGE: dict[str, Rule] = {
    "seq": _COUNT,
    "turn": _INT,
    "role": {"enum": ["user", "assistant"]},
    "content": _list(_BLOCK),
    "at": _DATE,
    "tokens": _COUNT,
}
_SUMMARY = _record(
    text={**_TEXT, "maxLength": 32_000},
    upTo=_INT,
    epoch={**_INT, "minimum": 1},
    tokens=_COUNT,
    model=_TEXT,
    at=_DATE,
    gaps=_list(_record(**{"from": _INT, "to": _INT})),
)
_TASK = _record(
    goal=_TEXT,
    steps=_list(_record(text=_TEXT, status={"enum": ["open", "doing", "done", "dropped"]})),
    facts=_list(_record(name=_TEXT, value=_TEXT)),
)
_USED: dict[str, Rule] = {
    "inputTokens": _COUNT,
    "outputTokens": _COUNT,
    "cacheReadTokens": _COUNT,
    "cacheWriteTokens": _COUNT,
    "turns": _COUNT,
}

_CONTEXT = {**_record(tokens=_COUNT, epoch=_COUNT, model=_TEXT), "required": ["tokens", "epoch"]}
"""A replica of the version before writes no model."""

_SESSION: dict[str, Rule] = {
    "_id": {**_TEXT, "pattern": "^[0-9a-f]{32}$"},
    "ownerId": _INT,
    "chatId": _INT,
    "threadId": _INT_OR_NULL,
    "status": {"enum": ["active", "closed"]},
    "title": _TEXT,
    "createdAt": _DATE,
    "lastActive": _DATE,
    "revision": _COUNT,
    "nextSeq": _COUNT,
    "messages": _list(_record(**_MESSAGE), maxItems=MAX_MESSAGES),
    "summary": _or_null(_SUMMARY),
    "task": _or_null(_TASK),
    "turns": _list(_INT),
    "usage": _record(**_USED),
    "context": _CONTEXT,
    "compaction": _record(fails=_COUNT, nextAt=_DATE_OR_NULL, recent=_list(_DATE)),
    "schemaVersion": _INT,
}
SESSIONS: Rule = {
    "$jsonSchema": {**_record(**_SESSION, previous=_TEXT), "required": list(_SESSION)}
}
"""Few Sessions follow another dialogue."""
_ARCHIVED: dict[str, Rule] = {"_id": _ID, "ownerId": _INT, "sessionId": _TEXT, **_MESSAGE}
ARCHIVE: Rule = {
    "$jsonSchema": {**_record(**_ARCHIVED, expiresAt=_DATE), "required": list(_ARCHIVED)}
}
"""A replica of the version before says in each row when it ends."""
NOTES: Rule = {
    "$jsonSchema": _record(
        _id=_ID, ownerId=_INT, chatId=_INT_OR_NULL, text=_TEXT, at=_DATE, operationId=_TEXT
    )
}
OWNERS: Rule = {
    "$jsonSchema": {
        "bsonType": "object",
        "required": ["_id"],
        "additionalProperties": False,
        "properties": {"_id": _INT, "model": _TEXT, "persona": _TEXT, "unreachable": _DATE},
    }
}
CHATS: Rule = {"$jsonSchema": _record(_id=_INT, movedTo=_INT)}
_HOLDS = _list(_record(turn=_INT, tokens=_COUNT, at=_DATE))
USAGE: Rule = {
    "$jsonSchema": {
        **_record(_id=_ID, ownerId=_INT, day=_DATE, **_USED, holds=_HOLDS),
        "required": ["_id", "ownerId", "day", *_USED],
    }
}
"""Where there is no budget, nothing is ever set aside."""
MODELS: Rule = {
    "$jsonSchema": _record(
        _id=_TEXT, tokenRatio={"bsonType": "double"}, fixedTokens={"bsonType": "double"}
    )
}
INBOX: Rule = {
    "$jsonSchema": {
        "bsonType": "object",
        "required": [
            "_id",
            "lane",
            "ownerId",
            "kind",
            "state",
            "receivedAt",
            "fence",
            "sent",
            "effects",
        ],
        "additionalProperties": False,
        "properties": {
            "_id": _INT,
            "lane": _TEXT,
            "ownerId": _INT,
            "kind": {"enum": ["content", "command", "press", "edit"]},
            "cancels": _BOOL,
            "gathers": _BOOL,
            "update": {"bsonType": "object"},
            "message": _INT_OR_NULL,
            "replaces": _record(turn=_INT, part=_COUNT, of=_COUNT),
            "state": {
                "enum": [
                    "queued",
                    "done",
                    "failed",
                    "budget",
                    "cancelled",
                    "dead",
                    "refused",
                    "offered",
                ]
            },
            "receivedAt": _DATE,
            "doneAt": _DATE,
            "turn": _INT,
            "fence": _COUNT,
            "sent": _list({"bsonType": ["int", "long", "string"]}),
            "effects": _list(
                {
                    **_record(tool=_TEXT, argsHash=_TEXT, result=_TEXT),
                    "required": ["tool", "argsHash"],
                }
            ),
            "previews": _list(_INT),
            "transcripts": _list(_record(file=_TEXT, words=_TEXT)),
            "preview": _INT_OR_NULL,  # written by the version before
        },
    }
}
LANES: Rule = {
    "$jsonSchema": {
        "bsonType": "object",
        "required": [
            "_id",
            "ownerId",
            "ready",
            "arrivals",
            "leaseBy",
            "leaseUntil",
            "fence",
            "tries",
            "lastSeen",
        ],
        "additionalProperties": False,
        "properties": {
            "_id": _TEXT,
            "ownerId": _INT,
            "share": _TEXT,
            "ready": _BOOL,
            "arrivals": _COUNT,
            "leaseBy": {"bsonType": ["string", "null"]},
            "leaseUntil": _DATE,
            "fence": _COUNT,
            "tries": _COUNT,
            "deathsAlone": _COUNT,
            "cancel": _record(before=_INT),
            "uncertain": _INT,
            "acted": _list(_INT),
            "titlePrompt": _record(message=_INT, sessionId=_TEXT),
            "unreachable": _BOOL,
            "lastSeen": _DATE,
        },
    }
}
LEASES: Rule = {"$jsonSchema": _record(_id=_TEXT, by=_TEXT, until=_DATE)}
SETTINGS: Rule = {
    "$jsonSchema": _record(
        _id=_TEXT, idleSeconds=_COUNT, maxAgeSeconds=_COUNT, resumeSeconds=_COUNT
    )
}
"""What the overview has to know of the bot's settings."""
