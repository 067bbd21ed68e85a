"""Entries that were given up: which there are, and how they are tried again, by an admin or by
whoever sent them.

Nothing of what people wrote is read here. A requeued entry looks like one whose holder died: what
its turn may have committed or sent is looked up before anything is done again.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from pymongo.asynchronous.database import AsyncDatabase

from bot.owner import Lane
from bot.store.documents import Document, bson_datetime
from bot.store.mongo.collections import GIVEN_UP
from bot.store.mongo.driver_gate import DriverGate

MAX_LISTED = 200
_WAITS_AGAIN: Document = {"$set": {"state": "queued"}, "$unset": {"doneAt": "", "turn": ""}}
REQUEUED = "requeued"
"""Stand-in lease owner of a requeued entry's lane: somebody who did not give it back."""


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """One entry that was given up. The lane names whose it is and where: owner, chat, thread."""

    id: int
    lane: str
    kind: str
    state: str
    at: datetime


class MongoDeadLetters:
    """The dead letters of a running bot."""

    def __init__(self, database: AsyncDatabase[Document], calls: DriverGate) -> None:
        self._database = database
        self._calls = calls

    async def latest(self) -> list[DeadLetter]:
        """The latest of them, latest first."""
        shown = {"lane": 1, "kind": 1, "state": 1, "doneAt": 1}
        async with self._calls:
            given_up = self._database["inbox"].find(
                {"state": {"$in": list(GIVEN_UP)}, "doneAt": {"$type": "date"}}, shown
            )
            found = await given_up.sort("doneAt", -1).limit(MAX_LISTED).to_list(None)
        return [
            DeadLetter(one["_id"], one["lane"], one["kind"], one["state"], one["doneAt"])
            for one in found
        ]

    async def requeue(self, update_id: int, now: datetime) -> bool:
        """Have an entry handled again, once however many admins ask; whether it waits now.

        One that waits already is announced once more: an earlier `requeue` may have been cut off in
        between.
        """
        async with self._calls:
            await self._database["inbox"].update_one(
                {"_id": update_id, "state": {"$in": list(GIVEN_UP)}, "update": {"$type": "object"}},
                _WAITS_AGAIN,
            )
            entry = await self._database["inbox"].find_one(
                {"_id": update_id, "state": "queued"}, {"lane": 1, "ownerId": 1}
            )
        if entry is not None:
            await self._announce(entry, now)
        return entry is not None

    async def try_again(self, lane: Lane, turn: int) -> bool:
        """Have a turn of this lane that was given up handled again, once however often its person
        asks.

        Returns whether it waits now. Whoever asks holds the lane and goes on with what waits in it,
        so nothing needs to be announced.
        """
        given_up = {"lane": lane.id, "ownerId": lane.owner.id, "state": {"$in": list(GIVEN_UP)}}
        its_turn = {"kind": "content", "turn": turn, "update": {"$type": "object"}}
        async with self._calls:
            again = await self._database["inbox"].update_many(given_up | its_turn, _WAITS_AGAIN)
        return again.matched_count > 0

    async def _announce(self, entry: Document, now: datetime) -> None:
        """Tell its lane; the lane may be held just now, or have expired."""
        lanes, arrived = self._database["lanes"], {"$inc": {"arrivals": 1}}
        nobody = {
            "leaseBy": None,
            "leaseUntil": bson_datetime(now),
            "fence": 0,
            "tries": 0,
            "ready": False,
            "arrivals": 0,
        }
        made = {
            **nobody,
            "ownerId": entry["ownerId"],
            "share": str(entry["ownerId"]),
            "lastSeen": bson_datetime(now),
        }
        async with self._calls:
            await lanes.update_one({"_id": entry["lane"]}, {"$setOnInsert": made}, upsert=True)
            await lanes.update_one(
                {"_id": entry["lane"], "leaseBy": None}, {"$set": {"leaseBy": REQUEUED}}
            )
            await lanes.update_one({"_id": entry["lane"]}, {"$set": {"ready": True}, **arrived})
