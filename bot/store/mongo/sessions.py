"""Sessions in MongoDB: a load and a commit are one command each, and every filter carries the
Owner.

What is not found in a group is looked for once more where Telegram may have moved that group. The
same code runs over Motor, PyMongo Async and mongomock-motor. The queries of the hot path are in
`queries`, what becomes of a commit in `commits`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import TypeVar

from pymongo import ReturnDocument
from pymongo.asynchronous.database import AsyncDatabase

from bot.errors import AlreadyActive, Duplicate
from bot.owner import Owner, Place
from bot.ports import NOTHING_USED, Hit
from bot.session import Alive, ClosedTurn, CompactionState, Lifetime, Session, Summary
from bot.store import documents
from bot.store.documents import Document
from bot.store.filters import active, id_in, owned, seen_from, text_matches
from bot.store.mongo import queries
from bot.store.mongo.chats import MongoChats
from bot.store.mongo.commits import COMMIT_RETRIES, Commits, RetryPolicy
from bot.store.mongo.driver_gate import DriverGate
from bot.usage import Usage

T = TypeVar("T")


class MongoSessions:
    """The SessionStore of a running bot."""

    def __init__(
        self,
        database: AsyncDatabase[Document],
        calls: DriverGate,
        retries: RetryPolicy = COMMIT_RETRIES,
    ) -> None:
        self._sessions = database["sessions"]
        self._calls = calls
        self._chats = MongoChats(database, calls)
        self._commits = Commits(self._sessions, calls, retries)

    async def load(
        self, owner: Owner, place: Place, *, at: datetime, now: datetime, lifetime: Lifetime
    ) -> Session | None:
        return await self._wherever(
            owner,
            place,
            lambda here: self._change(*queries.load(owner, here, at, now, lifetime)),
        )

    async def inspect(
        self, owner: Owner, place: Place, *, unless_over: Alive | None = None
    ) -> Session | None:
        living = queries.living(unless_over)
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
            owner, place, lambda here: self._change(active(owner, here) | over, queries.CLOSED)
        )

    async def close(self, owner: Owner, place: Place) -> Session | None:
        return await self._wherever(
            owner, place, lambda here: self._change(active(owner, here), queries.CLOSED)
        )

    async def erase(self, owner: Owner, place: Place) -> str | None:
        return await self._wherever(owner, place, lambda here: self._delete(active(owner, here)))

    async def commit(self, owner: Owner, session: Session, turn: ClosedTurn) -> None:
        await self._commits.commit(owner, session, turn)

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

    async def follow(self, owner: Owner, place: Place, previous: str) -> bool:
        empty = active(owner, place) | {"nextSeq": 0}
        return await self._update(empty, {"$set": {"previous": previous}})

    async def postpone(self, owner: Owner, session: Session, state: CompactionState) -> None:
        await self._update(
            _at_epoch(owner, session), {"$set": {"compaction": documents.from_compaction(state)}}
        )

    async def find_by_update_ids(
        self, owner: Owner, update_ids: Sequence[int], *, unless_over: Alive | None = None
    ) -> Session | None:
        where = queries.recover(owner, update_ids, unless_over)
        async with self._calls:
            found = await self._sessions.find_one(where, sort=[("lastActive", -1)])
        return documents.to_session(found) if found else None

    async def exists(self, owner: Owner, session_id: str) -> bool:
        async with self._calls:
            return (
                await self._sessions.find_one(owned(owner, _id=session_id), {"_id": 1}) is not None
            )

    async def seen_from(self, owner: Owner, place: Place, unless_over: Alive) -> Sequence[str]:
        where = seen_from(owner, place) | queries.living(unless_over)
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

    async def _change(self, where: Document, update: Document | list[Document]) -> Session | None:
        async with self._calls:
            found = await self._sessions.find_one_and_update(
                where, update, return_document=ReturnDocument.AFTER
            )
        return documents.to_session(found) if found else None

    async def _update(self, where: Document, update: Document) -> bool:
        async with self._calls:
            result = await self._sessions.update_one(where, update)
        return result.matched_count == 1


def _at_epoch(owner: Owner, session: Session) -> Document:
    """The Session as long as no other compactor has won."""
    return owned(owner, _id=session.id) | queries.unchanged_summary(session)
