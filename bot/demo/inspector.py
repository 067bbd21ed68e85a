"""The inspector: shows the Session of one person in one place as it lies in MongoDB.

Every query is made for one Owner with the store's own filters, so it cannot return another person's
words. Documents are shown unchanged, except that dates are ISO 8601.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bson import encode
from pymongo.asynchronous.database import AsyncDatabase

from bot.demo.json_values import to_json
from bot.owner import Owner, Place
from bot.ports import Clock
from bot.session import Lifetime
from bot.store.filters import active, owned, visible_notes

Document = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Inspector:
    """Reads one database."""

    database: AsyncDatabase[Document]
    clock: Clock
    lifetime: Lifetime

    async def session(self, owner: Owner, place: Place) -> Document:
        """Return the active Session and what belongs to it."""
        found = await self.active(owner, place)
        closed = owned(owner, chatId=place.chat_id, threadId=place.thread_id, status="closed")
        archived = owned(owner, sessionId=found["_id"]) if found else None
        notes = (
            self.database["notes"].find(visible_notes(owner, place)).sort([("at", 1), ("_id", 1)])
        )
        return {
            "session": to_json(found),
            "expiresInSeconds": self._left(found) if found else None,
            "archived": await self.database["archive"].count_documents(archived) if archived else 0,
            "earlier": await self.database["sessions"].count_documents(closed),
            "notes": [{"text": note["text"], "at": to_json(note["at"])} async for note in notes],
            "bytes": len(encode(found)) if found else 0,
        }

    async def active(self, owner: Owner, place: Place) -> Document | None:
        """Return the document of the active Session."""
        return await self.database["sessions"].find_one(active(owner, place))

    def _left(self, document: Document) -> float:
        """Seconds until a message would come too late, by idleness or by age."""
        over = min(
            document["lastActive"] + self.lifetime.idle,
            document["createdAt"] + self.lifetime.max_age,
        )
        return float(round((over - self.clock.now()).total_seconds(), 1))
