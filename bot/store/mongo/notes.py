"""Notes in MongoDB.

A unique operation id per Owner and chat makes a repeated "remember" harmless.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from pymongo.asynchronous.database import AsyncDatabase

from bot.errors import Duplicate
from bot.owner import Owner, Place
from bot.ports import Note
from bot.store import people_documents
from bot.store.documents import Document
from bot.store.filters import visible_notes
from bot.store.mongo.driver_gate import DriverGate


class MongoNotes:
    """The Notes of a running bot."""

    def __init__(self, database: AsyncDatabase[Document], calls: DriverGate) -> None:
        self._notes = database["notes"]
        self._calls = calls

    async def add(self, owner: Owner, place: Place, note: Note) -> None:
        with suppress(Duplicate):
            async with self._calls:
                await self._notes.insert_one(
                    visible_notes(owner, place) | people_documents.from_note(note)
                )

    async def of(self, owner: Owner, place: Place) -> Sequence[Note]:
        async with self._calls:
            rows = (
                await self._notes.find(visible_notes(owner, place))
                .sort([("at", 1), ("_id", 1)])
                .to_list(None)
            )
        return [people_documents.to_note(row) for row in rows]

    async def remove(self, owner: Owner, place: Place, note_id: str) -> bool:
        async with self._calls:
            result = await self._notes.delete_one(visible_notes(owner, place, operationId=note_id))
        return result.deleted_count == 1
