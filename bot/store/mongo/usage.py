"""What each Owner has used, by day (UTC), in MongoDB: one row for each, one increment for each
turn.

To reserve is one command, in which the server decides: replicas cannot promise the same tokens
twice.
"""

from __future__ import annotations

from datetime import datetime

from pymongo import ReturnDocument
from pymongo.asynchronous.database import AsyncDatabase

from bot.errors import Duplicate
from bot.owner import Owner
from bot.ports import Reservation
from bot.store import documents
from bot.store.documents import Document, bson_datetime
from bot.store.filters import on_day
from bot.store.mongo.driver_gate import PROMPTLY, DriverGate, within
from bot.usage import Usage


class MongoUsage:
    """The UsageStore of a running bot."""

    def __init__(self, database: AsyncDatabase[Document], calls: DriverGate) -> None:
        self._usage = database["usage"]
        self._calls = calls

    async def add(self, owner: Owner, at: datetime, usage: Usage, turn: int) -> None:
        update = {"$inc": documents.from_usage(usage), "$pull": {"holds": {"turn": turn}}}
        try:
            await self._update(owner, at, update)
        except Duplicate:  # two first turns of a day at once: the server lets one of them fail
            await self._update(owner, at, update)

    async def reserve(self, owner: Owner, at: datetime, hold: Reservation, budget: int) -> int:
        pipeline = reserving(hold, at, budget)
        try:
            row = await self._change(owner, at, pipeline)
        except Duplicate:
            row = await self._change(owner, at, pipeline)
        others: int = sum(one["tokens"] for one in row["holds"] if one["turn"] != hold.turn)
        return max(min(budget - documents.to_usage(row).tokens - others, hold.maximum), 0)

    async def of(self, owner: Owner, at: datetime) -> Usage:
        async with self._calls:
            row = await self._usage.find_one(on_day(owner, at))
        return documents.to_usage(row or {})

    async def _update(self, owner: Owner, at: datetime, update: Document) -> None:
        async with (
            within(PROMPTLY),
            self._calls,
        ):  # of a turn that failed its person has not been told yet
            await self._usage.update_one(on_day(owner, at), update, upsert=True)

    async def _change(self, owner: Owner, at: datetime, pipeline: list[Document]) -> Document:
        async with self._calls:
            row = await self._usage.find_one_and_update(
                on_day(owner, at), pipeline, upsert=True, return_document=ReturnDocument.AFTER
            )
        return row or {}


def reserving(hold: Reservation, at: datetime, budget: int) -> list[Document]:
    """The update that grants a reservation what is left of it; too little changes nothing."""
    counters = documents.from_usage(Usage())
    alive = {
        "$filter": {
            "input": {"$ifNull": ["$holds", []]},
            "cond": {"$gt": ["$$this.at", bson_datetime(at - hold.keep)]},
        }
    }
    others = {"$filter": {"input": "$holds", "cond": {"$ne": ["$$this.turn", hold.turn]}}}
    used = [f"${name}" for name in counters if name != "turns"]
    left = {"$subtract": [budget, {"$add": [*used, {"$sum": "$$others.tokens"}]}]}
    mine = [
        {"turn": hold.turn, "tokens": {"$min": ["$$left", hold.maximum]}, "at": bson_datetime(at)}
    ]
    granted = {
        "$cond": [
            {"$gte": ["$$left", hold.minimum]},
            {"$concatArrays": ["$$others", mine]},
            "$holds",
        ]
    }
    decided = {"$let": {"vars": {"left": left}, "in": granted}}
    return [
        {"$set": {name: {"$ifNull": [f"${name}", 0]} for name in counters} | {"holds": alive}},
        {"$set": {"holds": {"$let": {"vars": {"others": others}, "in": decided}}}},
    ]
