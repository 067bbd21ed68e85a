"""The durable inbox: what was accepted survives every process, and is handled by one worker at a
time.

    put      insert the entry, announce it to its lane: `arrivals`
    claim    lease a ready lane whose lease is over: `lane_leases`
    next     the entries that wait in the lane, in the order of their ids
    finish   the fate of a batch, if no later holder has touched its entries
    release  not ready any more, unless something was announced since the claim: then there is more
    to do

Every write of a holder carries its fence and misses when a later one has been there, which is a
LaneLost; so a process that wakes up after its lease changes nothing. The queries are in `queries`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from pymongo.asynchronous.database import AsyncDatabase

from bot.errors import LaneLost
from bot.owner import Lane
from bot.ports import Batch, Claim, Clock, Entry, State
from bot.store.batches import next_batch
from bot.store.documents import Document
from bot.store.mongo import queries
from bot.store.mongo.arrivals import Arrivals
from bot.store.mongo.driver_gate import PROMPTLY, DriverGate, within
from bot.store.mongo.entries import to_entry
from bot.store.mongo.lane_leases import LaneLeases
from bot.store.mongo.queries import LeaseOwner
from bot.store.mongo.turn_records import MongoRecord

log = logging.getLogger(__name__)


class MongoInbox:
    """The Inbox of a running bot."""

    def __init__(
        self,
        database: AsyncDatabase[Document],
        calls: DriverGate,
        clock: Clock,
        holder: LeaseOwner,
    ) -> None:
        self._entries, self._lanes = database["inbox"], database["lanes"]
        self._calls = calls
        self._clock = clock
        self._arrivals = Arrivals(self._entries, self._lanes, calls, clock)
        self._leases = LaneLeases(self._lanes, calls, holder)
        self._arrived = asyncio.Event()

    async def put(self, *entries: Entry) -> bool:
        are_new = await self._arrivals.put(entries)
        self._arrived.set()
        return are_new

    async def wait(self) -> None:
        await self._arrived.wait()

    async def revise(self, edit: Entry) -> None:
        await self._arrivals.revise(edit)

    async def claim(self, busy: Collection[str], full_shares: Collection[str] = ()) -> Claim | None:
        self._arrived.clear()
        return await self._leases.claim(busy, full_shares)

    async def keep(self, claims: Sequence[Claim]) -> Collection[str]:
        return await self._leases.keep(claims)

    async def release(self, claim: Claim) -> Claim | None:
        return await self._leases.release(claim)

    async def hand_back(self, claim: Claim, seconds: float = 0.0) -> None:
        await self._leases.hand_back(claim, seconds)

    def record(self, batch: Batch) -> MongoRecord:
        return MongoRecord(self._entries, self._calls, self._leases, batch)

    async def next(self, claim: Claim) -> Batch | None:
        waiting = queries.waiting(claim)
        async with self._calls:
            found = await (
                self._entries.find(waiting).sort("_id", 1).limit(queries.READ_AHEAD).to_list(None)
            )
        read = {document["_id"]: to_entry(document) for document in found}
        if unreadable := [update_id for update_id, entry in read.items() if entry is None]:
            log.error("updates %s cannot be read any more and are dead letters", unreadable)
            for update_id in unreadable:
                await self._end(claim, [update_id], "dead")
            return await self.next(claim)
        return next_batch(claim, [entry for entry in read.values() if entry], self._clock.now())

    async def run_alone(self, claim: Claim) -> None:
        if not await self._leases.change(claim, {}, {"$inc": {"deathsAlone": 1}}):
            raise LaneLost

    async def finish(self, batch: Batch, state: State) -> Claim:
        claim, ids = batch.claim, [entry.id for entry in batch.entries]
        await self._end(claim, ids, state)
        if batch.entries[0].cancels:
            over = {"cancel.before": {"$lte": ids[-1]}}
            await self._leases.change(claim, over, {"$unset": {"cancel": ""}})
        if claim.tries > 1:  # the entry that was tried so often is gone
            afresh = {"$set": {"tries": 1}, "$unset": {"deathsAlone": ""}}
            await self._leases.change(claim, {}, afresh)
        is_lost = state == "refused"
        if is_lost != claim.unreachable:
            await self._leases.change(claim, {}, {"$set": {"unreachable": is_lost}})
        return replace(claim, tries=1, deaths_alone=0, unreachable=is_lost)

    async def _end(self, claim: Claim, ids: Sequence[int], state: State) -> None:
        if not self._leases.is_valid(claim):
            # A later holder may have taken the first of these entries only; the rest are its own.
            raise LaneLost
        async with self._calls:
            ended = await self._entries.update_many(
                *queries.finish(claim, ids, state, self._clock.now())
            )
        if ended.matched_count != len(ids):
            raise LaneLost

    async def stop(self, lane: Lane, turn: int, *, in_all_topics: bool = False) -> None:
        lanes = {"$regex": f"^{lane.owner.id}:{lane.place.chat_id}:"} if in_all_topics else lane.id
        where = {"_id": lanes, "ownerId": lane.owner.id, "ready": True}
        async with within(PROMPTLY), self._calls:
            await self._lanes.update_many(where, {"$max": {"cancel.before": turn + 1}})

    async def cancelled(self, lanes: Collection[str]) -> Mapping[str, int]:
        told = {"_id": {"$in": list(lanes)}, "cancel.before": {"$gt": 0}}
        async with within(PROMPTLY), self._calls:
            found = await self._lanes.find(told, {"cancel": 1}).to_list(None)
        return {lane["_id"]: lane["cancel"]["before"] for lane in found}
