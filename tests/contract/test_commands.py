"""What the store really sends, recorded by the driver: how many commands, each with its Owner, each
on an index.
"""

from __future__ import annotations

from datetime import timedelta

import pytest

from bot.owner import Owner, Place
from bot.ports import Note
from bot.session import CompactionState, Summary
from tests.builders import ANNA, ANNAS_CHAT, LIFETIME, NOON, closed_turn, dialogue, session

STATE = CompactionState()
SUMMARY = Summary("They talked.", 1, 1, 5, "small", NOON)
FILTERS = {
    "find": "filter",
    "findAndModify": "query",
    "aggregate": "pipeline",
    "count": "query",
    "distinct": "query",
}
IRRELEVANT = {
    "lsid",
    "txnNumber",
    "$clusterTime",
    "$db",
    "writeConcern",
    "maxTimeMS",
    "$readPreference",
    "readConcern",
}
EACH = {"update": ("updates", "q"), "delete": ("deletes", "q"), "insert": ("documents", None)}


def filters(name, command):
    """Every filter (or document to insert) of one command."""
    if name in FILTERS:
        return [command[FILTERS[name]]]
    field, inner = EACH[name]
    return [entry[inner] if inner else entry for entry in command[field]]


async def load(store, at=NOON):
    return await store.sessions.load(ANNA, ANNAS_CHAT, at=at, now=at, lifetime=LIFETIME)


async def every_method(store):
    """Each method of each port at least once, in the way it succeeds."""
    sessions, archive, notes = store.sessions, store.archive, store.notes
    await sessions.create(ANNA, session(messages=dialogue(2)))
    made = await load(store)
    await sessions.commit(ANNA, made, closed_turn(made))
    await sessions.postpone(ANNA, made, STATE)
    await archive.add(ANNA, made.id, made.messages[:2])
    await archive.of(ANNA, made.id)
    await archive.search(ANNA, [made.id], ["words"], 5)
    await sessions.inspect(ANNA, ANNAS_CHAT)
    await sessions.seen_from(ANNA, ANNAS_CHAT, LIFETIME.at(NOON))
    await sessions.search(ANNA, [made.id], ["words"], 5)
    await sessions.replace_summary(ANNA, made, SUMMARY, STATE)
    await sessions.exists(ANNA, made.id)
    await sessions.close(ANNA, ANNAS_CHAT)
    await sessions.create(ANNA, session("b" * 32))
    await sessions.expire(
        ANNA, ANNAS_CHAT, at=NOON + timedelta(days=2), now=NOON, lifetime=LIFETIME
    )
    await sessions.create(ANNA, session("c" * 32))
    await archive.erase(ANNA, await sessions.erase(ANNA, ANNAS_CHAT) or "")
    await notes.add(ANNA, ANNAS_CHAT, Note("op1", "tea", NOON))
    await notes.of(ANNA, ANNAS_CHAT)
    await notes.remove(ANNA, ANNAS_CHAT, "op1")


async def test_a_plain_turn_is_two_commands_on_sessions(store, commands):
    """One load, one commit, each with an equality on the Owner."""
    await store.sessions.create(ANNA, session())
    commands.sent.clear()
    made = await load(store)
    await store.sessions.commit(ANNA, made, closed_turn(made))
    sent = commands.on(store.database.name, "sessions")
    assert [name for name, _ in sent] == ["findAndModify", "update"]
    assert [each["ownerId"] for name, command in sent for each in filters(name, command)] == [
        ANNA.id
    ] * 2


async def test_no_write_is_an_upsert(store, commands):
    """A Session that is gone stays gone."""
    await every_method(store)
    written = [command for _, name, command in commands.sent if name in {"update", "findAndModify"}]
    updates = [entry for command in written for entry in command.get("updates", [command])]
    assert [entry for entry in updates if entry.get("upsert")] == []
    assert len(updates) >= 7


async def test_every_command_on_owned_collections_carries_the_owner(store, commands):
    """C57: equality with the Owner's own id, in each filter and each document."""
    await every_method(store)
    await store.sessions.find_by_update_ids(ANNA, [1])
    owned = {
        (collection, name, where["ownerId"])
        for collection in ("sessions", "archive", "notes")
        for name, command in commands.on(store.database.name, collection)
        for where in filters(name, command)
    }
    assert {owner for _, _, owner in owned} == {ANNA.id}
    assert len(owned) >= 9


async def every_method_needs_its_documents(store):
    """What the recorded commands looked for is there again when they are explained."""
    await store.sessions.create(ANNA, session("d" * 32))
    await store.archive.add(ANNA, session().id, dialogue(1))
    await store.notes.add(ANNA, ANNAS_CHAT, Note("op1", "tea", NOON))


@pytest.fixture
async def crowd(store):
    """Other people and other Sessions, so that a scan would show."""
    for number in range(1, 31):
        other = Owner(5000 + number)
        place = Place(other.id)
        await store.sessions.create(other, session(f"{number:032x}", other, place))
        await store.archive.add(other, f"{number:032x}", dialogue(3))
        await store.notes.add(other, place, Note("op1", "tea", NOON))
        closed = session(
            f"{number + 100:032x}", status="closed", created_at=NOON - timedelta(days=number)
        )
        await store.sessions.create(ANNA, closed)


async def test_every_query_finds_its_documents_through_an_index(
    store, commands, crowd, mongo_client
):
    """Keys and documents examined: no more than one beyond what is returned."""
    commands.sent.clear()
    await every_method(store)
    sent = [
        (name, command) for where, name, command in commands.sent if where == store.database.name
    ]
    await every_method_needs_its_documents(store)
    for name, command in sent:
        if name == "insert":
            continue
        stats = explained(mongo_client[store.database.name], command)
        limit = max(1, stats["nReturned"]) + 1
        assert (stats["totalKeysExamined"] <= limit, stats["totalDocsExamined"] <= limit) == (
            True,
            True,
        ), command


async def test_after_a_crash_only_the_session_of_the_turn_is_looked_at(
    store, commands, crowd, mongo_client
):
    commands.sent.clear()
    await store.sessions.find_by_update_ids(ANNA, [1])
    [(_, command)] = commands.on(store.database.name, "sessions")
    assert explained(mongo_client[store.database.name], command)["totalDocsExamined"] <= 1


def explained(database, command):
    """How the server runs this command; never by scanning a collection."""
    plain = {key: value for key, value in command.items() if key not in IRRELEVANT}
    plan = database.command("explain", plain, verbosity="executionStats")
    assert "COLLSCAN" not in str(plan["queryPlanner"]["winningPlan"])
    return plan["executionStats"]
