"""What `shape` wants, compared with what the server has, and mended: validators, indexes, expiry, the view.

Idempotent, for `bot check --repair` and a start; two replicas may run it at once. Validators refuse unknown fields (a
misspelt or smuggled-in `isAdmin` never lands), while readers ignore them: so at an upgrade the repair runs first and
widens the validators, then replicas of both versions work side by side, and a new field becomes required one release
later. They are `moderate`: every insert and every sound document is checked, but a document from before a stricter
rule can still be committed to.
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
    for difference in differences:
        async with Calls():
            await difference.mend()
    return [difference.sentence for difference in differences]


async def _differences(database: AsyncDatabase[Document], expire_after: int) -> list[Difference]:
    found: list[Difference] = []
    for collection in collections(expire_after):
        rules = {"validator": collection.validator, **_CHECKED}
        found += await _compared(database, "Collection", collection.name, rules, "has another validator")
        found += await _index_differences(database, collection)
    for name, definition in OVERVIEW.items():
        found += await _compared(database, "View", name, definition, "is another one")
    return found


async def _compared(
    database: AsyncDatabase[Document], kind: str, name: str, wanted: Document, fault: str
) -> list[Difference]:
    """A collection's rules or a view's definition: the server keeps both as options, and changes both by collMod."""
    async with Calls():
        answer = await database.command("listCollections", filter={"name": name})
    existing = answer["cursor"]["firstBatch"]
    if not existing:
        return [Difference(f"{kind} {name} is missing.", lambda: _create(database, name, wanted))]
    options = existing[0]["options"]
    if {option: options.get(option) for option in wanted} == wanted:
        return []
    return [Difference(f"{kind} {name} {fault}.", lambda: database.command({"collMod": name, **wanted}))]


async def _create(database: AsyncDatabase[Document], name: str, options: Document) -> None:
    """Another replica may have been faster; it made the same."""
    try:
        await database.command({"create": name, **options})
    except OperationFailure as error:
        if error.code != _COLLECTION_EXISTS:
            raise


async def _index_differences(database: AsyncDatabase[Document], wanted: Collection) -> list[Difference]:
    async with Calls():
        existing = await database[wanted.name].index_information()
    compared = (_compared_index(database, wanted.name, index, existing.get(index.name)) for index in wanted.indexes)
    return [difference for difference in compared if difference]


def _compared_index(
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
