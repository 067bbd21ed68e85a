"""What is asked without an Owner, and only by the hourly job: which archive rows have lost their
Session.

This is the one query across people. It reads ids only, no text, and deletes each orphan by its
Owner and Session. It cannot take a row too many: rows are written after their Session, and the id
of an erased Session never comes back.
"""

from __future__ import annotations

from pymongo.asynchronous.database import AsyncDatabase

from bot.store.documents import Document
from bot.store.mongo.driver_gate import DriverGate

Pair = tuple[int, str]


async def sweep_archive(
    database: AsyncDatabase[Document], calls: DriverGate, batch: int = 500
) -> int:
    """Delete the archive of Sessions that no longer exist; the number of rows that went."""
    swept, last = 0, (0, "")
    while pairs := await _archived_after(database, calls, last, batch):
        for owner_id, session_id in sorted(pairs - await _existing(database, calls, pairs)):
            rows = {"ownerId": owner_id, "sessionId": session_id}
            async with calls:
                result = await database["archive"].delete_many(rows)
            swept += result.deleted_count
        last = max(pairs)
    return swept


async def _archived_after(
    database: AsyncDatabase[Document], calls: DriverGate, last: Pair, batch: int
) -> set[Pair]:
    """The next Sessions with archived rows, in the order of the archive's index."""
    owner, session = last
    beyond = {
        "$or": [{"ownerId": owner, "sessionId": {"$gt": session}}, {"ownerId": {"$gt": owner}}]
    }
    order = [("ownerId", 1), ("sessionId", 1), ("seq", 1)]
    async with calls:
        found = database["archive"].find(beyond, {"ownerId": 1, "sessionId": 1}).sort(order)
        found = found.limit(batch)
        return {(row["ownerId"], row["sessionId"]) for row in await found.to_list(None)}


async def _existing(
    database: AsyncDatabase[Document], calls: DriverGate, pairs: set[Pair]
) -> set[Pair]:
    async with calls:
        found = database["sessions"].find(
            {"_id": {"$in": sorted(pair[1] for pair in pairs)}}, {"ownerId": 1}
        )
        return {(row["ownerId"], row["_id"]) for row in await found.to_list(None)}
