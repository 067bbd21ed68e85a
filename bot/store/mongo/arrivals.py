"""What comes into the inbox: entries are inserted, then announced to their lanes; only then may
Telegram forget the updates.

A crash between the two is mended by the repetition, which finds them inserted and announces them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from pymongo.asynchronous.collection import AsyncCollection

from bot.errors import Duplicate
from bot.ports import Clock, Entry
from bot.store.documents import Document
from bot.store.mongo import queries
from bot.store.mongo.driver_gate import PROMPTLY, DriverGate, within
from bot.store.mongo.entries import from_entry

REVISABLE = ("queued", "failed", "budget", "offered")
"""States of an entry whose message may still be read."""


class Arrivals:
    """The way into the inbox."""

    def __init__(
        self,
        entries: AsyncCollection[Document],
        lanes: AsyncCollection[Document],
        calls: DriverGate,
        clock: Clock,
    ) -> None:
        self._entries = entries
        self._lanes = lanes
        self._calls = calls
        self._clock = clock

    async def put(self, entries: Sequence[Entry]) -> bool:
        """Insert and announce; False when some of the ids are known already."""
        async with within(PROMPTLY):
            are_new = await self._insert(entries)
            waiting = entries if are_new else await self._waiting(entries)
            lanes = {
                entry.lane.id: [other for other in waiting if other.lane == entry.lane]
                for entry in waiting
            }
            await asyncio.gather(
                *(self._announce(lane, arrived) for lane, arrived in lanes.items())
            )
        return are_new

    async def revise(self, edit: Entry) -> None:
        """Replace a message by its edited form in the earlier entries that may still be read."""
        message = edit.update["message"]
        same = {
            "_id": {"$lt": edit.id},
            "lane": edit.lane.id,
            "state": {"$in": list(REVISABLE)},
            "message": message["message_id"],
            "update": {"$type": "object"},
            "update.message.edit_date": {"$not": {"$gt": message.get("edit_date")}},
        }
        async with within(PROMPTLY), self._calls:
            await self._entries.update_many(same, {"$set": {"update.message": dict(message)}})

    async def _insert(self, entries: Sequence[Entry]) -> bool:
        try:
            async with self._calls:
                await self._entries.insert_many(
                    [from_entry(entry) for entry in entries], ordered=False
                )
        except Duplicate:
            return False
        return True

    async def _waiting(self, entries: Sequence[Entry]) -> list[Entry]:
        where = queries.unfinished([entry.id for entry in entries])
        async with self._calls:
            found = await self._entries.find(where, {"_id": 1}).to_list(None)
        ids = {entry["_id"] for entry in found}
        return [entry for entry in entries if entry.id in ids]

    async def _announce(self, lane: str, arrived: Sequence[Entry]) -> None:
        where, update = queries.announce(lane, arrived, self._clock.now())
        try:
            await self._upsert(where, update)
        except Duplicate:  # two first announcements at once: the server lets one of them fail
            await self._upsert(where, update)

    async def _upsert(self, where: Document, update: Document | list[Document]) -> None:
        async with self._calls:
            await self._lanes.update_one(where, update, upsert=True)
