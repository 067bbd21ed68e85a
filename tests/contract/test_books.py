"""The Books port: what each Owner has used, by day, and never what anybody else has."""

from __future__ import annotations

import asyncio
from datetime import timedelta, timezone

import pytest

from bot.errors import StoreError
from bot.session import Usage
from tests import builders
from tests.builders import ANNA, BORIS

NOON = builders.NOON.replace(year=2100)
"""Later than mongomock-motor, which expires rows by the machine's clock, could object to."""
SPENT = Usage(100, 10, 1, 2, 1)


async def test_what_was_used_adds_up_over_a_day(stores):
    for _ in range(2):
        await stores.books.add(ANNA, NOON, SPENT)
    assert await stores.books.of(ANNA, NOON + timedelta(hours=3)) == Usage(200, 20, 2, 4, 2)


async def test_another_day_and_another_owner_have_their_own(stores):
    await stores.books.add(ANNA, NOON, SPENT)
    assert await stores.books.of(ANNA, NOON + timedelta(days=1)) == Usage()
    assert await stores.books.of(BORIS, NOON) == Usage()


async def test_a_day_begins_at_midnight_utc_wherever_the_clock_stands(stores):
    moscow = timezone(timedelta(hours=3))
    await stores.books.add(ANNA, NOON.replace(hour=22).astimezone(moscow), SPENT)
    assert await stores.books.of(ANNA, NOON) == SPENT


async def test_turns_that_end_at_once_are_all_booked(store):
    """The server lets one of two first inserts of a row fail."""
    await asyncio.gather(*(store.books.add(ANNA, NOON, SPENT) for _ in range(20)))
    assert (await store.books.of(ANNA, NOON)).turns == 20


@pytest.mark.parametrize("forged", [7, {"$ne": 0}, None], ids=str)
async def test_nobody_but_an_owner_has_a_row(stores, forged):
    """C58."""
    with pytest.raises(TypeError):
        await stores.books.of(forged, NOON)


async def test_the_server_takes_no_row_without_its_day(store):
    with pytest.raises(StoreError):
        async with store.calls:
            await store.database["usage"].insert_one({"ownerId": 7, "inputTokens": 1})
