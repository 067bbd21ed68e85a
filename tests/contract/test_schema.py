"""What the server itself enforces: validators, uniqueness, expiry; and that `ensure` brings any
database there.
"""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import pytest
from pymongo.errors import OperationFailure, WriteError

from bot.errors import StartError
from bot.store import documents, turn_documents
from bot.store.mongo import schema
from bot.store.mongo.collections import Retention
from tests.builders import NOON, closed_turn, dialogue, message, session
from tests.raw_store import connect

DAY = Retention(86_400)


@pytest.fixture(params=["motor", "pymongo"])
async def bare(request, mongod, database):
    """A database in which nothing has been made yet."""
    opened = await connect(mongod, database, driver=request.param)
    yield opened.database
    await opened.close()


@pytest.fixture
def made(mongo_client, database):
    """The same database behind the store's back, made by `ensure` with a TTL of a day."""
    return mongo_client[database]


async def test_an_empty_database_is_described_and_mended(bare):
    found = await schema.inspect(bare, DAY)
    assert "Collection sessions is missing." in found
    assert "Index sessions.one_active is missing." in found
    assert await schema.ensure(bare, DAY) == found
    assert await schema.inspect(bare, DAY) == []


async def test_mending_twice_changes_nothing(bare):
    await schema.ensure(bare, DAY)
    assert await schema.ensure(bare, DAY) == []


async def test_two_replicas_may_mend_at_once(bare):
    await asyncio.gather(*(schema.ensure(bare, DAY) for _ in range(4)))
    assert await schema.inspect(bare, DAY) == []


async def test_inspecting_changes_nothing(bare, made):
    await schema.inspect(bare, DAY)
    assert made.list_collection_names() == []


async def test_a_changed_expiry_is_seen_and_mended_in_place(bare, made):
    """createIndex would refuse it (85); the index is not built anew."""
    await schema.ensure(bare, DAY)
    assert await schema.inspect(bare, Retention(60)) == [
        "Index sessions.idle_ttl expires after 86400 s instead of 60 s."
    ]
    await schema.ensure(bare, Retention(60))
    assert made["sessions"].index_information()["idle_ttl"]["expireAfterSeconds"] == 60
    assert await schema.inspect(bare, Retention(60)) == []


async def test_an_index_of_another_shape_is_replaced(bare, made):
    await schema.ensure(bare, DAY)
    made["sessions"].drop_index("one_active")
    made["sessions"].create_index([("ownerId", 1)], name="one_active")
    assert await schema.inspect(bare, DAY) == ["Index sessions.one_active is another one."]
    await schema.ensure(bare, DAY)
    assert made["sessions"].index_information()["one_active"]["unique"] is True


async def test_a_loosened_validator_is_seen_and_mended(bare, made):
    await schema.ensure(bare, DAY)
    made.command("collMod", "sessions", validator={})
    assert await schema.inspect(bare, DAY) == ["Collection sessions has another validator."]
    await schema.ensure(bare, DAY)
    with pytest.raises(WriteError):
        made["sessions"].insert_one({"_id": "x"})


@pytest.mark.parametrize("seconds", [0, -1, 1.5, float("nan"), True, 2**31], ids=str)
async def test_an_expiry_that_would_delete_everything_is_refused(bare, seconds):
    """The server takes 1.5, and NaN as 0."""
    with pytest.raises(StartError, match="SESSION_TTL_SECONDS"):
        await schema.ensure(bare, Retention(seconds))
    with pytest.raises(StartError, match="ARCHIVE_DAYS"):
        await schema.ensure(bare, Retention(60, seconds))


async def test_an_operators_own_index_is_left_alone(bare, made):
    await schema.ensure(bare, DAY)
    made["sessions"].create_index("title", name="mine")
    assert await schema.ensure(bare, DAY) == []
    assert "mine" in made["sessions"].index_information()


# --------------------------------------------------------------------------------------- validators


@pytest.fixture
async def guarded(bare, made):
    """The collections under their validators, with one sound Session of each kind of field."""
    await schema.ensure(bare, DAY)
    made["sessions"].insert_one(sound())
    return made


def sound(**changes):
    return documents.from_session(session(messages=dialogue(2))) | changes


def refused(write):
    with pytest.raises((WriteError, OperationFailure)) as caught:
        write()
    return caught.value.code


WRONG = {
    "no_last_active": {"lastActive": None},
    "last_active_as_text": {"lastActive": "2026-01-05T12:00:00Z"},
    "last_active_in_a_list": {"lastActive": [NOON]},
    "created_as_number": {"createdAt": 1_767_614_400},
    "owner_as_text": {"ownerId": "1001"},
    "no_owner": {"ownerId": None},
    "unknown_field": {"isAdmin": True},
    "unknown_status": {"status": "running"},
    "system_message": {"messages": [documents.from_message(message(0)) | {"role": "system"}]},
    "message_without_date": {"messages": [documents.from_message(message(0)) | {"at": "noon"}]},
    "too_many_messages": {"messages": [documents.from_message(message(seq)) for seq in range(401)]},
    "messages_as_text": {"messages": "none"},
    "no_usage": {"usage": {}},
    "chosen_id": {"_id": "../etc"},
    "negative_revision": {"revision": -1},
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_the_server_refuses_a_document_that_is_not_ours(guarded, wrong):
    """C106: above all one whose lastActive is no date, since it would never expire."""
    guarded["sessions"].delete_many({})
    assert refused(lambda: guarded["sessions"].insert_one(sound(**wrong))) == 121


@pytest.mark.parametrize("field", sorted(documents.from_session(session()).keys() - {"_id"}))
def test_the_server_misses_every_field(guarded, field):
    incomplete = sound(_id="b" * 32, status="closed")
    del incomplete[field]
    assert refused(lambda: guarded["sessions"].insert_one(incomplete)) == 121


@pytest.mark.parametrize(
    "update",
    [
        {"$unset": {"lastActive": ""}},
        {"$set": {"lastActive": "now"}},
        {"$set": {"isAdmin": True}},
        {"$push": {"messages": {"seq": 1}}},
        {"$set": {"ownerId": {"$gt": 0}}},
    ],
    ids=["unset_date", "date_as_text", "unknown_field", "half_a_message", "owner_as_mapping"],
)
def test_the_server_refuses_an_update_that_would_spoil_a_document(guarded, update):
    assert refused(lambda: guarded["sessions"].update_one({}, update)) == 121


def test_a_document_from_before_a_stricter_rule_can_still_be_updated(guarded):
    """C10: the first message after an upgrade is not lost to the new validator."""
    old = sound(_id="b" * 32, status="closed")
    del old["compaction"]
    guarded.command("collMod", "sessions", validationAction="warn")
    guarded["sessions"].insert_one(old)
    guarded.command("collMod", "sessions", validationAction="error")
    changes = turn_documents.turn_update(session(), closed_turn(session()))
    assert guarded["sessions"].update_one({"_id": old["_id"]}, changes).modified_count == 1


@pytest.mark.parametrize("collection", ["archive", "notes"])
def test_archive_and_notes_are_guarded_too(guarded, collection):
    """An archive row without a date would stay for ever."""
    assert refused(lambda: guarded[collection].insert_one({"ownerId": 1, "at": "later"})) == 121


# ------------------------------------------------------------------------------------------- expiry


@contextmanager
def ttl_monitor(client):
    """The server's own garbage collection, which sleeps in all other tests."""
    try:
        client.admin.command("setParameter", 1, ttlMonitorEnabled=True)
        yield
    finally:
        client.admin.command("setParameter", 1, ttlMonitorEnabled=False)


async def becomes(condition):
    for _ in range(1800):
        if condition():
            return True
        await asyncio.sleep(0.05)
    return False


async def test_the_server_deletes_what_is_past_its_time_and_nothing_else(
    guarded, mongo_client, clock
):
    """C111: the TTL index really works there, on Sessions (whatever their status) and on archive
    rows.
    """
    now = datetime.now(UTC)
    row = {"ownerId": 1, "sessionId": "x"} | documents.from_message(message(0))
    guarded["sessions"].delete_many({})
    ages = {"a": timedelta(0), "b": timedelta(days=2), "c": timedelta(hours=23)}
    guarded["sessions"].insert_many(
        [sound(_id=name * 32, status="closed", lastActive=now - age) for name, age in ages.items()]
    )
    guarded["archive"].insert_many(
        [
            row | {"seq": 1, "at": now - timedelta(days=41)},
            row | {"at": now - timedelta(days=39)},
        ]
    )
    with ttl_monitor(mongo_client):
        assert await becomes(
            lambda: set(guarded["sessions"].distinct("_id")) == {"a" * 32, "c" * 32}
        )
        assert await becomes(lambda: guarded["archive"].distinct("seq") == [0])


async def test_what_is_archived_lives_as_long_as_the_rule_of_today_says(bare, made):
    """C157: no row carries its own end, so one setting counts for all that is stored."""
    await schema.ensure(bare, Retention(60, 60))
    now = datetime.now(UTC)
    row = {"ownerId": 1, "sessionId": "x"} | documents.from_message(message(0))
    made["archive"].insert_one(row | {"at": now - timedelta(hours=1)})
    assert await schema.ensure(bare, Retention(60, 7200)) == [
        "Index archive.expiry expires after 60 s instead of 7200 s."
    ]
    with ttl_monitor(made.client):
        made["sessions"].insert_one(sound(lastActive=now - timedelta(minutes=2)))
        assert await becomes(lambda: made["sessions"].count_documents({}) == 0)
    assert made["archive"].distinct("seq") == [0]


async def test_rows_of_the_version_before_follow_the_rule_of_today(bare, made):
    """C157: each of them says when it ends, in days counted when it was written."""
    await schema.ensure(bare, DAY)
    made["archive"].drop_index("expiry")
    made["archive"].create_index("expiresAt", name="expiry", expireAfterSeconds=0)
    row = {"ownerId": 1, "sessionId": "x"} | documents.from_message(message(0))
    made["archive"].insert_one(row | {"expiresAt": datetime.now(UTC) - timedelta(days=1)})
    assert await schema.ensure(bare, DAY) == ["Index archive.expiry is another one."]
    assert "expiresAt" not in str(made["archive"].index_information())
