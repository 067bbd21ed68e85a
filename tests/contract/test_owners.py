"""The Owners port: what people have chosen outlives their Sessions, and each has their own."""

from __future__ import annotations

import asyncio

import pytest

from bot.errors import StoreError
from bot.ports import Preferences
from tests.builders import ANNA, BORIS, NOON


async def test_who_has_chosen_nothing_prefers_nothing(stores):
    assert await stores.owners.preferences(ANNA) == Preferences()


async def test_a_choice_is_kept_for_its_owner_alone(stores):
    await stores.owners.prefer(ANNA, Preferences(model="opus"))
    assert await stores.owners.preferences(ANNA) == Preferences(model="opus")
    assert await stores.owners.preferences(BORIS) == Preferences()


async def test_a_new_choice_takes_the_place_of_the_old_and_leaves_the_others(stores):
    await stores.owners.prefer(ANNA, Preferences(model="opus", persona="teacher"))
    await stores.owners.prefer(ANNA, Preferences(persona=""))
    assert await stores.owners.preferences(ANNA) == Preferences(model="opus", persona="")


async def test_first_choices_made_at_once_are_all_kept(store):
    """The server lets one of two first inserts of a document fail."""
    for choices in (Preferences(model="opus"), Preferences(persona="teacher")):
        await asyncio.gather(*(store.owners.prefer(ANNA, choices) for _ in range(8)))
    assert await store.owners.preferences(ANNA) == Preferences("opus", "teacher")


@pytest.mark.parametrize("forged", [7, {"$ne": 0}, None], ids=str)
async def test_nobody_but_an_owner_has_preferences(stores, forged):
    """C58."""
    with pytest.raises(TypeError):
        await stores.owners.preferences(forged)


async def test_the_server_takes_nothing_else_about_an_owner(store):
    with pytest.raises(StoreError):
        async with store.calls:
            await store.database["owners"].insert_one({"_id": 7, "isAdmin": True})


async def test_who_cannot_be_reached_is_marked_until_they_speak_again(store):
    await store.owners.prefer(ANNA, Preferences(model="opus"))
    for owner in (ANNA, BORIS):
        await store.owners.unreachable(owner, NOON)
    await store.owners.reached(ANNA)
    found = {one["_id"]: one for one in await store.database["owners"].find().to_list(None)}
    assert found == {
        ANNA.id: {"_id": ANNA.id, "model": "opus"},
        BORIS.id: {"_id": BORIS.id, "unreachable": NOON},
    }
    assert await store.owners.preferences(ANNA) == Preferences(model="opus")


async def test_to_be_out_of_reach_is_no_choice(stores):
    await stores.owners.unreachable(ANNA, NOON)
    assert await stores.owners.preferences(ANNA) == Preferences()
    await stores.owners.reached(ANNA)
    await stores.owners.reached(BORIS)
