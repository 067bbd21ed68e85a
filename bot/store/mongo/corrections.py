"""Questions that were corrected after they had been answered: whose turn it was, and the word to
answer anew.

An edit waits as an entry of its own, with the corrected message in it; its person's word makes a
question of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from pymongo.asynchronous.database import AsyncDatabase

from bot.owner import Lane
from bot.ports import Correction
from bot.store.documents import Document
from bot.store.mongo.driver_gate import DriverGate

LOOKED_AT = 20
"""The latest entries of a lane: only its last turn is of interest."""
_SHOWN = {"message": 1, "turn": 1, "kind": 1, "state": 1, "replaces": 1, "doneAt": 1}


@dataclass(frozen=True, slots=True)
class MongoCorrections:
    """The Corrections of a running bot."""

    database: AsyncDatabase[Document]
    calls: DriverGate

    async def of(self, lane: Lane, message_id: int) -> Correction | None:
        latest = {"lane": lane.id, "state": {"$in": ["done", "offered"]}}
        found = await self._found(lane, latest, [("_id", -1)], LOOKED_AT)
        same = [one for one in found if one.get("message") == message_id]
        asked = next((one for one in same if one["kind"] == "content"), None)
        # An offer from before the latest answer, as that came by a retry, is of a turn that is
        # gone.
        if asked is None or any(
            one["state"] == "offered" and one["doneAt"] >= asked["doneAt"] for one in same
        ):
            return None
        before = asked.get("replaces") or await self._part(lane, asked)
        return Correction(asked["turn"], before["part"], before["of"])

    async def _part(self, lane: Lane, asked: Document) -> Document:
        """Which of its turn's messages an entry is."""
        turn = {"lane": lane.id, "turn": asked["turn"], "state": "done", "kind": "content"}
        whole = [one["_id"] for one in await self._found(lane, turn, [("_id", 1)], 0)]
        return {"part": whole.index(asked["_id"]), "of": len(whole)}

    async def _found(
        self, lane: Lane, where: Document, order: Sequence[tuple[str, int]], maximum: int
    ) -> list[Document]:
        owned = {"ownerId": lane.owner.id, **where}
        async with self.calls:
            cursor = self.database["inbox"].find(owned, _SHOWN).sort(order).limit(maximum)
            return await cursor.to_list(None)

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
