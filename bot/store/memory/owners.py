"""What is known of Owners, in memory."""

from __future__ import annotations

from datetime import datetime

from bot.owner import Owner
from bot.ports import Preferences
from bot.store import people_documents
from bot.store.documents import Document, bson_datetime
from bot.store.filters import owner_document


class MemoryOwners:
    """Owners in a dict."""

    def __init__(self) -> None:
        self._rows: dict[int, Document] = {}

    async def preferences(self, owner: Owner) -> Preferences:
        return people_documents.to_preferences(self._rows.get(owner_document(owner)["_id"], {}))

    async def prefer(self, owner: Owner, preferences: Preferences) -> None:
        self._row(owner).update(people_documents.from_preferences(preferences))

    async def unreachable(self, owner: Owner, at: datetime) -> None:
        self._row(owner)["unreachable"] = bson_datetime(at)

    async def reached(self, owner: Owner) -> None:
        self._row(owner).pop("unreachable", None)

    def _row(self, owner: Owner) -> Document:
        return self._rows.setdefault(owner_document(owner)["_id"], {})
