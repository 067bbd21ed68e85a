"""Seeded storms over real processes: nothing is lost, nothing given to the model twice, every lane
in order.

The shortest one runs with the other tests; the long ones by name: `pytest -m chaos -s
tests/process/chaos`.
"""

from __future__ import annotations

import random
import sys

import pytest

from tests.process.chaos.ledger import read
from tests.process.chaos.storm import Storm, Weather, table
from tests.process.chaos.town import hooked
from tests.process.chaos.verdict import judge


async def pass_over(town, mongo, weather, *, seed, patience=120):
    town.claude.faults.slow(0.03)
    storm = Storm(town, mongo, weather, random.Random(seed))
    await storm.run(patience)
    verdict = judge(read(town))
    sys.stdout.write(f"\nseed {seed}\n{table(storm, verdict)}\n")
    assert verdict.is_clean, str(verdict)
    assert verdict.fates["failed"] == 0
    assert verdict.fates["parked"] <= 0.01 * sum(verdict.fates.values())
    assert verdict.fates["answered"] > 0.8 * sum(verdict.fates.values())
    return storm, verdict


async def test_a_squall_over_three_replicas(calm):
    """C13, C14, C20, C24"""
    async with calm(seed=5) as town, hooked(town, twice=0.1, late=0.1):
        await town.start(3)
        weather = Weather(
            people=12, messages=60, kills=2, freezes=1, pause=1.0, calm=0.7, commands=0.08, faults=1
        )
        storm, _ = await pass_over(town, None, weather, seed=5, patience=60)
    assert (storm.done["killed"], storm.done["frozen"]) == (2, 1)


@pytest.mark.chaos
async def test_a_short_storm_over_three_replicas_and_a_falling_primary(mongo, stormy):
    """C13, C14, C20, C24"""
    async with stormy(seed=3) as town, hooked(town, twice=0.1, late=0.2):
        await town.start(3)
        weather = Weather(
            people=8,
            messages=80,
            kills=2,
            freezes=2,
            primaries=1,
            pause=1.0,
            commands=0.08,
            faults=2,
        )
        await pass_over(town, mongo, weather, seed=3)


@pytest.mark.chaos
async def test_two_thousand_messages_under_thirty_kills_and_two_falls_of_the_primary(mongo, stormy):
    """The bar of the issue: nothing lost, out of order or given again, one duplicate at most for
    each blow.
    """
    async with stormy(seed=7, WORKERS="8") as town, hooked(town, twice=0.05, late=0.2):
        await town.start(3)
        weather = Weather(
            people=60,
            messages=2040,
            kills=16,
            freezes=16,
            primaries=2,
            pause=10.0,
            calm=2.0,
            faults=20,
        )
        storm, verdict = await pass_over(town, mongo, weather, seed=7, patience=240)
    assert storm.done["killed"] + storm.done["frozen"] >= 30
    assert storm.done["primaries"] == 2
    assert (
        verdict.duplicates <= storm.done["killed"] + storm.done["frozen"] + storm.done["primaries"]
    )


@pytest.mark.chaos
async def test_a_storm_over_two_pollers_of_which_one_leads(mongo, stormy):
    """C14, C20"""
    async with stormy(seed=8, WORKERS="8") as town:
        await town.start(2)
        weather = Weather(
            people=30,
            messages=600,
            kills=7,
            freezes=7,
            primaries=1,
            pause=6.0,
            calm=2.0,
            faults=10,
            again=0.05,
        )
        await pass_over(town, mongo, weather, seed=8, patience=240)
