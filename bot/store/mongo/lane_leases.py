"""Which lanes this process holds: leased by the server's clock, kept, given back.

The fence grows with each claim. Before anything is sent, `is_valid` looks at this process's own
clock, which also runs while the process is frozen.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import replace

from pymongo import ReturnDocument
from pymongo.asynchronous.collection import AsyncCollection

from bot.errors import LaneLost, Uncertain
from bot.ports import Claim
from bot.store.documents import Document
from bot.store.mongo import queries
from bot.store.mongo.driver_gate import PROMPTLY, DriverGate, within
from bot.store.mongo.lane_marks import LaneMarks
from bot.store.mongo.queries import LeaseOwner


class LaneLeases:
    """The leases of one process, and the marks of the lanes it holds."""

    def __init__(
        self, lanes: AsyncCollection[Document], calls: DriverGate, holder: LeaseOwner
    ) -> None:
        self.marks = LaneMarks(lanes, calls)
        self._lanes = lanes
        self._calls = calls
        self._holder = holder
        self._leased_until: dict[str, float] = {}
        self._unsure = False

    def is_valid(self, claim: Claim) -> bool:
        """Whether the lease surely lasts."""
        return _now() < self._leased_until.get(claim.lane, 0.0)

    async def claim(self, busy: Collection[str], full_shares: Collection[str]) -> Claim | None:
        """Lease the ready lane that has been free for longest; None: there is none."""
        await self._take_back(busy)
        asked_at = _now()
        where, update = queries.claim(self._holder, busy, full_shares)
        try:
            async with within(PROMPTLY), self._calls:
                before = await self._lanes.find_one_and_update(
                    where, update, sort=queries.CLAIM_ORDER, return_document=ReturnDocument.BEFORE
                )
        except Uncertain:
            self._unsure = True
            raise
        if before is None:
            return None
        self._leased_until[before["_id"]] = asked_at + self._holder.lease_seconds
        self.marks.claimed(before)
        return _to_claim(before)

    async def _take_back(self, busy: Collection[str]) -> None:
        """A claim that failed may have been granted: free what we hold without knowing it."""
        if not self._unsure:
            return
        async with within(PROMPTLY), self._calls:
            await self._lanes.update_many(*queries.take_back(self._holder, busy))
        self._unsure = False

    async def keep(self, claims: Sequence[Claim]) -> Collection[str]:
        """Renew the leases of these lanes; those that were lost."""
        lanes = [claim.lane for claim in claims]
        held, update = queries.keep(self._holder, lanes)
        asked_at = _now()
        async with within(PROMPTLY), self._calls:
            kept = await self._lanes.update_many(held, update)
        lost = set() if kept.matched_count == len(lanes) else set(lanes) - await self._held(held)
        self._leased_until |= dict.fromkeys(
            set(lanes) - lost, asked_at + self._holder.lease_seconds
        )
        return lost

    async def _held(self, held: Document) -> set[str]:
        async with self._calls:
            return {lane["_id"] for lane in await self._lanes.find(held, {"_id": 1}).to_list(None)}

    async def release(self, claim: Claim) -> Claim | None:
        """Give back a lane in which nothing waits; the claim to go on with if something does."""
        async with self._calls:
            released = await self._lanes.update_one(*queries.release(claim))
        if released.matched_count:
            self._let_go(claim)
            return None
        async with self._calls:
            held = {"_id": claim.lane, "fence": claim.fence}
            lane = await self._lanes.find_one(held, {"arrivals": 1})
        if lane is None:
            raise LaneLost
        return replace(claim, arrivals=lane["arrivals"])

    async def hand_back(self, claim: Claim, seconds: float) -> None:
        """Give back a lane in which something waits, to be claimed again after so many seconds."""
        self._let_go(claim)
        async with within(PROMPTLY), self._calls:
            await self._lanes.update_one(*queries.hand_back(claim, seconds))

    async def change(self, claim: Claim, where: Document, update: Document) -> bool:
        """Update the lane of a claim as long as no later one holds it; whether it was so."""
        mine = {"_id": claim.lane, "fence": claim.fence, **where}
        async with self._calls:
            return (await self._lanes.update_one(mine, update)).matched_count == 1

    def _let_go(self, claim: Claim) -> None:
        self._leased_until.pop(claim.lane, None)
        self.marks.let_go(claim)


def _to_claim(before: Document) -> Claim:
    """The claim, from what the lane was before it."""
    return Claim(
        lane=before["_id"],
        fence=before["fence"] + 1,
        tries=before["tries"] + 1,
        is_retry=before["leaseBy"] is not None,
        died=before["leaseBy"] not in (None, queries.UNSETTLED),
        deaths_alone=before.get("deathsAlone", 0),
        arrivals=before["arrivals"],
        share=before.get("share"),
        unreachable=before.get("unreachable", False),
    )


def _now() -> float:
    return asyncio.get_running_loop().time()
