"""The connection to MongoDB: one client per process, made inside the running loop, through either
driver.

Writes are journaled by a majority, every call has a limit, the pool is kept warm. Compression is
left to MONGODB_URI, since its libraries are optional.
"""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Literal, cast

import pymongo
from motor.motor_asyncio import AsyncIOMotorClient
from pymongo import AsyncMongoClient
from pymongo.asynchronous.database import AsyncDatabase
from pymongo.errors import ConfigurationError, InvalidURI, PyMongoError

from bot.errors import StartError, StoreUnavailable
from bot.store.documents import Document
from bot.store.mongo.driver_gate import DriverGate, is_refused

Driver = Literal["motor", "pymongo"]

PING_SECONDS = 5.0
_CLIENTS: Mapping[Driver, Callable[..., object]] = {
    "motor": AsyncIOMotorClient,
    "pymongo": AsyncMongoClient,
}
_WARM = {"minPoolSize": 4}
_OPTIONS: Mapping[str, object] = {
    "appname": "bot",
    "tz_aware": True,
    "w": "majority",
    "journal": True,
    "readConcernLevel": "majority",
    "readPreference": "primary",
    "retryWrites": True,
    "retryReads": True,
    "timeoutMS": 20_000,
    "serverSelectionTimeoutMS": 15_000,
    "connectTimeoutMS": 5_000,
    "heartbeatFrequencyMS": 5_000,
    "maxPoolSize": 32,
    "maxConnecting": 4,
    "maxIdleTimeMS": 300_000,
    "uuidRepresentation": "standard",
    "datetime_conversion": "DATETIME_AUTO",
}


@dataclass(frozen=True, slots=True)
class Connection:
    """A database, the gate that every call of it passes, and the servers it is on."""

    database: AsyncDatabase[Document]
    calls: DriverGate
    servers: str

    async def ping(self) -> None:
        """Ask the server to answer. Raises StoreUnavailable, in words for the operator."""
        await _ping(self.database, self.servers)

    async def close(self) -> None:
        """Give the connections back."""
        await _closed(self.database.client.close())


async def open_connection(uri: str, database: str, *, driver: Driver = "motor") -> Connection:
    """A connection whose server has answered. Raises StoreUnavailable, StartError."""
    await _probe(uri, driver)
    opened = _open_client(uri, driver, **_WARM)[database]
    return Connection(opened, DriverGate(), _servers(uri))


async def _closed(closing: Awaitable[None] | None) -> None:
    """Wait until a client is closed: one driver wants that awaited, the other does it at once."""
    if closing is not None:
        await closing


async def _probe(uri: str, driver: Driver) -> None:
    """Ask through a client of its own: warming a pool with refused credentials prints the driver's
    tracebacks.
    """
    client = _open_client(uri, driver)
    try:
        await _ping(client["admin"], _servers(uri))
    finally:
        await _closed(client.close())


async def _ping(database: AsyncDatabase[Document], servers: str) -> None:
    try:
        with pymongo.timeout(PING_SECONDS):
            await database.command("ping")
    except PyMongoError as error:
        fault = (
            "refuses the name or password of"
            if is_refused(error)
            else "does not answer at the address of"
        )
        raise StoreUnavailable(f"MongoDB ({servers}) {fault} MONGODB_URI.") from None


def _open_client(uri: str, driver: Driver, **options: object) -> AsyncMongoClient[Document]:
    """Motor is given PyMongo Async's type: the calls made here are spelled alike in both."""
    if driver == "motor":
        options["io_loop"] = asyncio.get_running_loop()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter(
                "error", UserWarning
            )  # the driver only warns of an option it cannot read
            return cast("AsyncMongoClient[Document]", _CLIENTS[driver](uri, **_OPTIONS, **options))
    except (InvalidURI, ConfigurationError, ValueError, OSError, UserWarning):
        raise StartError(
            "MONGODB_URI is not an address of MongoDB, such as "
            "mongodb://name:password@host:27017: look at the host,"
            " the options, the files they name, and special characters in the password (@ is "
            "written %40)."
        ) from None


def _servers(uri: str) -> str:
    """The hosts in the address, without name and password."""
    return uri.rpartition("://")[2].rpartition("@")[2].partition("/")[0].partition("?")[0]
