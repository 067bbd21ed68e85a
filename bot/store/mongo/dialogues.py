"""The dialogues of an Owner in MongoDB: listed by keyset along an index, changed by guarded
updates.

A page costs one command, opening a dialogue three. None is changed before it is known to be the
Owner's own, visible from this Place and not over.
"""

from __future__ import annotations

from pymongo import ReturnDocument
from pymongo.asynchronous.database import AsyncDatabase

from bot.content import clean
from bot.errors import Duplicate, StoreUnavailable
from bot.owner import Owner, Place
from bot.ports import DIALOGUES_A_PAGE, Cursor, DialoguePage, Overview
from bot.session import Alive, Session
from bot.store import documents
from bot.store.documents import Document, bson_datetime
from bot.store.filters import active, dialogue, listed
from bot.store.mongo import queries
from bot.store.mongo.chats import MongoChats
from bot.store.mongo.driver_gate import DriverGate

MAX_TRIES = 3
"""Tries to activate a Session while somebody begins another one in the Place."""
_SHOWN = {
    "title": 1,
    "chatId": 1,
    "threadId": 1,
    "status": 1,
    "createdAt": 1,
    "lastActive": 1,
    "nextSeq": 1,
}


class MongoDialogues:
    """The Dialogues of a running bot."""

    def __init__(self, database: AsyncDatabase[Document], calls: DriverGate) -> None:
        self._sessions = database["sessions"]
        self._calls = calls
        self._chats = MongoChats(database, calls)

    async def page(
        self, owner: Owner, place: Place, alive: Alive, cursor: Cursor | None = None
    ) -> DialoguePage:
        rows = await self._rows(owner, place, alive, cursor)
        if not rows and (moved := await self._chats.follow(owner, place)) is not None:
            rows = await self._rows(owner, moved, alive, cursor)
        return documents.to_page(rows, cursor)

    async def previous(self, owner: Owner, place: Place, alive: Alive) -> Overview | None:
        here = {"chatId": place.chat_id, "threadId": place.thread_id, "status": "closed"}
        async with self._calls:
            found = await self._sessions.find_one(
                listed(owner, place, alive) | here, _SHOWN, sort=_order(-1)
            )
        return documents.to_overview(found) if found else None

    async def find(
        self, owner: Owner, place: Place, session_id: str, alive: Alive
    ) -> Session | None:
        async with self._calls:
            found = await self._sessions.find_one(dialogue(owner, place, session_id, alive))
        return documents.to_session(found) if found else None

    async def activate(
        self, owner: Owner, place: Place, session_id: str, alive: Alive
    ) -> Session | None:
        for _ in range(MAX_TRIES):
            found = await self.find(owner, place, session_id, alive)
            if found is None or (found.status == "active" and found.place == place):
                return found
            await self._close_others(owner, place, session_id)
            try:
                return await self._open(owner, place, session_id, alive)
            except Duplicate:  # somebody has begun another one here meanwhile
                continue
        raise StoreUnavailable("a Session could not be made the active one")

    async def rename(
        self, owner: Owner, place: Place, session_id: str, title: str, alive: Alive
    ) -> bool:
        named = {"$set": {"title": clean(title)}}
        async with self._calls:
            found = await self._sessions.update_one(
                dialogue(owner, place, session_id, alive), named
            )
        return found.matched_count == 1

    async def erase(self, owner: Owner, place: Place, session_id: str, alive: Alive) -> bool:
        async with self._calls:
            found = await self._sessions.delete_one(dialogue(owner, place, session_id, alive))
        return found.deleted_count == 1

    async def _rows(
        self, owner: Owner, place: Place, alive: Alive, cursor: Cursor | None
    ) -> list[Document]:
        """One row more than a page holds, from its first to its last in the cursor's direction."""
        where = listed(owner, place, alive, cursor)
        order = _order(1 if cursor is not None and cursor.newer else -1)
        async with self._calls:
            rows = self._sessions.find(where, _SHOWN).sort(order).limit(DIALOGUES_A_PAGE + 1)
            return await rows.to_list(None)

    async def _close_others(self, owner: Owner, place: Place, session_id: str) -> None:
        others = active(owner, place) | {"_id": {"$ne": session_id}}
        async with self._calls:
            await self._sessions.update_one(others, queries.CLOSED)

    async def _open(
        self, owner: Owner, place: Place, session_id: str, alive: Alive
    ) -> Session | None:
        opened = {
            "$set": {"status": "active", "chatId": place.chat_id, "threadId": place.thread_id},
            "$max": {"lastActive": bson_datetime(alive.at)},
            "$inc": {"revision": 1},
        }
        async with self._calls:
            found = await self._sessions.find_one_and_update(
                dialogue(owner, place, session_id, alive),
                opened,
                return_document=ReturnDocument.AFTER,
            )
        return documents.to_session(found) if found else None


def _order(direction: int) -> list[tuple[str, int]]:
    return [("lastActive", direction), ("_id", direction)]
