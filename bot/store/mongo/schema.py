"""What `shape` wants, compared with what the server has, and mended: validators, indexes, expiry,
the view.

Idempotent, for `bot check --repair` and a start; two replicas may run it at once. Validators refuse
unknown fields (a misspelt or smuggled-in `isAdmin` never lands), while readers ignore them: so at
an upgrade the repair runs first and widens the validators, then replicas of both versions work side
by side, and a new field becomes required one release later. They are `moderate`: every insert and
every sound document is checked, but a document from before a stricter rule can still be committed
to.

A bot whose user may mend nothing works on what was mended before, but never without what it relies
on: uniqueness, expiry, validators. One that a newer version has widened is still a validator; one
that lets more pass is none. An index of somebody's own may stand beside ours unless it makes
documents expire.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from pymongo.asynchronous.database import AsyncDatabase
from pymongo.errors import OperationFailure

from bot.errors import StartError, StoreError
from bot.store.documents import Document
from bot.store.mongo.collections import Collection, Index, Retention, collections
from bot.store.mongo.driver_gate import DriverGate
from bot.store.mongo.overview import OVERVIEW

_COLLECTION_EXISTS = 48
_OPTIONS = (
    "unique",
    "partialFilterExpression",
    "expireAfterSeconds",
    "sparse",
    "collation",
    "hidden",
)
_RELIED_ON = {"unique", "expireAfterSeconds"}
_NAMED = 3
"""So many faults one sentence can hold."""
_CHECKED = {"validationLevel": "moderate", "validationAction": "error"}


@dataclass(frozen=True, slots=True)
class Difference:
    """What is not as it should be, as a sentence, and its mending."""

    sentence: str
    mend: Callable[[], Awaitable[object]]
    needed: bool = False
    """Whether the bot cannot keep its promises as long as it is so."""


async def inspect(database: AsyncDatabase[Document], retention: Retention) -> list[str]:
    """One sentence per difference; nothing is changed."""
    return [difference.sentence for difference in await _differences(database, retention)]


async def ensure(database: AsyncDatabase[Document], retention: Retention) -> list[str]:
    """Mend all differences; the sentences of what was mended."""
    differences = await _differences(database, retention)
    for difference in differences:
        async with DriverGate():
            await difference.mend()
    return [difference.sentence for difference in differences]


async def ensure_needed(database: AsyncDatabase[Document], retention: Retention) -> list[str]:
    """Mend what this user may; the sentences of what was mended.

    Raises StartError where the bot needs the rest.
    """
    mended, lacking = [], []
    try:
        for difference in await _differences(database, retention):
            try:
                async with DriverGate():
                    await difference.mend()
            except StoreError:
                lacking += [difference.sentence] if difference.needed else []
            else:
                mended.append(difference.sentence)
    except StoreError as fault:
        raise StartError(
            f"MONGODB_URI: its user cannot see whether indexes and validators are there: {fault}"
        ) from None
    if lacking:
        raise StartError(_refusal(lacking))
    return mended


def _refusal(lacking: Sequence[str]) -> str:
    named = "; ".join(sentence.rstrip(".") for sentence in lacking[:_NAMED])
    more = f"; and {len(lacking) - _NAMED} more" if len(lacking) > _NAMED else ""
    return (
        f"MONGODB_URI: its user may not mend what the bot needs (`bot check --repair` as "
        f"another does): {named}{more}."
    )


async def _differences(database: AsyncDatabase[Document], retention: Retention) -> list[Difference]:
    found: list[Difference] = []
    for collection in collections(retention):
        rules = {"validator": collection.validator, **_CHECKED}
        found += await _compared(database, "Collection", collection.name, rules)
        found += await _index_differences(database, collection)
    for name, definition in OVERVIEW.items():
        found += await _compared(database, "View", name, definition)
    return found


async def _compared(
    database: AsyncDatabase[Document], kind: str, name: str, wanted: Document
) -> list[Difference]:
    """A collection's rules or a view's definition: the server keeps both as options, and changes
    both by collMod.
    """
    async with DriverGate():
        answer = await database.command("listCollections", filter={"name": name})
    existing, is_needed = answer["cursor"]["firstBatch"], kind == "Collection"
    if not existing:
        return [
            Difference(
                f"{kind} {name} is missing.", lambda: _create(database, name, wanted), is_needed
            )
        ]
    found = {option: existing[0]["options"].get(option) for option in wanted}
    if found == wanted:
        return []
    fault = "has another validator" if is_needed else "is another one"
    change = partial(database.command, {"collMod": name, **wanted})
    return [
        Difference(f"{kind} {name} {fault}.", change, is_needed and not is_as_strict(found, wanted))
    ]


def is_as_strict(found: object, wanted: object) -> bool:
    """Whether these rules refuse what the wanted ones do, but for fields and values that a newer
    version knows.
    """
    if not isinstance(found, Mapping) or not isinstance(wanted, Mapping):
        return bool(found == wanted)
    return found.keys() == wanted.keys() and all(
        _KEEPS.get(key, is_as_strict)(found[key], wanted[key]) for key in wanted
    )


def _knows_more_fields(found: object, wanted: object) -> bool:
    if not isinstance(found, Mapping) or not isinstance(wanted, Mapping):
        return False
    return all(name in found and is_as_strict(found[name], rule) for name, rule in wanted.items())


def _holds_all(found: object, wanted: object) -> bool:
    if not isinstance(found, list) or not isinstance(wanted, list):
        return False
    return all(one in found for one in wanted)


_KEEPS = {"properties": _knows_more_fields, "enum": _holds_all, "required": _holds_all}
"""The keywords that a newer version may add to: it knows more fields, more values, and asks for
more.
"""


async def _create(database: AsyncDatabase[Document], name: str, options: Document) -> None:
    """Another replica may have been faster; it made the same."""
    try:
        await database.command({"create": name, **options})
    except OperationFailure as error:
        if error.code != _COLLECTION_EXISTS:
            raise


async def _index_differences(
    database: AsyncDatabase[Document], wanted: Collection
) -> list[Difference]:
    async with DriverGate():
        existing = await database[wanted.name].index_information()
    compared = [
        _compared_index(database, wanted.name, index, existing.get(index.name))
        for index in wanted.indexes
    ]
    strange = existing.keys() - {index.name for index in wanted.indexes}
    expiring = (name for name in sorted(strange) if "expireAfterSeconds" in existing[name])
    return [difference for difference in compared if difference] + [
        Difference(
            f"Index {wanted.name}.{name} makes documents expire and is not the bot's.",
            partial(database[wanted.name].drop_index, name),
            needed=True,
        )
        for name in expiring
    ]


def _compared_index(
    database: AsyncDatabase[Document], collection: str, index: Index, has: Document | None
) -> Difference | None:
    name, is_needed = f"Index {collection}.{index.name}", bool(_RELIED_ON & index.options.keys())
    if has is None:
        return Difference(
            f"{name} is missing.", lambda: _build(database, collection, index), is_needed
        )
    found = {"keys": list(has["key"])} | {option: has.get(option) for option in _OPTIONS}
    wants: Document = {"keys": list(index.keys.items())} | {
        option: index.options.get(option) for option in _OPTIONS
    }
    if found == wants:
        return None
    expiry = wants["expireAfterSeconds"]
    if found | {"expireAfterSeconds": expiry} == wants:
        sentence = f"{name} expires after {found['expireAfterSeconds']} s instead of {expiry} s."
        return Difference(
            sentence, lambda: _change_expiry(database, collection, index.name, expiry), is_needed
        )
    return Difference(
        f"{name} is another one.", lambda: _rebuild(database, collection, index), is_needed
    )


async def _build(database: AsyncDatabase[Document], collection: str, index: Index) -> None:
    await database[collection].create_index(
        list(index.keys.items()), name=index.name, **index.options
    )


async def _rebuild(database: AsyncDatabase[Document], collection: str, index: Index) -> None:
    await database[collection].drop_index(index.name)
    await _build(database, collection, index)


async def _change_expiry(
    database: AsyncDatabase[Document], collection: str, name: str, seconds: int
) -> None:
    """The server refuses to create an index anew with another expiry; collMod changes it without a
    rebuild.
    """
    await database.command(
        {"collMod": collection, "index": {"name": name, "expireAfterSeconds": seconds}}
    )
