"""What was learned of each model's token counts, in MongoDB.

It is about models and about nobody.
"""

from __future__ import annotations

from pymongo.asynchronous.database import AsyncDatabase

from bot.ports import TokenRatio
from bot.store.documents import Document
from bot.store.mongo.driver_gate import DriverGate


class MongoTokenRatios:
    """The token ratios of a running bot; of two replicas, the last to save wins."""

    def __init__(self, database: AsyncDatabase[Document], calls: DriverGate) -> None:
        self._models = database["models"]
        self._calls = calls

    async def load(self, model: str) -> TokenRatio | None:
        async with self._calls:
            row = await self._models.find_one({"_id": model})
        return None if row is None else TokenRatio(row["tokenRatio"], row["fixedTokens"])

    async def save(self, model: str, token_ratio: TokenRatio) -> None:
        learned = {"tokenRatio": float(token_ratio.ratio), "fixedTokens": float(token_ratio.fixed)}
        async with self._calls:
            await self._models.update_one({"_id": model}, {"$set": learned}, upsert=True)
