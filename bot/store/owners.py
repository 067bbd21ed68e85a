"""What Owners have chosen for themselves, in MongoDB: a document for whoever has chosen anything."""

from __future__ import annotations

from pymongo.asynchronous.database import AsyncDatabase

from bot.owner import Owner
from bot.ports import Preferences
from bot.store import personal
from bot.store.calls import Calls, Duplicate
from bot.store.documents import Document
from bot.store.filters import itself


class MongoOwners:
    """The Owners of a running bot."""

    def __init__(self, database: AsyncDatabase[Document], calls: Calls) -> None:
        self._owners = database["owners"]
        self._calls = calls

    async def preferences(self, owner: Owner) -> Preferences:
        async with self._calls:
            row = await self._owners.find_one(itself(owner), {"model": 1, "persona": 1})
        return personal.to_preferences(row or {})

    async def prefer(self, owner: Owner, preferences: Preferences) -> None:
        try:
            await self._set(owner, preferences)
        except Duplicate:  # two first choices at once: the server lets one of them fail
            await self._set(owner, preferences)

    async def _set(self, owner: Owner, preferences: Preferences) -> None:
        async with self._calls:
            await self._owners.update_one(itself(owner), {"$set": personal.from_preferences(preferences)}, upsert=True)
