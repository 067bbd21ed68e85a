"""Notes in memory."""

from __future__ import annotations

from collections.abc import Sequence

from bot.owner import Owner, Place
from bot.ports import Note
from bot.store import people_documents
from bot.store.documents import Document
from bot.store.filters import visible_notes
from bot.store.memory.rows import matching


class MemoryNotes:
    """Notes in a list."""

    def __init__(self) -> None:
        self._rows: list[Document] = []

    async def add(self, owner: Owner, place: Place, note: Note) -> None:
        row = people_documents.from_note(note) | visible_notes(owner, place)
        if not any(matching(self._rows, visible_notes(owner, place, operationId=note.id))):
            self._rows.append(row)

    async def of(self, owner: Owner, place: Place) -> Sequence[Note]:
        rows = matching(self._rows, visible_notes(owner, place))
        return sorted(map(people_documents.to_note, rows), key=lambda note: note.at)

    async def remove(self, owner: Owner, place: Place, note_id: str) -> bool:
        row = next(matching(self._rows, visible_notes(owner, place, operationId=note_id)), None)
        if row is None:
            return False
        self._rows.remove(row)
        return True
