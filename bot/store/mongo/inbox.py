"""The durable inbox: what was accepted survives every process, and is handled by one worker at a
time.

    put      insert the entry (its unique _id finds a repetition), then announce it to its lane;
    only then may Telegram
             forget the update. A crash between the two is mended by the repetition.
    claim    lease a ready lane whose lease is over, by the server's clock; the fence grows
    next     the entries that wait in the lane, in the order of their ids
    finish   the fate of a batch, if no later holder has touched its entries
    release  not ready any more, unless something was announced since the claim: then there is more
    to do

Every write of a holder carries its fence and misses when a later one has been there, which is a
LaneLost; so a process that wakes up after its lease changes nothing. Before it sends, it looks at
its own clock: `require_lease`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from pymongo import ReturnDocument
from pymongo.asynchronous.database import AsyncDatabase

from bot.errors import LaneLost
from bot.inbox import Batch, Claim, Entry, State
from bot.owner import Lane
from bot.ports import Clock, Json
from bot.store.batches import next_batch
from bot.store.documents import Document, bson_datetime
from bot.store.mongo.driver_gate import PROMPTLY, DriverGate, Duplicate, Uncertain, within
from bot.store.mongo.entries import LaneOf, from_entry, to_entry
from bot.store.mongo.lane_marks import LaneMarks
from bot.store.mongo.turn_records import MongoRecord

log = logging.getLogger(__name__)

READ_AHEAD = 60
UNSETTLED = "unsettled"
"""Who "held" a lane that was given back before it was seen what its last holder, which died, had
left behind.
"""
FORGOTTEN = frozenset({"done", "cancelled", "refused"})
"""Fates after which nobody will want to see the update again."""
CONTENT: Document = {"update": "", "transcripts": ""}
"""The fields that hold a person's words."""
NEVER = datetime(1970, 1, 1, tzinfo=UTC)
RELEASED_AT = {"$dateTrunc": {"date": "$$NOW", "unit": "second", "binSize": 10}}
"""Rounded, so that a claim passes over many waiting lanes of one share in a few steps of the
index.
"""
ONE_LESS = {"$max": [{"$subtract": ["$tries", 1]}, 0]}


@dataclass(frozen=True, slots=True)
class LeaseOwner:
    """This process, as its leases name it, and how long a lease lasts."""

    id: str
    lease_seconds: float


class MongoInbox:
    """The Inbox of a running bot."""

    def __init__(
        self,
        database: AsyncDatabase[Document],
        calls: DriverGate,
        clock: Clock,
        holder: LeaseOwner,
        lane_of: LaneOf,
    ) -> None:
        self.entries = database["inbox"]
        self.calls = calls
        self._lanes = database["lanes"]
        self._clock = clock
        self._holder = holder
        self._lane_of = lane_of
        self._leased_until: dict[str, float] = {}
        self.marks = LaneMarks(self._lanes, calls)
        self._unsure = False
        self._arrived = asyncio.Event()

    # ------------------------------------------------------------------------------------- arriving

    async def put(self, *entries: Entry) -> bool:
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
        self._arrived.set()
        return are_new

    async def _insert(self, entries: Sequence[Entry]) -> bool:
        try:
            async with self.calls:
                await self.entries.insert_many(
                    [from_entry(entry) for entry in entries], ordered=False
                )
        except Duplicate:
            return False
        return True

    async def _waiting(self, entries: Sequence[Entry]) -> list[Entry]:
        """Those that are not finished: a crash may have come between their insertion and their
        announcement.
        """
        queued = {"_id": {"$in": [entry.id for entry in entries]}, "state": "queued"}
        async with self.calls:
            found = {
                entry["_id"] for entry in await self.entries.find(queued, {"_id": 1}).to_list(None)
            }
        return [entry for entry in entries if entry.id in found]

    async def _announce(self, lane: str, arrived: Sequence[Entry]) -> None:
        update: Document = {
            "$set": {
                "ready": True,
                "ownerId": arrived[0].lane.owner.id,
                "share": arrived[0].lane.share,
                "lastSeen": bson_datetime(self._clock.now()),
            },
            "$inc": {"arrivals": len(arrived)},
            "$setOnInsert": {"leaseBy": None, "leaseUntil": NEVER, "fence": 0, "tries": 0},
        }
        if cancelling := [entry.id for entry in arrived if entry.cancels]:
            update["$max"] = {"cancel.before": max(cancelling)}
        try:
            await self._upsert(lane, update)
        except (
            Duplicate
        ):  # two first announcements of a lane at once: the server lets one of them fail
            await self._upsert(lane, update)

    async def _upsert(self, lane: str, update: Document) -> None:
        async with self.calls:
            await self._lanes.update_one({"_id": lane}, update, upsert=True)

    async def revise(self, lane: Lane, message: Json) -> None:
        kept = {"$in": ["queued", "failed", "budget", "offered"]}
        same = {
            "lane": lane.id,
            "state": kept,
            "message": message["message_id"],
            "update": {"$type": "object"},
        }
        async with within(PROMPTLY), self.calls:
            await self.entries.update_many(same, {"$set": {"update.message": dict(message)}})

    # -------------------------------------------------------------------------------------- leasing

    async def claim(self, busy: Collection[str], full_shares: Collection[str] = ()) -> Claim | None:
        self._arrived.clear()
        await self._take_back(busy)
        asked_at = _now()
        where = {
            "_id": {"$nin": list(busy)},
            "ready": True,
            "share": {"$nin": list(full_shares)},
            "$expr": {"$lte": ["$leaseUntil", "$$NOW"]},
        }
        taken = {
            "fence": {"$add": ["$fence", 1]},
            "tries": {"$add": ["$tries", 1]},
            "leaseBy": self._holder.id,
        }
        try:
            async with within(PROMPTLY), self.calls:
                before = await self._lanes.find_one_and_update(
                    where,
                    [{"$set": {**taken, "leaseUntil": self._lease_end}}],
                    sort=[("leaseUntil", 1)],
                    return_document=ReturnDocument.BEFORE,
                )
        except Uncertain:
            self._unsure = True
            raise
        if before is None:
            return None
        self._leased_until[before["_id"]] = asked_at + self._holder.lease_seconds
        self.marks.claimed(before)
        return Claim(
            lane=before["_id"],
            fence=before["fence"] + 1,
            tries=before["tries"] + 1,
            is_retry=before["leaseBy"] is not None,
            died=before["leaseBy"] not in (None, UNSETTLED),
            deaths_alone=before.get("deathsAlone", 0),
            arrivals=before["arrivals"],
            share=before.get("share"),
            unreachable=before.get("unreachable", False),
        )

    async def _take_back(self, busy: Collection[str]) -> None:
        """A claim that failed may have been granted: what we hold and know nothing of is free
        again. Not a try.
        """
        if not self._unsure:
            return
        unknown = {"_id": {"$nin": list(busy)}, "ready": True, "leaseBy": self._holder.id}
        async with within(PROMPTLY), self.calls:
            await self._lanes.update_many(
                unknown, [{"$set": {"leaseUntil": "$$NOW", "tries": ONE_LESS}}]
            )
        self._unsure = False

    @property
    def _lease_end(self) -> Document:
        return {"$add": ["$$NOW", int(self._holder.lease_seconds * 1000)]}

    async def keep(self, claims: Sequence[Claim]) -> Collection[str]:
        lanes = [claim.lane for claim in claims]
        held = {"_id": {"$in": lanes}, "leaseBy": self._holder.id}
        asked_at = _now()
        async with within(PROMPTLY), self.calls:
            kept = await self._lanes.update_many(held, [{"$set": {"leaseUntil": self._lease_end}}])
        lost = set() if kept.matched_count == len(lanes) else set(lanes) - await self._held(held)
        self._leased_until |= dict.fromkeys(
            set(lanes) - lost, asked_at + self._holder.lease_seconds
        )
        return lost

    async def _held(self, held: Document) -> set[str]:
        async with self.calls:
            return {lane["_id"] for lane in await self._lanes.find(held, {"_id": 1}).to_list(None)}

    async def release(self, claim: Claim) -> Claim | None:
        free = {"ready": False, "leaseBy": None, "tries": 0, "leaseUntil": RELEASED_AT}
        async with self.calls:
            released = await self._lanes.update_one(
                {"_id": claim.lane, "fence": claim.fence, "arrivals": claim.arrivals},
                [{"$set": free}, {"$unset": ["cancel", "deathsAlone"]}],
            )
        if released.matched_count:
            self._let_go(claim)
            return None
        async with self.calls:
            lane = await self._lanes.find_one(
                {"_id": claim.lane, "fence": claim.fence}, {"arrivals": 1}
            )
        if lane is None:
            raise LaneLost
        return replace(claim, arrivals=lane["arrivals"])

    async def hand_back(self, claim: Claim, seconds: float = 0.0) -> None:
        self._let_go(claim)
        until = {"$add": ["$$NOW", int(seconds * 1000)]}
        left = UNSETTLED if claim.is_retry else None
        is_over = {"$gt": ["$deathsAlone", claim.deaths_alone]}
        free = {
            "ready": True,
            "leaseBy": left,
            "leaseUntil": until,
            "tries": ONE_LESS,
            "deathsAlone": {"$cond": [is_over, claim.deaths_alone, "$deathsAlone"]},
        }
        async with within(PROMPTLY), self.calls:
            await self._lanes.update_one(
                {"_id": claim.lane, "fence": claim.fence}, [{"$set": free}]
            )

    def _let_go(self, claim: Claim) -> None:
        self._leased_until.pop(claim.lane, None)
        self.marks.let_go(claim)

    # ------------------------------------------------------------------------------------- handling

    async def next(self, claim: Claim) -> Batch | None:
        waiting = {"lane": claim.lane, "state": "queued"}
        async with self.calls:
            found = await self.entries.find(waiting).sort("_id", 1).limit(READ_AHEAD).to_list(None)
        read = {document["_id"]: to_entry(document, self._lane_of) for document in found}
        if unreadable := [update_id for update_id, entry in read.items() if entry is None]:
            log.error("updates %s belong to nobody any more and are parked", unreadable)
            for update_id in unreadable:
                await self._end(claim, [update_id], "dead")
            return await self.next(claim)
        return next_batch(claim, [entry for entry in read.values() if entry], self._clock.now())

    async def run_alone(self, claim: Claim) -> None:
        where = {"_id": claim.lane, "fence": claim.fence}
        async with self.calls:
            counted = await self._lanes.update_one(where, {"$inc": {"deathsAlone": 1}})
        if not counted.matched_count:
            raise LaneLost

    async def finish(self, batch: Batch, state: State) -> Claim:
        claim, ids = batch.claim, [entry.id for entry in batch.entries]
        await self._end(claim, ids, state)
        if batch.entries[0].cancels:
            await self._change(
                claim, {"cancel.before": {"$lte": ids[-1]}}, {"$unset": {"cancel": ""}}
            )
        if claim.tries > 1:
            # The entry that was tried so often is gone; the next one starts from the beginning.
            await self._change(claim, {}, {"$set": {"tries": 1}, "$unset": {"deathsAlone": ""}})
        is_lost = state == "refused"
        if is_lost != claim.unreachable:
            await self._change(claim, {}, {"$set": {"unreachable": is_lost}})
        return replace(claim, tries=1, deaths_alone=0, unreachable=is_lost)

    async def _end(self, claim: Claim, ids: Sequence[int], state: State) -> None:
        if not self.holds(claim):
            # a later holder may have taken only the first of these entries, and the rest are its
            # own
            raise LaneLost
        fate: Document = {
            "state": state,
            "turn": ids[0],
            "doneAt": bson_datetime(self._clock.now()),
            "fence": claim.fence,
        }
        update: Document = {"$set": fate, **({"$unset": CONTENT} if state in FORGOTTEN else {})}
        async with self.calls:
            ended = await self.entries.update_many(
                {"_id": {"$in": list(ids)}, "state": "queued", "fence": {"$lte": claim.fence}},
                update,
            )
        if ended.matched_count != len(ids):
            raise LaneLost

    async def _change(self, claim: Claim, where: Document, update: Document) -> None:
        async with self.calls:
            await self._lanes.update_one({"_id": claim.lane, "fence": claim.fence, **where}, update)

    async def stop(self, lane: Lane, turn: int, *, in_all_topics: bool = False) -> None:
        lanes = {"$regex": f"^{lane.owner.id}:{lane.place.chat_id}:"} if in_all_topics else lane.id
        where = {"_id": lanes, "ownerId": lane.owner.id, "ready": True}
        async with within(PROMPTLY), self.calls:
            await self._lanes.update_many(where, {"$max": {"cancel.before": turn + 1}})

    async def cancelled(self, lanes: Collection[str]) -> Mapping[str, int]:
        told = {"_id": {"$in": list(lanes)}, "cancel.before": {"$gt": 0}}
        async with within(PROMPTLY), self.calls:
            found = await self._lanes.find(told, {"cancel": 1}).to_list(None)
        return {lane["_id"]: lane["cancel"]["before"] for lane in found}

    async def wait(self) -> None:
        await self._arrived.wait()

    def record(self, batch: Batch) -> MongoRecord:
        return MongoRecord(self, batch)

    def holds(self, claim: Claim) -> bool:
        """Whether the lease surely lasts, by this process's own clock, which also runs while the
        process is frozen.
        """
        return _now() < self._leased_until.get(claim.lane, 0.0)


def _now() -> float:
    return asyncio.get_running_loop().time()
