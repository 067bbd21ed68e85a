"""What is kept of a running turn: what was sent and what shows it, what its tools did outside, what
was spoken in it.

It stands on the entries of the turn's batch. Every write carries the fence of its run and misses
when a later one has been there, which is a LaneLost.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from pymongo.asynchronous.collection import AsyncCollection

from bot.errors import LaneLost
from bot.ports import Batch, Effect, TitlePrompt
from bot.store.documents import Document, bson_datetime
from bot.store.mongo.driver_gate import DriverGate
from bot.store.mongo.lane_leases import LaneLeases

UNCERTAIN = "uncertain"


class MongoRecord:
    """The record of one run, kept on the entries of its batch."""

    def __init__(
        self,
        entries: AsyncCollection[Document],
        calls: DriverGate,
        leases: LaneLeases,
        batch: Batch,
    ) -> None:
        self._entries = entries
        self._calls = calls
        self._leases = leases
        self._claim = batch.claim
        self._sent = {entry.id: entry.sent for entry in batch.entries}
        self._previews = {entry.id: entry.previews for entry in batch.entries}
        self._transcripts = {
            file: words for entry in batch.entries for file, words in entry.transcripts.items()
        }

    def require_lease(self) -> None:
        if not self._leases.is_valid(self._claim):
            raise LaneLost

    def parts_sent(self, turn: int) -> int:
        return self._sent.get(turn, 0)

    def previews(self, turn: int) -> Sequence[int]:
        return self._previews.get(turn, ())

    async def previewed(self, turn: int, *message_ids: int) -> None:
        if not await self._write(turn, {}, {"$set": {"previews": list(message_ids)}}):
            raise LaneLost
        self._previews[turn] = message_ids

    async def part_sent(self, turn: int, message_id: int | None) -> None:
        sent = self.parts_sent(turn)
        if not await self._write(
            turn, {"sent": {"$size": sent}}, {"$push": {"sent": message_id or UNCERTAIN}}
        ):
            raise LaneLost
        self._sent[turn] = sent + 1

    def uncertain(self) -> int | None:
        return self._leases.marks.uncertain(self._claim)

    async def mark_uncertain(self, turn: int | None) -> None:
        await self._leases.marks.mark_uncertain(self._claim, turn)

    def title_prompt(self) -> TitlePrompt | None:
        return self._leases.marks.title_prompt(self._claim)

    async def asked_title(self, prompt: TitlePrompt) -> None:
        await self._leases.marks.asked_title(self._claim, prompt)

    def transcript(self, file: str) -> str | None:
        return self._transcripts.get(file)

    async def transcribed(self, turn: int, file: str, words: str) -> None:
        if not await self._write(
            turn, {}, {"$push": {"transcripts": {"file": file, "words": words}}}
        ):
            raise LaneLost
        self._transcripts[file] = words

    async def effect_begins(self, turn: int, tool: str, arguments: str) -> bool:
        effect = {"tool": tool, "argsHash": arguments}
        known = {"$elemMatch": effect}
        if await self._write(turn, {"effects": {"$not": known}}, {"$push": {"effects": effect}}):
            return True
        async with self._calls:
            if await self._entries.find_one({"_id": turn, "effects": known}, {"_id": 1}) is None:
                raise LaneLost
        return False

    async def effect_ended(self, turn: int, tool: str, arguments: str, result: str) -> None:
        begun = {"effects": {"$elemMatch": {"tool": tool, "argsHash": arguments}}}
        if not await self._write(turn, begun, {"$set": {"effects.$.result": result}}):
            raise LaneLost

    async def effects(self, turn: int) -> Sequence[Effect]:
        return await self._effects_of({"_id": turn})

    async def keep_effects(self, turn: int) -> None:
        await self._leases.marks.remember_effects(self._claim, turn)

    async def unseen_effects(self, since: datetime) -> Sequence[Effect]:
        if not (turns := self._leases.marks.turns_with_effects(self._claim)):
            return ()
        return await self._effects_of(
            {"_id": {"$in": list(turns)}, "doneAt": {"$gte": bson_datetime(since)}}
        )

    async def effects_seen(self) -> None:
        if self._leases.marks.turns_with_effects(self._claim):
            await self._leases.marks.remember_effects(self._claim, None)

    async def _effects_of(self, where: Document) -> Sequence[Effect]:
        async with self._calls:
            found = await self._entries.find(
                {**where, "lane": self._claim.lane}, {"effects": 1}
            ).to_list(None)
        return [
            Effect(effect["tool"], effect["argsHash"], effect.get("result"))
            for entry in found
            for effect in entry["effects"]
        ]

    async def _write(self, turn: int, where: Document, update: Document) -> bool:
        mine = {"_id": turn, "state": "queued", "fence": {"$lte": self._claim.fence}}
        update = {**update, "$max": {"fence": self._claim.fence}}
        async with self._calls:
            return (await self._entries.update_one(mine | where, update)).matched_count == 1
