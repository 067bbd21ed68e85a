"""Notes in MongoDB. A unique operation id per Owner and chat makes a repeated "remember" harmless."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from pymongo.asynchronous.database import AsyncDatabase

from bot.owner import Owner, Place
from bot.ports import Note
from bot.store import personal
from bot.store.calls import Calls, Duplicate
from bot.store.documents import Document
from bot.store.filters import noted


class MongoNotes:
    """The Notes of a running bot."""

    def __init__(self, database: AsyncDatabase[Document], calls: Calls) -> None:
        self._notes = database["notes"]
        self._calls = calls

    async def add(self, owner: Owner, place: Place, note: Note) -> None:
        with suppress(Duplicate):
            async with self._calls:
                await self._notes.insert_one(noted(owner, place) | personal.from_note(note))

    async def of(self, owner: Owner, place: Place) -> Sequence[Note]:
        async with self._calls:
            rows = await self._notes.find(noted(owner, place)).sort([("at", 1), ("_id", 1)]).to_list(None)
        return [personal.to_note(row) for row in rows]

    async def remove(self, owner: Owner, place: Place, note_id: str) -> bool:
        async with self._calls:
            result = await self._notes.delete_one(noted(owner, place, operationId=note_id))
        return result.deleted_count == 1
