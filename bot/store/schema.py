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
from dataclasses import dataclass
from typing import Any

from pymongo.asynchronous.database import AsyncDatabase
from pymongo.errors import OperationFailure

from bot.store.calls import Calls
from bot.store.documents import Document
from bot.store.shape import OVERVIEW, Collection, Index, collections

_COLLECTION_EXISTS = 48
_OPTIONS = ("unique", "partialFilterExpression", "expireAfterSeconds")
_CHECKED = {"validationLevel": "moderate", "validationAction": "error"}


@dataclass(frozen=True, slots=True)
class Difference:
    """What is not as it should be, as a sentence, and its mending."""

    sentence: str
    mend: Callable[[], Awaitable[object]]


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
    return found + await _view_differences(database)


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


async def _view_differences(database: AsyncDatabase[Document]) -> list[Difference]:
    (name, wanted), *_ = OVERVIEW.items()
    async with Calls():
        answer = await database.command("listCollections", filter={"name": name})
    existing = answer["cursor"]["firstBatch"]
    if not existing:
        return [Difference(f"View {name} is missing.", lambda: _create(database, name, wanted))]
    if existing[0]["options"] == wanted:
        return []
    return [Difference(f"View {name} is another one.", lambda: database.command({"collMod": name, **wanted}))]


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
