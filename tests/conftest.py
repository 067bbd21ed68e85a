"""Fixtures every depth of tests may use: a real mongod for the whole run, and a fresh database for
each test.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator

import pymongo.monitoring
import pytest
from pymongo import MongoClient

from bot.standins.errors import StandInError
from bot.standins.mongod import running
from tests.recorder import Recorder

PARAMETERS = {"ttlMonitorEnabled": "false", "ttlMonitorSleepSecs": "1", "enableTestCommands": "1"}


@pytest.fixture(scope="session")
def mongod() -> Iterator[str]:
    """The address of a server.

    Its TTL monitor sleeps, so that a test's own dates may lie anywhere.
    """
    server = running(os.environ, parameters=PARAMETERS)
    try:
        uri = server.__enter__()
    except StandInError as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(str(error))
    try:
        yield uri
    finally:
        server.__exit__(None, None, None)


@pytest.fixture(scope="session")
def mongo_client(mongod: str) -> Iterator[MongoClient[dict[str, object]]]:
    """A plain synchronous client, for what a test checks behind the store's back."""
    client: MongoClient[dict[str, object]]
    with MongoClient(mongod, tz_aware=True) as client:
        yield client


@pytest.fixture
def database(mongo_client: MongoClient[dict[str, object]]) -> Iterator[str]:
    """The name of a database that is this test's alone."""
    name = f"test_{uuid.uuid4().hex}"
    yield name
    mongo_client.drop_database(name)


@pytest.fixture(scope="session")
def spares() -> list[str]:
    """Databases whose collections and indexes stand and are empty: to make and drop them costs more
    than most tests.
    """
    return []


@pytest.fixture
def prepared(mongo_client: MongoClient[dict[str, object]], spares: list[str]) -> Iterator[str]:
    """The name of a database that is this test's alone, for those who see to its schema before they
    use it.
    """
    name = spares.pop() if spares else f"test_{uuid.uuid4().hex}"
    yield name
    for collection in mongo_client[name].list_collection_names(filter={"type": "collection"}):
        if not collection.startswith("system."):
            mongo_client[name][collection].delete_many({})
    spares.append(name)


@pytest.fixture(scope="session")
def recorder(mongo_client: MongoClient[dict[str, object]]) -> Recorder:
    """Drivers know global listeners only from the moment a client is made, and never forget them:
    one for the run.

    The tests' own client comes first, so what a test looks at is not taken for what the bot asks.
    """
    made = Recorder()
    pymongo.monitoring.register(made)
    return made


@pytest.fixture
def commands(recorder: Recorder) -> Iterator[Recorder]:
    """What this test's clients send."""
    recorder.forget()
    yield recorder
    recorder.forget()
