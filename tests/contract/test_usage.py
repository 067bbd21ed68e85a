"""The Books port: what each Owner has used, by day, and never what anybody else has."""

from __future__ import annotations

import asyncio
from datetime import timedelta, timezone

import pytest

from bot.errors import StoreError
from bot.ports import Reservation
from bot.usage import Usage
from tests import builders
from tests.builders import ANNA, BORIS
from tests.contract.conftest import DRIVERS

NOON = builders.NOON.replace(year=2100)
"""Later than mongomock-motor, which expires rows by the machine's clock, could object to."""
SPENT = Usage(100, 10, 1, 2, 1)


async def test_what_was_used_adds_up_over_a_day(stores):
    for _ in range(2):
        await stores.usage_store.add(ANNA, NOON, SPENT, turn=1)
    assert await stores.usage_store.of(ANNA, NOON + timedelta(hours=3)) == Usage(200, 20, 2, 4, 2)


async def test_another_day_and_another_owner_have_their_own(stores):
    await stores.usage_store.add(ANNA, NOON, SPENT, turn=1)
    assert await stores.usage_store.of(ANNA, NOON + timedelta(days=1)) == Usage()
    assert await stores.usage_store.of(BORIS, NOON) == Usage()


async def test_a_day_begins_at_midnight_utc_wherever_the_clock_stands(stores):
    moscow = timezone(timedelta(hours=3))
    await stores.usage_store.add(ANNA, NOON.replace(hour=22).astimezone(moscow), SPENT, turn=1)
    assert await stores.usage_store.of(ANNA, NOON) == SPENT


async def test_turns_that_end_at_once_are_all_booked(store):
    """The server lets one of two first inserts of a row fail."""
    await asyncio.gather(*(store.usage_store.add(ANNA, NOON, SPENT, turn=1) for _ in range(20)))
    assert (await store.usage_store.of(ANNA, NOON)).turns == 20


@pytest.mark.parametrize("forged", [7, {"$ne": 0}, None], ids=str)
async def test_nobody_but_an_owner_has_a_row(stores, forged):
    """C58."""
    with pytest.raises(TypeError):
        await stores.usage_store.of(forged, NOON)


async def test_the_server_takes_no_row_without_its_day(store):
    with pytest.raises(StoreError):
        async with store.calls:
            await store.database["usage"].insert_one({"ownerId": 7, "inputTokens": 1})


# ------------------------------------------------------------------------------------ setting aside

KEEP = timedelta(minutes=3)


def hold(turn, minimum=10, maximum=40):
    return Reservation(turn, minimum, maximum, KEEP)


real = pytest.mark.parametrize("stores", ["memory", *DRIVERS], indirect=True)
"""mongomock-motor knows no update pipelines."""


@real
async def test_what_is_set_aside_counts_until_it_is_settled(stores):
    """C80: what others have reserved is as good as spent."""
    assert await stores.usage_store.reserve(ANNA, NOON, hold(1), 100) == 40
    assert await stores.usage_store.reserve(ANNA, NOON, hold(2), 100) == 40
    assert await stores.usage_store.reserve(ANNA, NOON, hold(3), 100) == 20
    assert await stores.usage_store.reserve(ANNA, NOON, hold(4), 100) == 0
    await stores.usage_store.add(ANNA, NOON, Usage(input_tokens=5), turn=1)
    assert await stores.usage_store.reserve(ANNA, NOON, hold(4), 100) == 35
    assert await stores.usage_store.of(ANNA, NOON) == Usage(input_tokens=5)


@real
async def test_every_kind_of_token_counts_and_turns_do_not(stores):
    await stores.usage_store.add(ANNA, NOON, Usage(10, 10, 10, 10, turns=60), turn=1)
    assert await stores.usage_store.reserve(ANNA, NOON, hold(1, maximum=100), 100) == 60


@real
async def test_a_turn_that_asks_again_has_one_reservation(stores):
    await stores.usage_store.reserve(ANNA, NOON, hold(1), 100)
    assert await stores.usage_store.reserve(ANNA, NOON, hold(1, maximum=90), 100) == 90
    assert await stores.usage_store.reserve(ANNA, NOON, hold(2), 100) == 10


@real
async def test_a_turn_that_gets_no_more_keeps_what_it_has(stores):
    await stores.usage_store.reserve(ANNA, NOON, hold(1), 100)
    assert (
        await stores.usage_store.reserve(ANNA, NOON, hold(1, minimum=101, maximum=200), 100) == 100
    )
    assert await stores.usage_store.reserve(ANNA, NOON, hold(2, maximum=100), 100) == 60


@real
async def test_what_a_dead_turn_has_set_aside_is_free_again_after_its_time(stores):
    await stores.usage_store.reserve(ANNA, NOON, hold(1, maximum=100), 100)
    assert (
        await stores.usage_store.reserve(ANNA, NOON + KEEP - timedelta(seconds=1), hold(2), 100)
        == 0
    )
    assert await stores.usage_store.reserve(ANNA, NOON + KEEP, hold(2), 100) == 40


@real
async def test_nobody_pays_for_somebody_else(stores):
    await stores.usage_store.reserve(ANNA, NOON, hold(1, maximum=100), 100)
    assert await stores.usage_store.reserve(BORIS, NOON, hold(2), 100) == 40
    assert await stores.usage_store.reserve(ANNA, NOON + timedelta(days=1), hold(3), 100) == 40


async def test_twenty_that_ask_at_once_get_no_more_than_there_is(store):
    """C80: on a real server, from the first row of the day on."""
    granted = await asyncio.gather(
        *(store.usage_store.reserve(ANNA, NOON, hold(turn), 100) for turn in range(1, 21))
    )
    assert sorted(granted)[-3:] == [20, 40, 40]
    assert sum(granted) == 100
