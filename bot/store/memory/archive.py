"""The Archive in memory."""

from __future__ import annotations

from collections.abc import Sequence

from bot.owner import Owner
from bot.ports import Hit
from bot.session import Message
from bot.store import documents
from bot.store.documents import Document
from bot.store.filters import matches, owned
from bot.store.memory.rows import matching


class MemoryArchive:
    """An Archive in a dict. Rows never expire here: their TTL is MongoDB's garbage collection."""

    def __init__(self) -> None:
        self._rows: dict[tuple[int, str, int], Document] = {}

    async def add(self, owner: Owner, session_id: str, messages: Sequence[Message]) -> None:
        belongs = owned(owner, sessionId=session_id)
        for message in messages:
            row = belongs | documents.from_message(message)
            self._rows.setdefault((owner.id, session_id, message.seq), row)

    async def of(self, owner: Owner, session_id: str) -> Sequence[Message]:
        rows = matching(self._rows.values(), owned(owner, sessionId=session_id))
        return [documents.to_message(row) for row in sorted(rows, key=lambda row: int(row["seq"]))]

    async def search(
        self, owner: Owner, session_ids: Sequence[str], wanted: Sequence[str], maximum: int
    ) -> Sequence[Hit]:
        rows = [
            row
            for one in session_ids
            for row in matching(self._rows.values(), owned(owner, sessionId=one))
        ]
        return documents.latest(
            [documents.to_hit(row) for row in rows if matches(row["content"], wanted)], maximum
        )

    async def erase(self, owner: Owner, session_id: str) -> None:
        for row in list(matching(self._rows.values(), owned(owner, sessionId=session_id))):
            del self._rows[owner.id, session_id, row["seq"]]
