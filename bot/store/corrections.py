"""Questions that were corrected after they had been answered: whose turn it was, and the word to answer anew.

An edit waits as an entry of its own, with the corrected message in it; its person's word makes a question of it.
"""

from __future__ import annotations

from dataclasses import dataclass

from pymongo.asynchronous.database import AsyncDatabase

from bot.owner import Lane
from bot.store.calls import Calls
from bot.store.documents import Document

LOOKED_AT = 40
"""The latest entries of a lane: a turn has up to twenty, and only the last turn is of interest."""


@dataclass(frozen=True, slots=True)
class MongoCorrections:
    """The Corrections of a running bot."""

    database: AsyncDatabase[Document]
    calls: Calls

    async def turn_of(self, lane: Lane, message_id: int) -> int | None:
        ended = {"lane": lane.id, "ownerId": lane.owner.id, "state": {"$in": ["done", "offered"]}}
        shown = {"message": 1, "turn": 1, "kind": 1, "state": 1}
        async with self.calls:
            found = await self.database["inbox"].find(ended, shown).sort("_id", -1).limit(LOOKED_AT).to_list(None)
        if any(one["state"] == "offered" and one.get("message") == message_id for one in found):
            return None
        asked = [one for one in found if one["kind"] == "content"]
        turn = next((one["turn"] for one in asked if one.get("message") == message_id), None)
        return turn if [one["turn"] for one in asked].count(turn) == 1 else None

    async def answer_again(self, lane: Lane, edit: int, turn: int) -> bool:
        asked = {"state": "queued", "kind": "content", "replaces": turn}
        return await self._settle(lane, edit, {"$set": asked, "$unset": {"doneAt": "", "turn": ""}})

    async def drop(self, lane: Lane, edit: int) -> bool:
        return await self._settle(lane, edit, {"$set": {"state": "done"}, "$unset": {"update": ""}})

    async def _settle(self, lane: Lane, edit: int, fate: Document) -> bool:
        offered = {"_id": edit, "lane": lane.id, "ownerId": lane.owner.id, "state": "offered"}
        async with self.calls:
            settled = await self.database["inbox"].update_one(offered, fate)
        return settled.matched_count == 1
