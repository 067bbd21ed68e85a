"""A Store that tests may look into: its database, and the gate of its calls."""

from __future__ import annotations

from pymongo.asynchronous.database import AsyncDatabase

from bot.store.documents import Document
from bot.store.mongo.connection import Driver, open_connection
from bot.store.mongo.driver_gate import DriverGate
from bot.store.mongo.store import Store


class RawStore(Store):
    @property
    def database(self) -> AsyncDatabase[Document]:
        return self._connection.database

    @property
    def calls(self) -> DriverGate:
        return self._connection.calls


async def connect(uri: str, database: str, *, driver: Driver = "motor") -> RawStore:
    """As the bot does it."""
    return RawStore.over(await open_connection(uri, database, driver=driver))
