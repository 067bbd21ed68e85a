"""Groups that Telegram has moved: a basic group that becomes a supergroup gets a new id.

Where a group went is kept once for all. What each Owner has there moves when it is next looked for
and not found, so a plain turn pays nothing for it.
"""

from __future__ import annotations

from contextlib import suppress

from pymongo.asynchronous.database import AsyncDatabase

from bot.errors import Duplicate
from bot.owner import Owner, Place
from bot.store.documents import Document
from bot.store.filters import owned
from bot.store.mongo.driver_gate import DriverGate


class MongoChats:
    """The Chats of a running bot."""

    def __init__(self, database: AsyncDatabase[Document], calls: DriverGate) -> None:
        self._database = database
        self._calls = calls

    async def moved(self, chat_id: int, new_id: int) -> None:
        with suppress(Duplicate):  # two who say so at once: the server lets one of them fail
            async with self._calls:
                await self._database["chats"].update_one(
                    {"_id": chat_id}, {"$set": {"movedTo": new_id}}, upsert=True
                )

    async def follow(self, owner: Owner, place: Place) -> Place | None:
        """Where this place is now, once what the Owner has in it is there, too; None where no group
        has moved.
        """
        if place.is_private:
            return None
        async with self._calls:
            known = await self._database["chats"].find_one(
                {"$or": [{"_id": place.chat_id}, {"movedTo": place.chat_id}]}
            )
        if known is None:
            return None
        left, there = owned(owner, chatId=known["_id"]), {"$set": {"chatId": known["movedTo"]}}
        for kept in ("sessions", "notes"):
            with suppress(Duplicate):  # what has its like there by now stays behind
                async with self._calls:
                    await self._database[kept].update_many(left, there)
        return Place(known["movedTo"], place.thread_id)
