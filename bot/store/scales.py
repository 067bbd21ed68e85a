"""What was learned of each model's token counts, in MongoDB. It is about models and about nobody."""

from __future__ import annotations

from pymongo.asynchronous.database import AsyncDatabase

from bot.ports import Scale
from bot.store.calls import Calls
from bot.store.documents import Document


class MongoScales:
    """The Scales of a running bot; of two replicas, the later one's word counts."""

    def __init__(self, database: AsyncDatabase[Document], calls: Calls) -> None:
        self._models = database["models"]
        self._calls = calls

    async def load(self, model: str) -> Scale | None:
        async with self._calls:
            row = await self._models.find_one({"_id": model})
        return None if row is None else Scale(row["tokenRatio"], row["fixedTokens"])

    async def save(self, model: str, scale: Scale) -> None:
        learned = {"tokenRatio": float(scale.ratio), "fixedTokens": float(scale.fixed)}
        async with self._calls:
            await self._models.update_one({"_id": model}, {"$set": learned}, upsert=True)
