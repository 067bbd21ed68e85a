"""One process at a time may poll: a lease in MongoDB, by the server's clock."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from pymongo.errors import WriteError

from bot.store.mongo.leases import MongoLease
from bot.store.mongo.queries import LeaseOwner

PAST = datetime(2000, 1, 1, tzinfo=UTC)


@pytest.fixture
def leases(store):
    """The lease as one process after the other may hold it."""

    def lease(holder, *, name="poller", seconds=8.0):
        return MongoLease(store.database, store.calls, name, LeaseOwner(holder, seconds))

    return lease


@pytest.fixture
def documents(store, mongo_client):
    return mongo_client[store.database.name]["leases"]


async def test_one_process_has_it_and_keeps_it(leases):
    first, second = leases("first"), leases("second")
    assert [await first.take(), await second.take(), await first.take(), await second.take()] == [
        True,
        False,
    ] * 2


async def test_of_many_that_ask_at_once_one_gets_it(leases, documents):
    """Also the very first time, when there is no document yet."""
    taken = await asyncio.gather(*(leases(f"process {number}").take() for number in range(10)))
    assert taken.count(True) == 1
    assert documents.count_documents({}) == 1


async def test_taking_it_again_makes_it_last(leases, documents):
    lease = leases("first")
    await lease.take()
    documents.update_one({}, {"$set": {"until": PAST}})
    assert await lease.take()
    assert documents.find_one({})["until"] > PAST + timedelta(days=1)


async def test_when_its_holder_is_dead_the_next_one_gets_it_after_its_end(leases, documents):
    first, second = leases("first"), leases("second")
    await first.take()
    documents.update_one({}, {"$set": {"until": PAST}})
    assert await second.take()
    assert not await first.take()


async def test_it_ends_by_the_servers_clock(leases):
    await leases("first", seconds=0.2).take()
    second = leases("second")
    async with asyncio.timeout(60):
        while not await second.take():  # noqa: ASYNC110 - time itself is waited for
            await asyncio.sleep(0.02)


async def test_whoever_gives_it_up_lets_the_next_one_have_it_at_once(leases):
    first, second = leases("first"), leases("second")
    await first.take()
    await first.drop()
    assert await second.take()


async def test_nobody_gives_up_what_another_holds(leases):
    first, second = leases("first"), leases("second")
    await first.take()
    await second.drop()
    assert not await second.take()


async def test_leases_of_different_names_are_different_leases(leases):
    assert await leases("first").take()
    assert await leases("second", name="sweep").take()


async def test_keeping_it_is_one_command_on_an_index(leases, commands, mongo_client, store):
    lease = leases("first")
    await lease.take()
    commands.forget()
    commands.explain = mongo_client
    await lease.take()
    assert [name for name, _ in commands.on(store.database.name, "leases")] == ["update"]
    assert [plan.is_indexed for plan in commands.plans] == [True]


async def test_the_server_refuses_a_lease_without_an_end(leases, documents):
    await leases("first").take()
    with pytest.raises(WriteError):
        documents.update_one({}, {"$set": {"until": "never"}})
