"""Observes Sessions from outside, as an operator could: by watching their collection.

A change stream reports every single write. A standalone server has none, so it is polled twice a
second, which misses only a load that is followed by a commit at once. Each Session is reduced to an
Outline without words, and an event is the difference between two Outlines.

It ends when its event is set and is never cancelled: PyMongo takes a cancellation for a broken
connection and resumes the stream.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from pymongo.asynchronous.collection import AsyncCollection
from pymongo.asynchronous.database import AsyncDatabase
from pymongo.errors import OperationFailure, PyMongoError

from bot.demo.event_log import About, EventLog
from bot.demo.json_values import to_json
from bot.ports import Clock

ASK_SECONDS = 0.5
AWAIT_MILLISECONDS = 250
Document = dict[str, Any]
Fields = Mapping[str, Any]
_WANTED = {
    "ownerId": 1, "chatId": 1, "threadId": 1, "status": 1, "revision": 1, "lastActive": 1, "summary.epoch": 1,  # noqa: E501
    "compaction.fails": 1, "compaction.nextAt": 1, "messages.seq": 1,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Outline:
    """Everything about a Session but its words."""

    about: About
    status: str
    revision: int
    last_active: datetime
    epoch: int
    messages: int
    fails: int
    next_at: datetime | None


def outline(document: Document) -> Outline:
    """The Outline of a document, whole or as `_WANTED` shows it."""
    compaction = document.get("compaction") or {}
    place = document["chatId"], document.get("threadId")
    return Outline(
        about=About(document["ownerId"], *place, document["_id"]),
        status=document["status"],
        revision=document["revision"],
        last_active=document["lastActive"],
        epoch=(document.get("summary") or {}).get("epoch", 0),
        messages=len(document["messages"]),
        fails=compaction.get("fails", 0),
        next_at=compaction.get("nextAt"),
    )


def after(before: Outline, change: Fields) -> Outline:
    """The Outline once the `updateDescription` of a change stream has been applied."""
    fields = change["updatedFields"]
    return replace(
        before,
        status=fields.get("status", before.status),
        revision=fields.get("revision", before.revision),
        last_active=fields.get("lastActive", before.last_active),
        epoch=_inner(fields, "summary", "epoch", before.epoch),
        messages=_length(before.messages, change),
        fails=_inner(fields, "compaction", "fails", before.fails),
        next_at=_inner(fields, "compaction", "nextAt", before.next_at),
    )


def _now(before: Outline | None, change: Document) -> Outline | None:
    """Return the Outline after one event of a change stream, or None if the Session is gone."""
    match change["operationType"]:
        case "insert" | "replace":
            return outline(change["fullDocument"])
        case "update" if before is not None:
            return after(before, change["updateDescription"])
    return None


def _inner(fields: Fields, outer: str, inner: str, otherwise: Any) -> Any:
    """Return a nested field, whether the change names it alone or its whole parent."""
    whole = fields.get(outer)
    return whole[inner] if whole else fields.get(f"{outer}.{inner}", otherwise)


def _length(before: int, change: Fields) -> int:
    """Count the messages after a change: replaced, truncated, or set one by one."""
    fields = change["updatedFields"]
    if "messages" in fields:
        return len(fields["messages"])
    cut: list[int] = [
        array["newSize"]
        for array in change.get("truncatedArrays", ())
        if array["field"] == "messages"
    ]
    places = (name.removeprefix("messages.") for name in fields if name.startswith("messages."))
    return max([*(cut or [before]), *(int(place) + 1 for place in places if place.isdecimal())])


class ChangeStream:
    """Notes in the event log what happens to the Sessions of one database."""

    def __init__(
        self,
        database: AsyncDatabase[Document],
        event_log: EventLog,
        clock: Clock,
        idle: timedelta,
        ask_seconds: float = ASK_SECONDS,
    ) -> None:
        self._sessions: AsyncCollection[Document] = database["sessions"]
        self._event_log = event_log
        self._clock = clock
        self._idle = idle
        self._ask_seconds = ask_seconds
        self._known: dict[str, Outline] = {}
        self._begun = False

    async def run(self, leave: asyncio.Event) -> None:
        """Watch until `leave` is set, and try again when the server was away."""
        look = self._follow
        while not leave.is_set():
            try:
                await look(leave)
            except OperationFailure:
                look = self._ask
            except PyMongoError:
                await asyncio.sleep(self._ask_seconds)

    async def _follow(self, leave: asyncio.Event) -> None:
        async with await self._sessions.watch(max_await_time_ms=AWAIT_MILLISECONDS) as stream:
            await self._compare()  # what happened before the stream was open
            while not leave.is_set():
                if (change := await stream.try_next()) is not None:
                    session_id = change["documentKey"]["_id"]
                    self._learn(session_id, _now(self._known.get(session_id), change))

    async def _ask(self, leave: asyncio.Event) -> None:
        while not leave.is_set():
            await self._compare()
            await asyncio.sleep(self._ask_seconds)

    async def _compare(self) -> None:
        """Compare all Sessions with their last Outlines; those of the first look are no events."""
        found = {
            document["_id"]: outline(document)
            async for document in self._sessions.find({}, _WANTED)
        }
        if not self._begun:
            self._begun, self._known = True, dict(found)
        for session_id in {**self._known, **found}:
            self._learn(session_id, found.get(session_id))

    def _learn(self, session_id: str, now: Outline | None) -> None:
        before = self._known.pop(session_id, None)
        if now is not None:
            self._known[session_id] = now
        for what, fields in self._happened(before, now):
            told = now or before
            self._event_log.note(what, told.about if told else About(session=session_id), **fields)

    def _happened(
        self, before: Outline | None, now: Outline | None
    ) -> Iterator[tuple[str, dict[str, Any]]]:
        if before is None or now is None:
            if before is not now:
                yield ("reset" if now is None else "created"), {}
            return
        if now.status != before.status:
            idle = self._clock.now() - before.last_active > self._idle
            yield ("expired" if idle else "closed"), {"revision": now.revision}
            return
        if now.revision != before.revision:
            yield "committed", {"revision": now.revision, "messages": now.messages}
        elif now.last_active != before.last_active:
            yield "loaded", {"revision": now.revision}
        if now.epoch != before.epoch:
            yield "compacted", {"from": before.messages, "to": now.messages, "epoch": now.epoch}
        elif now.fails > before.fails:
            yield "summariser-failed", {"fails": now.fails, "nextAt": to_json(now.next_at)}
