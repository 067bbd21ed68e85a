"""Questions that were corrected after they had been answered: whose turn it was, and the word to
answer anew.

An edit waits as an entry of its own, with the corrected message in it; its person's word makes a
question of it.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

from pymongo.asynchronous.database import AsyncDatabase

from bot.owner import Lane
from bot.ports import Correction
from bot.store.documents import Document
from bot.store.mongo.driver_gate import DriverGate

LOOKED_AT = 40
"""The latest entries of a lane: a turn has up to twenty, and only the last turn is of interest."""


@dataclass(frozen=True, slots=True)
class MongoCorrections:
    """The Corrections of a running bot."""

    database: AsyncDatabase[Document]
    calls: DriverGate

    async def of(self, lane: Lane, message_id: int) -> Correction | None:
        ended = {"lane": lane.id, "ownerId": lane.owner.id, "state": {"$in": ["done", "offered"]}}
        shown = {"message": 1, "turn": 1, "kind": 1, "state": 1, "replaces": 1, "doneAt": 1}
        async with self.calls:
            found = (
                await self.database["inbox"]
                .find(ended, shown)
                .sort("_id", -1)
                .limit(LOOKED_AT)
                .to_list(None)
            )
        same = [one for one in found if one.get("message") == message_id]
        asked = next((one for one in same if one["kind"] == "content"), None)
        # An offer from before the latest answer, as that came by a retry, is of a turn that is
        # gone.
        if asked is None or any(
            one["state"] == "offered" and one["doneAt"] >= asked["doneAt"] for one in same
        ):
            return None
        whole = [
            one
            for one in reversed(found)
            if one["kind"] == "content" and one["turn"] == asked["turn"]
        ]
        before = asked.get("replaces", {"part": whole.index(asked), "of": len(whole)})
        return Correction(asked["turn"], before["part"], before["of"])

    async def answer_again(self, lane: Lane, edit: int, correction: Correction) -> bool:
        asked = {"state": "queued", "kind": "content", "replaces": asdict(correction)}
        return await self._settle(lane, edit, {"$set": asked, "$unset": {"doneAt": "", "turn": ""}})

    async def drop(self, lane: Lane, edit: int) -> bool:
        return await self._settle(lane, edit, {"$set": {"state": "done"}, "$unset": {"update": ""}})

    async def _settle(self, lane: Lane, edit: int, fate: Document) -> bool:
        offered = {"_id": edit, "lane": lane.id, "ownerId": lane.owner.id, "state": "offered"}
        async with self.calls:
            settled = await self.database["inbox"].update_one(offered, fate)
        return settled.matched_count == 1
