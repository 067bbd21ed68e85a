"""Who may do what only one process may do: poll Telegram, for one.

A lease is a document with an end, by the server's clock. Its holder renews it well before; when the holder dies, the
next one that asks gets it after at most one lease time. Loss shows as a renewal that finds somebody else's name.
"""

from __future__ import annotations

from pymongo import ReturnDocument
from pymongo.asynchronous.database import AsyncDatabase

from bot.store.calls import Calls, Duplicate
from bot.store.documents import Document
from bot.store.inbox import Holder


class MongoLease:
    """One named lease, as this process may hold it."""

    def __init__(self, database: AsyncDatabase[Document], calls: Calls, name: str, holder: Holder) -> None:
        self._leases = database["leases"]
        self._calls = calls
        self._name = name
        self._holder = holder

    async def take(self) -> bool:
        """Take or renew it; whether it is ours now."""
        free = {"_id": self._name, "$or": [{"by": self._holder.id}, {"$expr": {"$lt": ["$until", "$$NOW"]}}]}
        until = {"$add": ["$$NOW", int(self._holder.lease_seconds * 1000)]}
        try:
            async with self._calls:
                taken = await self._leases.find_one_and_update(
                    free,
                    [{"$set": {"by": self._holder.id, "until": until}}],
                    upsert=True,
                    return_document=ReturnDocument.AFTER,
                )
        except Duplicate:  # it exists and is somebody else's
            return False
        return taken is not None

    async def drop(self) -> None:
        """Give it up, so that the next one need not wait for its end."""
        async with self._calls:
            await self._leases.delete_one({"_id": self._name, "by": self._holder.id})
