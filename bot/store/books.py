"""What each Owner has used, by day (UTC), in MongoDB: one row for each, one increment for each turn."""

from __future__ import annotations

from datetime import datetime

from pymongo.asynchronous.database import AsyncDatabase

from bot.owner import Owner
from bot.session import Usage
from bot.store import documents
from bot.store.calls import Calls, Duplicate
from bot.store.documents import Document
from bot.store.filters import on_day


class MongoBooks:
    """The Books of a running bot."""

    def __init__(self, database: AsyncDatabase[Document], calls: Calls) -> None:
        self._usage = database["usage"]
        self._calls = calls

    async def add(self, owner: Owner, at: datetime, usage: Usage) -> None:
        try:
            await self._increase(owner, at, usage)
        except Duplicate:  # two first turns of a day at once: the server lets one of them fail
            await self._increase(owner, at, usage)

    async def of(self, owner: Owner, at: datetime) -> Usage:
        async with self._calls:
            row = await self._usage.find_one(on_day(owner, at))
        return documents.to_usage(row or {})

    async def _increase(self, owner: Owner, at: datetime, usage: Usage) -> None:
        async with self._calls:
            await self._usage.update_one(on_day(owner, at), {"$inc": documents.from_usage(usage)}, upsert=True)
