"""Sessions in MongoDB: a load and a commit are one command each, and every filter carries the
Owner.

A commit is compare-and-set on `revision` and never an upsert, so a Session that was closed, erased
or has expired cannot come back. Its outcome is unknown after a lost connection: what is stored is
then read and decides, before the same write is tried again. A cancelled commit runs to its end,
since stopping it half-way would only hide what became of it. What is not found in a group is looked
for once more where Telegram may have moved that group. The same code runs over Motor, PyMongo Async
and mongomock-motor.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from pymongo import ReturnDocument
from pymongo.asynchronous.database import AsyncDatabase

from bot.errors import AlreadyActive, SessionGone, StoreUnavailable
from bot.owner import Owner, Place
from bot.ports import NOTHING_USED, Hit
from bot.session import Alive, ClosedTurn, CompactionState, Lifetime, Session, Summary, Usage
from bot.store import documents, turn_documents
from bot.store.documents import Document
from bot.store.filters import active, alive, id_in, owned, seen_from, text_matches
from bot.store.mongo.chats import MongoChats
from bot.store.mongo.driver_gate import DriverGate, Duplicate, Uncertain, within

T = TypeVar("T")

_CLOSED = {"$set": {"status": "closed"}, "$inc": {"revision": 1}}


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How long a commit may take in all, and the pauses before each look at what became of it."""

    seconds: float = 30.0
    pauses: Sequence[float] = (0.1, 0.2, 0.4, 0.8, 1.6, 2.0)


class MongoSessions:
    """The SessionStore of a running bot."""

    def __init__(
        self,
        database: AsyncDatabase[Document],
        calls: DriverGate,
        patience: RetryPolicy = RetryPolicy(),
    ) -> None:
        self._sessions = database["sessions"]
        self._calls = calls
        self._chats = MongoChats(database, calls)
        self._patience = patience

    async def load(
        self, owner: Owner, place: Place, *, at: datetime, now: datetime, lifetime: Lifetime
    ) -> Session | None:
        living = alive(lifetime, at, now)
        touched = {"$max": {"lastActive": now}}
        return await self._wherever(
            owner, place, lambda here: self._change(active(owner, here) | living, touched)
        )

    async def inspect(
        self, owner: Owner, place: Place, *, unless_over: Alive | None = None
    ) -> Session | None:
        living = _alive(unless_over)
        return await self._wherever(
            owner, place, lambda here: self._look(active(owner, here) | living)
        )

    async def create(self, owner: Owner, session: Session) -> None:
        document = documents.from_session(session) | owned(owner)
        try:
            async with self._calls:
                await self._sessions.insert_one(document)
        except Duplicate:
            if not await self.exists(owner, session.id):
                raise AlreadyActive from None

    async def expire(
        self, owner: Owner, place: Place, *, at: datetime, now: datetime, lifetime: Lifetime
    ) -> Session | None:
        idle, old = (
            {"lastActive": {"$lt": at - lifetime.idle}},
            {"createdAt": {"$lt": now - lifetime.max_age}},
        )
        over = {"$or": [idle, old]}
        return await self._wherever(
            owner, place, lambda here: self._change(active(owner, here) | over, _CLOSED)
        )

    async def close(self, owner: Owner, place: Place) -> Session | None:
        return await self._wherever(
            owner, place, lambda here: self._change(active(owner, here), _CLOSED)
        )

    async def erase(self, owner: Owner, place: Place) -> str | None:
        return await self._wherever(owner, place, lambda here: self._delete(active(owner, here)))

    async def commit(self, owner: Owner, session: Session, turn: ClosedTurn) -> None:
        turn = turn_documents.as_stored(turn)
        turn_documents.require_room(session, turn)
        where = owned(owner, _id=session.id, status="active", revision=session.revision)
        if turn.replaces is not None:
            where |= _unchanged_summary(session)
        await _to_the_end(self._commit(owner, where, session, turn))

    async def replace_summary(
        self,
        owner: Owner,
        session: Session,
        summary: Summary,
        state: CompactionState,
        usage: Usage = NOTHING_USED,
    ) -> bool:
        update = {
            "$pull": {"messages": {"seq": {"$lte": summary.up_to}}},
            "$set": {
                "summary": documents.from_summary(summary),
                "compaction": documents.from_compaction(state),
            },
            "$inc": documents.more_usage(usage),
        }
        return await self._update(_at_epoch(owner, session), update)

    async def postpone(self, owner: Owner, session: Session, state: CompactionState) -> None:
        await self._update(
            _at_epoch(owner, session), {"$set": {"compaction": documents.from_compaction(state)}}
        )

    async def find_by_update_ids(
        self, owner: Owner, update_ids: Sequence[int], *, unless_over: Alive | None = None
    ) -> Session | None:
        """Asked only after a crash, so it walks the Owner's few Sessions rather than cost each
        commit an index.
        """
        known = {"turns": {"$in": [int(update_id) for update_id in update_ids]}}
        async with self._calls:
            found = await self._sessions.find_one(
                owned(owner) | known | _alive(unless_over), sort=[("lastActive", -1)]
            )
        return documents.to_session(found) if found else None

    async def exists(self, owner: Owner, session_id: str) -> bool:
        async with self._calls:
            return (
                await self._sessions.find_one(owned(owner, _id=session_id), {"_id": 1}) is not None
            )

    async def seen_from(self, owner: Owner, place: Place, unless_over: Alive) -> Sequence[str]:
        where = seen_from(owner, place) | _alive(unless_over)
        async with self._calls:
            found = await self._sessions.find(where, {"_id": 1}).to_list(None)
        return [document["_id"] for document in found]

    async def search(
        self, owner: Owner, session_ids: Sequence[str], wanted: Sequence[str], maximum: int
    ) -> Sequence[Hit]:
        """The server picks the Sessions in which all the words occur; which messages have them is
        looked up here.
        """
        where = id_in(owner, "_id", session_ids) | text_matches(wanted, "messages.content")
        async with self._calls:
            found = await self._sessions.find(where, {"messages": 1}).to_list(None)
        return documents.latest(documents.hits_in(found, wanted), maximum)

    async def _wherever(
        self, owner: Owner, place: Place, operation: Callable[[Place], Awaitable[T | None]]
    ) -> T | None:
        found = await operation(place)
        if found is None and (moved := await self._chats.follow(owner, place)) is not None:
            found = await operation(moved)
        return found

    async def _look(self, where: Document) -> Session | None:
        async with self._calls:
            found = await self._sessions.find_one(where)
        return documents.to_session(found) if found else None

    async def _delete(self, where: Document) -> str | None:
        async with self._calls:
            found = await self._sessions.find_one_and_delete(where, {"_id": 1})
        return found["_id"] if found else None

    async def _change(self, where: Document, update: Document) -> Session | None:
        async with self._calls:
            found = await self._sessions.find_one_and_update(
                where, update, return_document=ReturnDocument.AFTER
            )
        return documents.to_session(found) if found else None

    async def _update(self, where: Document, update: Document) -> bool:
        async with self._calls:
            result = await self._sessions.update_one(where, update)
        return result.matched_count == 1

    async def _commit(
        self, owner: Owner, where: Document, session: Session, turn: ClosedTurn
    ) -> None:
        update = turn_documents.turn_update(session, turn)
        async with within(self._patience.seconds):
            try:
                if not await self._update(where, update):
                    raise SessionGone
            except Uncertain:
                await self._find_out(owner, where, session, turn)
        session.absorb(turn)

    async def _find_out(
        self, owner: Owner, where: Document, session: Session, turn: ClosedTurn
    ) -> None:
        """Return once the turn is known to be stored.

        Session ids are random, so they spread the replicas' tries.
        """
        update = turn_documents.turn_update(session, turn)
        for pause in self._patience.pauses:
            await asyncio.sleep(pause * (0.5 + int(session.id[:2], 16) / 256))
            with suppress(StoreUnavailable):
                if await self._has(owner, session, turn) or await self._update(where, update):
                    return
        raise StoreUnavailable("MongoDB did not say what became of a turn.")

    async def _has(self, owner: Owner, session: Session, turn: ClosedTurn) -> bool:
        async with self._calls:
            found = await self._sessions.find_one(owned(owner, _id=session.id))
        if found and turn_documents.contains_turn(found, turn):
            return True
        if not found or found["status"] != "active" or found["revision"] != session.revision:
            raise SessionGone
        return False


def _alive(unless_over: Alive | None) -> Document:
    return alive(unless_over.lifetime, unless_over.at, unless_over.at) if unless_over else {}


def _at_epoch(owner: Owner, session: Session) -> Document:
    """The Session as long as no other compactor has won."""
    return owned(owner, _id=session.id) | _unchanged_summary(session)


def _unchanged_summary(session: Session) -> Document:
    return {"summary.epoch": session.epoch} if session.summary else {"summary": None}


async def _to_the_end(work: Coroutine[Any, Any, None]) -> None:
    """Await `work`; a cancellation is passed on only once `work` has ended."""
    task = asyncio.ensure_future(work)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task})
        task.exception()
        raise
