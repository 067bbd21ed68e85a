"""Who may do what only one process may do: poll Telegram, for one.

A lease is a document with an end, by the server's clock. Its holder renews it well before; when the
holder dies, the next one that asks gets it after at most one lease time. Loss shows as a renewal
that finds somebody else's name.
"""

from __future__ import annotations

from pymongo.asynchronous.database import AsyncDatabase

from bot.errors import Duplicate
from bot.store.documents import Document
from bot.store.mongo.driver_gate import DriverGate, within
from bot.store.mongo.queries import NEVER, LeaseOwner


class MongoLease:
    """One named lease, as this process may hold it."""

    def __init__(
        self, database: AsyncDatabase[Document], calls: DriverGate, name: str, holder: LeaseOwner
    ) -> None:
        self._leases = database["leases"]
        self._calls = calls
        self._name = name
        self._holder = holder

    async def take(self) -> bool:
        """Take or renew it; whether it is ours now.

        Asked in vain for half its time, it counts as lost.
        """
        async with within(self._holder.lease_seconds / 2):
            return await self._renew() or (await self._found() and await self._renew())

    async def _renew(self) -> bool:
        free = {
            "_id": self._name,
            "$or": [{"by": self._holder.id}, {"$expr": {"$lt": ["$until", "$$NOW"]}}],
        }
        until = {"$add": ["$$NOW", int(self._holder.lease_seconds * 1000)]}
        async with self._calls:
            taken = await self._leases.update_one(
                free, [{"$set": {"by": self._holder.id, "until": until}}]
            )
        return taken.matched_count == 1

    async def _found(self) -> bool:
        """Make the lease, over already, where nobody ever held one: an upsert may not ask the
        server's clock.
        """
        try:
            async with self._calls:
                await self._leases.insert_one({"_id": self._name, "by": "", "until": NEVER})
        except Duplicate:
            return False
        return True

    async def drop(self) -> None:
        """Give it up, so that the next one need not wait for its end."""
        async with within(self._holder.lease_seconds / 2), self._calls:
            await self._leases.delete_one({"_id": self._name, "by": self._holder.id})
