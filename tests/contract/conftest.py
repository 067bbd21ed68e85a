"""The backends one contract is held against: memory, MongoDB through both drivers, and
mongomock-motor (C109).

mongomock-motor has no validators, commands or races; what needs those asks for `store`, which is a
real mongod through either driver.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from mongomock_motor import AsyncMongoMockClient

from bot.ops.clock import ManualClock
from bot.ports import Archive, Dialogues, Notes, Owners, SessionStore, TokenRatioStore, UsageStore
from bot.store.memory.archive import MemoryArchive
from bot.store.memory.dialogues import MemoryDialogues
from bot.store.memory.notes import MemoryNotes
from bot.store.memory.owners import MemoryOwners
from bot.store.memory.sessions import MemorySessions
from bot.store.memory.token_ratios import MemoryTokenRatios
from bot.store.memory.usage import MemoryUsage
from bot.store.mongo import collections, schema
from bot.store.mongo.archive import MongoArchive
from bot.store.mongo.dialogues import MongoDialogues
from bot.store.mongo.driver_gate import DriverGate
from bot.store.mongo.notes import MongoNotes
from bot.store.mongo.owners import MongoOwners
from bot.store.mongo.sessions import MongoSessions
from bot.store.mongo.token_ratios import MongoTokenRatios
from bot.store.mongo.usage import MongoUsage
from tests.raw_store import connect

FOR_EVER = collections.Retention(collections.MAX_SECONDS, collections.MAX_SECONDS)
"""Long enough that mongomock-motor, which expires rows by the machine's clock at each read, keeps a
test's rows.
"""
DRIVERS = ("motor", "pymongo")


@dataclass(frozen=True, slots=True)
class Stores:
    """The ports of one backend; `database` is None in memory."""

    sessions: SessionStore
    dialogues: Dialogues
    archive: Archive
    notes: Notes
    owners: Owners
    usage_store: UsageStore
    token_ratios: TokenRatioStore
    database: Any = None


@pytest.fixture(scope="session")
def spares():
    """Apart from everybody else's: nobody here changes what stands."""
    return []


@pytest.fixture(scope="session")
def standing():
    """The spares whose schema is in force: to look costs more than most tests."""
    return set()


@pytest.fixture
def connected(mongod, prepared, standing):
    """Connect a Store to a real mongod, its schema in force."""

    async def opened(driver):
        store = await connect(mongod, prepared, driver=driver)
        if prepared not in standing:
            await schema.ensure(store.database, FOR_EVER)
            standing.add(prepared)
        return store

    return opened


@pytest.fixture(params=DRIVERS)
async def store(request, commands, connected):
    opened = await connected(request.param)
    commands.sent.clear()
    yield opened
    await opened.close()


@pytest.fixture(params=["memory", *DRIVERS, "mongomock"])
async def stores(request):
    """The ports over one backend after the other."""
    if request.param == "memory":
        rows: dict[str, Any] = {}
        yield Stores(
            MemorySessions(rows),
            MemoryDialogues(rows),
            MemoryArchive(),
            MemoryNotes(),
            MemoryOwners(),
            MemoryUsage(),
            MemoryTokenRatios(),
        )
    elif request.param == "mongomock":
        database: Any = AsyncMongoMockClient(tz_aware=True)["bot"]
        for collection in collections.collections(FOR_EVER):
            # Of the schema, indexes are all it knows.
            for index in collection.indexes:
                keys = list(index.keys.items())
                await database[collection.name].create_index(keys, name=index.name, **index.options)
        yield over(database)
    else:
        opened = await request.getfixturevalue("connected")(request.param)
        yield over(opened.database)
        await opened.close()


@pytest.fixture
def clock():
    return ManualClock()


def over(database) -> Stores:
    calls = DriverGate()
    return Stores(
        MongoSessions(database, calls),
        MongoDialogues(database, calls),
        MongoArchive(database, calls),
        MongoNotes(database, calls),
        MongoOwners(database, calls),
        MongoUsage(database, calls),
        MongoTokenRatios(database, calls),
        database,
    )
