"""Connecting: through either driver, in the running loop, with one plain sentence where it
fails.
"""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys

import pytest
from pymongo import ReadPreference

from bot.errors import StartError, StoreUnavailable
from bot.store.mongo import connection
from tests.raw_store import connect


@pytest.fixture(params=["motor", "pymongo"])
def driver(request):
    return request.param


async def opened(uri, driver, database="bot"):
    return await connect(uri, database, driver=driver)


async def test_a_running_server_answers(mongod, driver):
    store = await opened(mongod, driver)
    await store.ping()
    await store.close()


@pytest.fixture
def collected():
    """PyMongo Async leaks the socket of a connection it cancels; it is to be found here, not in the
    next test.
    """
    yield
    gc.collect()


@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
async def test_an_absent_server_is_one_sentence_without_the_password(
    driver, monkeypatch, collected
):
    """Bounded by our limit, not by the driver's patience of fifteen seconds."""
    monkeypatch.setattr(connection, "PING_SECONDS", 0.3)
    with pytest.raises(StoreUnavailable) as caught:
        async with asyncio.timeout(14):
            await opened("mongodb://bot:s3cret@127.0.0.1:1/?authSource=admin", driver)
    assert (
        str(caught.value) == "MongoDB (127.0.0.1:1) does not answer at the address of MONGODB_URI."
    )


async def test_refused_credentials_are_told_apart(mongod, driver, capfd):
    """One sentence, and nothing of the driver's on stderr."""
    address = mongod.removeprefix("mongodb://")
    with pytest.raises(StoreUnavailable) as caught:
        await opened(f"mongodb://bot:s3cret@{address}&authSource=admin", driver)
    assert capfd.readouterr().err == ""
    assert "refuses the name or password of MONGODB_URI" in str(caught.value)
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(
    "uri",
    [
        "",
        "http://x",
        "mongodb://",
        "mongodb://h:port",
        "mongodb://u:s3cret@@h",
        "mongodb://h:99999",
        "mongodb://h/?tlsCAFile=/no/such/s3cret.pem",
    ],
)
async def test_what_is_no_address_is_refused_at_once(driver, uri):
    with pytest.raises(StartError, match="MONGODB_URI is not an address") as caught:
        await opened(uri, driver)
    assert "s3cret" not in str(caught.value)


async def test_an_address_cannot_weaken_what_a_commit_needs(mongod, driver):
    """An acknowledged turn survives a failover only where a majority has journaled it."""
    store = await opened(f"{mongod}&w=1&journal=false&readPreference=secondary", driver)
    assert store.database.write_concern.document == {"w": "majority", "j": True}
    assert store.database.read_preference == ReadPreference.PRIMARY
    await store.close()


def test_importing_the_store_opens_nothing():
    """C113: a process may fork after the import, and needs neither settings nor server for it."""
    check = "import bot.store.mongo.store, threading; assert threading.active_count() == 1"
    subprocess.run([sys.executable, "-c", check], check=True, env={}, timeout=60)


def test_the_store_in_memory_needs_no_driver():
    check = (
        "import bot.store.memory.sessions, sys; assert not {'pymongo', 'motor', 'bson'} & "
        "set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", check], check=True, env={}, timeout=60)
