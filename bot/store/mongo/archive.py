"""The Archive in MongoDB.

Adding is idempotent by the unique key (Owner, Session, seq), so a crashed compaction may repeat.
A row goes ARCHIVE_DAYS after it was said, and the start requires that these cover a Session's whole
life: no row goes before its Session.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from pymongo.asynchronous.database import AsyncDatabase

from bot.errors import Duplicate
from bot.owner import Owner
from bot.ports import Hit
from bot.session import Message
from bot.store import documents
from bot.store.documents import Document
from bot.store.filters import id_in, owned, text_matches
from bot.store.mongo.driver_gate import DriverGate


class MongoArchive:
    """The Archive of a running bot."""

    def __init__(self, database: AsyncDatabase[Document], calls: DriverGate) -> None:
        self._archive = database["archive"]
        self._calls = calls

    async def add(self, owner: Owner, session_id: str, messages: Sequence[Message]) -> None:
        belongs = owned(owner, sessionId=session_id)
        rows = [belongs | documents.from_message(message) for message in messages]
        if not rows:
            return
        with suppress(Duplicate):
            async with self._calls:
                await self._archive.insert_many(rows, ordered=False)

    async def of(self, owner: Owner, session_id: str) -> Sequence[Message]:
        async with self._calls:
            rows = (
                await self._archive.find(owned(owner, sessionId=session_id))
                .sort("seq", 1)
                .to_list(None)
            )
        return [documents.to_message(row) for row in rows]

    async def search(
        self, owner: Owner, session_ids: Sequence[str], wanted: Sequence[str], maximum: int
    ) -> Sequence[Hit]:
        where = id_in(owner, "sessionId", session_ids) | text_matches(wanted, "content")
        async with self._calls:
            rows = (
                await self._archive.find(where)
                .sort([("at", -1), ("seq", -1)])
                .limit(maximum)
                .to_list(None)
            )
        return [documents.to_hit(row) for row in rows]

    async def erase(self, owner: Owner, session_id: str) -> None:
        async with self._calls:
            await self._archive.delete_many(owned(owner, sessionId=session_id))
