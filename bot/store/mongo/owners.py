"""What is known of Owners beyond their Sessions, in MongoDB: a document for whoever has chosen
anything, or left.
"""

from __future__ import annotations

from datetime import datetime

from pymongo.asynchronous.database import AsyncDatabase

from bot.errors import Duplicate
from bot.owner import Owner
from bot.ports import Preferences
from bot.store import people_documents
from bot.store.documents import Document, bson_datetime
from bot.store.filters import owner_document
from bot.store.mongo.driver_gate import DriverGate


class MongoOwners:
    """The Owners of a running bot."""

    def __init__(self, database: AsyncDatabase[Document], calls: DriverGate) -> None:
        self._owners = database["owners"]
        self._calls = calls

    async def preferences(self, owner: Owner) -> Preferences:
        async with self._calls:
            row = await self._owners.find_one(owner_document(owner), {"model": 1, "persona": 1})
        return people_documents.to_preferences(row or {})

    async def prefer(self, owner: Owner, preferences: Preferences) -> None:
        await self._keep(owner, people_documents.from_preferences(preferences))

    async def unreachable(self, owner: Owner, at: datetime) -> None:
        await self._keep(owner, {"unreachable": bson_datetime(at)})

    async def reached(self, owner: Owner) -> None:
        async with self._calls:
            await self._owners.update_one(owner_document(owner), {"$unset": {"unreachable": ""}})

    async def _keep(self, owner: Owner, fields: Document) -> None:
        try:
            await self._set(owner, fields)
        except Duplicate:  # two first ones at once: the server lets one of them fail
            await self._set(owner, fields)

    async def _set(self, owner: Owner, fields: Document) -> None:
        async with self._calls:
            await self._owners.update_one(owner_document(owner), {"$set": fields}, upsert=True)
