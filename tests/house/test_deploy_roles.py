"""The shipped start script, roles, view and queries, on a real mongod that asks for passwords as
Compose's does.
"""

from __future__ import annotations

import asyncio
import copy
import json
import os
import re
import signal
import socket
import subprocess
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pymongo import AsyncMongoClient, MongoClient
from pymongo.database import Database
from pymongo.errors import OperationFailure

from bot.errors import StartError, StoreError
from bot.session import CompactionState, Summary
from bot.standins.errors import StandInError
from bot.standins.mongod import find
from bot.store.documents import from_session
from bot.store.mongo import collections, schema
from bot.store.mongo.overview import SHOWN
from bot.usage import Usage
from deploy.mongo.users import COLLECTIONS, ROLES, VIEW, prepare
from tests.builders import ANNA, BORIS, NOON, dialogue, session

DEPLOY = Path(__file__).parents[2] / "deploy"
KEPT = collections.Retention(1800)
LIFETIME = {"idleSeconds": 1800, "maxAgeSeconds": 31_536_000, "resumeSeconds": 0}
SECRET = "canary-of-a-private-talk"
REFUSED = 13
FLAGS = (
    "--bind_ip=127.0.0.1",
    "--noscripting",
    "--networkMessageCompressors=snappy,zstd",
    "--nounixsocket",
)
SMALL = "--wiredTigerEngineConfigString=cache_size=64M,log=(file_max=1MB,prealloc=false),session_max=500"
QUIET = (
    "--setParameter=diagnosticDataCollectionEnabled=false",
    "--setParameter=ttlMonitorEnabled=false",
)


@contextmanager
def server(
    command: list[str], dbpath: Path, environ: dict[str, str] | None = None
) -> Iterator[str]:
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    where = [f"--port={address.partition(':')[2]}", f"--dbpath={dbpath}"]
    running = subprocess.Popen(
        [*command, *where, *FLAGS, SMALL, *QUIET], stdout=subprocess.DEVNULL, env=environ
    )
    try:
        yield address
    finally:
        running.send_signal(signal.SIGTERM)
        assert running.wait(30) == 0


@pytest.fixture(scope="module")
def environ(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """What the setup step of Compose is told: first a mongod that makes root, as in the image, then
    the real one.
    """
    try:
        mongod = find(os.environ)
    except StandInError as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(str(error))
    folder = tmp_path_factory.mktemp("deploy")
    (dbpath := folder / "data").mkdir()
    passwords = {role.variable: f"password-of-{role.name}-0123" for role in ROLES}
    passwords["MONGODB_ROOT_PASSWORD"] = "password-of-root-0123"
    with server([str(mongod)], dbpath) as address, MongoClient[dict[str, Any]](address) as client:
        client.admin.command(
            "createUser", "root", pwd=passwords["MONGODB_ROOT_PASSWORD"], roles=["root"]
        )
    shim = folder / "docker-entrypoint.sh"
    shim.write_text('#!/bin/sh\nshift\nexec "$MONGOD" "$@"\n')
    shim.chmod(0o755)
    shell = {
        "PATH": f"{folder}:{os.environ['PATH']}",
        "MONGOD": str(mongod),
        "MONGODB_KEYFILE": str(folder / "keyfile"),
    }
    with server(["bash", str(DEPLOY / "mongo" / "start.sh")], dbpath, shell) as address:
        given = {"MONGODB_HOST": address, **passwords}
        prepare(given)
        yield given
    assert (folder / "keyfile").stat().st_mode & 0o777 == 0o600


@contextmanager
def login(environ: dict[str, str], name: str) -> Iterator[Database[dict[str, Any]]]:
    password = environ[f"MONGODB_{name.upper()}_PASSWORD"]
    with MongoClient[dict[str, Any]](
        environ["MONGODB_HOST"], username=name, password=password, replicaSet="rs0"
    ) as client:
        yield client["bot"]


def differences(
    environ: dict[str, str], name: str, ask: Callable[..., Awaitable[list[str]]]
) -> list[str]:
    """What the schema's own code says as this user."""

    async def asked() -> list[str]:
        password = environ[f"MONGODB_{name.upper()}_PASSWORD"]
        async with AsyncMongoClient[dict[str, Any]](
            environ["MONGODB_HOST"], username=name, password=password
        ) as client:
            return await ask(client["bot"], KEPT)

    return asyncio.run(asked())


@pytest.fixture(scope="module")
def documents(environ: dict[str, str]) -> list[dict[str, Any]]:
    """Two people's Sessions and four updates: the schema's user makes the collections, the bot's
    fills them.
    """
    assert differences(environ, "schema", schema.ensure)
    summary = Summary(text=SECRET, up_to=7, epoch=1, tokens=90, model="scripted", at=NOON)
    annas = session(
        "a" * 32, title=SECRET, messages=dialogue(3, first_seq=8, words=SECRET), summary=summary
    )
    annas.last_active, annas.usage = (
        datetime.now(UTC) - timedelta(seconds=60),
        Usage(input_tokens=200, output_tokens=100),
    )
    boriss = session(
        "b" * 32, BORIS, messages=dialogue(1, words=SECRET), compaction=CompactionState(fails=3)
    )
    boriss.usage = Usage(input_tokens=600, output_tokens=100)
    made = [from_session(annas), from_session(boriss)]
    with login(environ, "bot") as database:
        database.sessions.insert_many(made)
        database.settings.insert_one({"_id": "lifetime", **LIFETIME})
        states = ("queued", "done", "dead", "queued")
        database.inbox.insert_many(
            [WAITING | {"_id": n, "state": state} for n, state in enumerate(states)]
        )
    return made


WAITING = {
    "lane": "1:1:",
    "ownerId": 1,
    "kind": "content",
    "receivedAt": NOON,
    "fence": 0,
    "sent": [],
    "effects": [],
}
NOTE = {"operationId": "n", "text": "milk", "at": NOON}
ALLOWED = {
    "bot": ["find", "insert", "update", "remove"],
    "schema": ["createIndex", "collMod"],
    "viewer": ["overview"],
    "reader": ["find", "overview"],
}
TRIES = {
    "find": lambda database: database.sessions.find_one(),
    "insert": lambda database: database.notes.insert_one({"ownerId": 1, "chatId": None, **NOTE}),
    "update": lambda database: database.sessions.update_one(
        {"_id": "a" * 32}, {"$set": {"title": SECRET}}
    ),
    "remove": lambda database: database.notes.delete_one({"operationId": "n"}),
    "overview": lambda database: database[VIEW].find_one(),
    "createIndex": lambda database: database.lanes.create_index("ready"),
    "collMod": lambda database: database.command("collMod", "sessions", validationLevel="moderate"),
    "redefineView": lambda database: database.command(
        "collMod", VIEW, viewOn="sessions", pipeline=[{"$project": {"title": 1}}]
    ),
    "makeView": lambda database: database.command(
        "create", "all_words", viewOn="sessions", pipeline=[]
    ),
    "drop": lambda database: database.drop_collection("sessions"),
    "dropDatabase": lambda database: database.client.drop_database("bot"),
    "renameCollection": lambda database: database.sessions.rename("stolen"),
    "out": lambda database: database.sessions.aggregate([{"$out": "stolen"}]),
    "newCollection": lambda database: database.stolen.insert_one({}),
    "otherDatabase": lambda database: database.client["other"].stolen.find_one(),
    "createUser": lambda database: database.command("createUser", "eve", pwd="eve", roles=[]),
    "listUsers": lambda database: database.client.admin.command("usersInfo", 1),
}


@pytest.mark.parametrize("attempt", TRIES)
@pytest.mark.parametrize("name", ALLOWED)
def test_each_user_may_do_its_own_work_and_nothing_else(name, attempt, environ, documents):
    """The bot cannot drop or index, the schema's user cannot write, the viewer cannot read one word
    of a Session.
    """
    with login(environ, name) as database:
        if attempt in ALLOWED[name]:
            TRIES[attempt](database)
            return
        with pytest.raises(OperationFailure) as refused:
            TRIES[attempt](database)
        assert refused.value.code == REFUSED


def test_the_overview_counts_and_shows_no_word(environ, documents):
    with login(environ, "viewer") as database:
        anna, boris = database[VIEW].find().sort("ownerId")
    assert SECRET not in f"{anna}{boris}"
    assert (
        anna["messages"],
        anna["archived"],
        anna["summary"]["tokens"],
        anna["summary"]["gaps"],
    ) == (6, 8, 90, 0)
    assert (boris["messages"], boris["archived"], boris["summary"]) == (2, 0, {"gaps": 0})
    assert {*anna, *boris} <= {*SHOWN, "_id"}
    assert 60 <= anna["idleSeconds"] < 600 < anna["ageSeconds"]
    assert (anna["status"], boris["status"]) == ("active", "expired")
    assert anna["usage"].keys() == documents[0]["usage"].keys()


def test_no_text_of_a_session_is_among_what_the_overview_names(documents):
    """A field that is added to Sessions one day stays hidden, because only what is named is
    shown.
    """
    named = SHOWN
    assert not {"title", "task", "turns", "messages.content", "summary.text"} & named.keys()
    assert all(documents[0][name] != SECRET for name, shown in named.items() if shown == 1)


def test_the_overview_finds_an_owner_by_the_index(environ, documents):
    with login(environ, "root") as database:
        plan = database.command(
            "explain", {"find": VIEW, "filter": {"ownerId": ANNA.id}}, verbosity="queryPlanner"
        )
    assert "IXSCAN" in str(plan)
    assert "COLLSCAN" not in str(plan)


def test_the_bot_needs_nothing_mended_that_it_may_not_mend(environ, documents):
    """At its start the bot compares the schema with its own, narrow rights."""
    assert differences(environ, "bot", schema.inspect) == []


def test_an_older_overview_is_renewed_by_the_setup(environ, documents):
    """The schema's user can say that it differs, and no more: whoever could redefine it could make
    it show text.
    """
    with login(environ, "root") as database, login(environ, "viewer") as seen:
        database.command(
            "collMod", VIEW, viewOn="sessions", pipeline=[{"$project": {"ownerId": 1}}]
        )
        assert all(shown.keys() == {"_id", "ownerId"} for shown in seen[VIEW].find())
        assert differences(environ, "schema", schema.inspect) == [f"View {VIEW} is another one."]
        with pytest.raises(StoreError):
            differences(environ, "schema", schema.ensure)
        prepare(environ)
        assert all("messages" in shown for shown in seen[VIEW].find())


def collmod(name, **options):
    return lambda database: database.command("collMod", name, **options)


def other_index(*keys, **options):
    def put(database):
        database.sessions.drop_index(options["name"])
        database.sessions.create_index([*keys], **options)

    return put


def weaker(change):
    """The validator of Sessions, after `change` to its fields."""
    [sessions] = [one for one in collections.collections(KEPT) if one.name == "sessions"]
    rules = copy.deepcopy(sessions.validator)
    change(rules["$jsonSchema"])
    return collmod("sessions", validator=rules)


PLACE = (("ownerId", 1), ("chatId", 1), ("threadId", 1))
ACTIVE = {"status": "active"}
FAULTS: dict[str, tuple[Callable[[Any], object], str]] = {
    "no unique index": (
        lambda database: database.sessions.drop_index("one_active"),
        "sessions.one_active is missing",
    ),
    "no expiry": (
        lambda database: database.archive.drop_index("expiry"),
        "archive.expiry is missing",
    ),
    "not unique": (
        other_index(*PLACE, name="one_active", partialFilterExpression=ACTIVE),
        "sessions.one_active is another one",
    ),
    "other keys": (
        other_index(("ownerId", 1), name="one_active", unique=True, partialFilterExpression=ACTIVE),
        "sessions.one_active is another one",
    ),
    "another filter": (
        other_index(
            *PLACE, name="one_active", unique=True, partialFilterExpression={"status": "closed"}
        ),
        "sessions.one_active is another one",
    ),
    "another collation": (
        other_index(
            *PLACE,
            name="one_active",
            unique=True,
            partialFilterExpression=ACTIVE,
            collation={"locale": "en"},
        ),
        "sessions.one_active is another one",
    ),
    "expires at once": (
        collmod("sessions", index={"name": "idle_ttl", "expireAfterSeconds": 1}),
        "sessions.idle_ttl expires after 1 s",
    ),
    "a strange expiry": (
        lambda database: database.sessions.create_index(
            "createdAt", name="mine", expireAfterSeconds=1
        ),
        "sessions.mine makes documents expire",
    ),
    "no validator": (
        collmod("sessions", validator={}),
        "Collection sessions has another validator",
    ),
    "only warned": (
        collmod("sessions", validationAction="warn"),
        "Collection sessions has another validator",
    ),
    "not checked": (
        collmod("sessions", validationLevel="off"),
        "Collection sessions has another validator",
    ),
    "a date may be absent": (
        weaker(lambda rules: rules["required"].remove("lastActive")),
        "Collection sessions has another validator",
    ),
    "a date may be null": (
        weaker(lambda rules: rules["properties"]["lastActive"].update(bsonType=["date", "null"])),
        "Collection sessions has another validator",
    ),
    "any field": (
        weaker(lambda rules: rules.update(additionalProperties=True)),
        "Collection sessions has another validator",
    ),
    "any field of a kind": (
        weaker(lambda rules: rules.update(patternProperties={".*": {}})),
        "Collection sessions has another validator",
    ),
}


@pytest.mark.parametrize(("break_it", "sentence"), FAULTS.values(), ids=FAULTS)
def test_the_bot_does_not_start_without_what_it_relies_on(break_it, sentence, environ, documents):
    """Neither uniqueness, expiry nor a validator can be done without, and its own user may mend
    none.
    """
    with login(environ, "root") as database:
        break_it(database)
    try:
        with pytest.raises(StartError, match=re.escape(sentence)) as refused:
            differences(environ, "bot", schema.ensure_needed)
        assert len(str(refused.value).splitlines()) == 1
    finally:
        differences(environ, "root", schema.ensure)
    assert differences(environ, "bot", schema.ensure_needed) == []


HARMLESS = {
    "a slower index": lambda database: database.sessions.drop_index("owner_recent"),
    "an index of one's own": lambda database: database.sessions.create_index("title", name="own"),
    "a field of a newer version": weaker(
        lambda rules: rules["properties"].update(mood={"bsonType": "string"})
    ),
    "a value of a newer version": weaker(
        lambda rules: rules["properties"]["status"]["enum"].append("paused")
    ),
    "a field in a record": weaker(
        lambda rules: rules["properties"]["usage"]["properties"].update(
            thoughts={"bsonType": "int"}
        )
    ),
}


@pytest.mark.parametrize("change", HARMLESS.values(), ids=HARMLESS)
def test_the_bot_starts_beside_what_a_newer_version_or_the_operator_has_added(
    change, environ, documents
):
    """At an upgrade the repair comes first: until then the old version must be able to start
    again.
    """
    with login(environ, "root") as database:
        change(database)
    try:
        assert differences(environ, "bot", schema.ensure_needed) == []
    finally:
        differences(environ, "root", schema.ensure)


def test_on_an_empty_database_the_bot_does_not_start(environ, documents):
    """Whoever may insert may make a collection, but no index."""
    with login(environ, "root") as database:
        actions = ["find", "insert", "update", "remove", "listIndexes", "listCollections"]
        role = {"resource": {"db": "empty", "collection": ""}, "actions": actions}
        database.client["empty"].command("createRole", "bot", privileges=[role], roles=[])
        database.client.admin.command(
            "createUser", "eve", pwd="eve-0123456789ab", roles=[{"role": "bot", "db": "empty"}]
        )
    uri = f"mongodb://eve:eve-0123456789ab@{environ['MONGODB_HOST']}/?replicaSet=rs0"

    async def start():
        async with AsyncMongoClient[dict[str, Any]](uri) as client:
            await schema.ensure_needed(client["empty"], KEPT)

    with pytest.raises(
        StartError,
        match=r"may not mend what the bot needs .*: Index sessions.one_active is missing; .* more",
    ):
        asyncio.run(start())


def test_a_user_that_may_not_look_is_told_so(environ, documents):
    """Whether the indexes are there cannot be known then."""
    with pytest.raises(StartError, match="MONGODB_URI: its user cannot see"):
        differences(environ, "viewer", schema.ensure_needed)


def test_every_collection_of_the_schema_is_one_the_bot_may_use():
    assert {collection.name for collection in collections.collections(KEPT)} <= {*COLLECTIONS}


def test_setting_up_twice_changes_passwords_only(environ, documents):
    with login(environ, "root") as database:
        before = [
            database.command("rolesInfo", role.name, showPrivileges=True)["roles"] for role in ROLES
        ]
    prepare(environ | {"MONGODB_VIEWER_PASSWORD": "another-password-0123"})
    with login(
        environ | {"MONGODB_VIEWER_PASSWORD": "another-password-0123"}, "viewer"
    ) as database:
        assert database[VIEW].find_one()
    prepare(environ)
    with login(environ, "root") as database:
        assert before == [
            database.command("rolesInfo", role.name, showPrivileges=True)["roles"] for role in ROLES
        ]
        assert database.sessions.count_documents({}) == len(documents)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"MONGODB_BOT_PASSWORD": ""}, "MONGODB_BOT_PASSWORD must be"),
        ({"MONGODB_BOT_PASSWORD": "p@ss:word/0123456789"}, "MONGODB_BOT_PASSWORD must be"),
        (
            {"MONGODB_ROOT_PASSWORD": "not-the-first-one-0123"},
            "must be the one of the very first start",
        ),
    ],
    ids=["unset", "breaks an address", "changed later"],
)
def test_a_wrong_password_ends_the_setup_with_a_sentence(wrong, sentence, environ):
    with pytest.raises(SystemExit, match=sentence) as ended:
        prepare(environ | wrong)
    assert all(value not in str(ended.value) for value in wrong.values() if value)


QUERIES = re.findall(
    r"^```js\ndb\.(\w+)\.(find|aggregate)\((.+)\)\n```$",
    (DEPLOY / "README.md").read_text(encoding="utf-8"),
    re.MULTILINE,
)


FOUND = {
    "active": lambda found: [session["ownerId"] for session in found] == [ANNA.id],
    "tokens": lambda found: (
        [(person["_id"], person["tokens"]) for person in found] == [(BORIS.id, 700), (ANNA.id, 300)]
    ),
    "compaction": lambda found: [session["compactionFails"] for session in found] == [3],
    "inbox": lambda found: (
        [(state["_id"], state["updates"]) for state in found] == [("dead", 1), ("queued", 2)]
    ),
    "words": lambda found: (
        [len(session["messages"]) for session in found] == [4] and SECRET in str(found)
    ),
}


@pytest.mark.parametrize(
    ("query", "expected"), list(zip(QUERIES, FOUND.values(), strict=True)), ids=FOUND
)
def test_each_query_of_the_readme_finds_what_it_promises(query, expected, environ, documents):
    """Those on the view work for the viewer; the others for the reader."""
    collection, call, given = query
    arguments = json.loads(f"[{given}]".replace("0123456789abcdef" * 2, documents[0]["_id"]))
    with login(environ, "viewer" if collection == VIEW else "reader") as database:
        assert expected(list(getattr(database[collection], call)(*arguments)))
