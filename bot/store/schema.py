"""The collections' shape: indexes, validators and expiry, compared with what the server has, and mended.

Idempotent, for `bot check --repair` and a start; two replicas may run it at once. Validators refuse unknown fields (a
misspelt or smuggled-in `isAdmin` never lands), while readers ignore them: so at an upgrade the repair runs first and
widens the validators, then replicas of both versions work side by side, and a new field becomes required one release
later. They are `moderate`: every insert and every sound document is checked, but a document from before a stricter
rule can still be committed to.

An emulation such as mongomock-motor knows no validators; `ensure_indexes` is all it can have.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pymongo.asynchronous.database import AsyncDatabase
from pymongo.errors import OperationFailure

from bot.errors import StartError
from bot.store.calls import Calls
from bot.store.documents import Document
from bot.store.validators import ARCHIVE, NOTES, SESSIONS

MOST_SECONDS = 2**31 - 1
_COLLECTION_EXISTS = 48
_OPTIONS = ("unique", "partialFilterExpression", "expireAfterSeconds")
_CHECKED = {"validationLevel": "moderate", "validationAction": "error"}


@dataclass(frozen=True, slots=True)
class Index:
    """One index, by name. `options` are createIndex's."""

    name: str
    keys: Mapping[str, int]
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Collection:
    """One collection with what the server shall enforce on it."""

    name: str
    validator: Document
    indexes: tuple[Index, ...]


@dataclass(frozen=True, slots=True)
class Difference:
    """What is not as it should be, as a sentence, and its mending."""

    sentence: str
    mend: Callable[[], Awaitable[object]]


def collections(expire_after: int) -> tuple[Collection, ...]:
    """All collections; Sessions vanish `expire_after` seconds after they were last active."""
    place = {"ownerId": 1, "chatId": 1, "threadId": 1}
    return (
        Collection(
            "sessions",
            SESSIONS,
            (
                Index("one_active", place, {"unique": True, "partialFilterExpression": {"status": "active"}}),
                Index("owner_recent", {"ownerId": 1, "lastActive": -1}),
                Index("idle_ttl", {"lastActive": 1}, {"expireAfterSeconds": _seconds(expire_after)}),
            ),
        ),
        Collection(
            "archive",
            ARCHIVE,
            (
                Index("one_of_each", {"ownerId": 1, "sessionId": 1, "seq": 1}, {"unique": True}),
                Index("expiry", {"expiresAt": 1}, {"expireAfterSeconds": 0}),
            ),
        ),
        Collection(
            "notes",
            NOTES,
            (
                Index("one_operation", {"ownerId": 1, "chatId": 1, "operationId": 1}, {"unique": True}),
                Index("in_order", {"ownerId": 1, "chatId": 1, "at": 1, "_id": 1}),
            ),
        ),
    )


async def inspect(database: AsyncDatabase[Document], expire_after: int) -> list[str]:
    """One sentence per difference; nothing is changed."""
    return [difference.sentence for difference in await _differences(database, expire_after)]


async def ensure(database: AsyncDatabase[Document], expire_after: int) -> list[str]:
    """Mend all differences; the sentences of what was mended."""
    differences = await _differences(database, expire_after)
    return await _mended(differences)


async def ensure_indexes(database: AsyncDatabase[Document], expire_after: int) -> list[str]:
    """Make the indexes only: for emulations that know neither validators nor collMod."""
    found = [await _index_differences(database, collection) for collection in collections(expire_after)]
    return await _mended([difference for some in found for difference in some])


async def _mended(differences: list[Difference]) -> list[str]:
    for difference in differences:
        async with Calls():
            await difference.mend()
    return [difference.sentence for difference in differences]


async def _differences(database: AsyncDatabase[Document], expire_after: int) -> list[Difference]:
    found: list[Difference] = []
    for collection in collections(expire_after):
        found += await _validator_differences(database, collection)
        found += await _index_differences(database, collection)
    return found


async def _validator_differences(database: AsyncDatabase[Document], wanted: Collection) -> list[Difference]:
    async with Calls():
        answer = await database.command("listCollections", filter={"name": wanted.name})
    rules = {"validator": wanted.validator, **_CHECKED}
    existing = answer["cursor"]["firstBatch"]
    if not existing:
        return [Difference(f"Collection {wanted.name} is missing.", lambda: _create(database, wanted.name, rules))]
    options = existing[0]["options"]
    if {name: options.get(name) for name in rules} == rules:
        return []
    sentence = f"Collection {wanted.name} has another validator."
    return [Difference(sentence, lambda: database.command({"collMod": wanted.name, **rules}))]


async def _create(database: AsyncDatabase[Document], name: str, rules: Document) -> None:
    """Another replica may have been faster; it made the same."""
    try:
        await database.command({"create": name, **rules})
    except OperationFailure as error:
        if error.code != _COLLECTION_EXISTS:
            raise


async def _index_differences(database: AsyncDatabase[Document], wanted: Collection) -> list[Difference]:
    async with Calls():
        existing = await database[wanted.name].index_information()
    compared = (_compared(database, wanted.name, index, existing.get(index.name)) for index in wanted.indexes)
    return [difference for difference in compared if difference]


def _compared(
    database: AsyncDatabase[Document], collection: str, index: Index, has: Mapping[str, Any] | None
) -> Difference | None:
    name = f"Index {collection}.{index.name}"
    if has is None:
        return Difference(f"{name} is missing.", lambda: _build(database, collection, index))
    found = {"keys": list(has["key"])} | {option: has.get(option) for option in _OPTIONS}
    wants: Document = {"keys": list(index.keys.items())} | {option: index.options.get(option) for option in _OPTIONS}
    if found == wants:
        return None
    expiry = wants["expireAfterSeconds"]
    if found | {"expireAfterSeconds": expiry} == wants:
        sentence = f"{name} expires after {found['expireAfterSeconds']} s instead of {expiry} s."
        return Difference(sentence, lambda: _change_expiry(database, collection, index.name, expiry))
    return Difference(f"{name} is another one.", lambda: _rebuild(database, collection, index))


async def _build(database: AsyncDatabase[Document], collection: str, index: Index) -> None:
    await database[collection].create_index(list(index.keys.items()), name=index.name, **index.options)


async def _rebuild(database: AsyncDatabase[Document], collection: str, index: Index) -> None:
    await database[collection].drop_index(index.name)
    await _build(database, collection, index)


async def _change_expiry(database: AsyncDatabase[Document], collection: str, name: str, seconds: int) -> None:
    """The server refuses to create an index anew with another expiry; collMod changes it without a rebuild."""
    await database.command({"collMod": collection, "index": {"name": name, "expireAfterSeconds": seconds}})


def _seconds(value: int) -> int:
    """The server takes NaN for "delete all at once", so nothing but a sensible int may reach it."""
    if not isinstance(value, int) or isinstance(value, bool) or not 0 < value <= MOST_SECONDS:
        raise StartError(f"SESSION_TTL_SECONDS + SESSION_RESUME_SECONDS must be a number from 1 to {MOST_SECONDS}.")
    return value
