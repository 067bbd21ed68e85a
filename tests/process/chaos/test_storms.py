"""Seeded storms over real processes: nothing is lost, nothing given to the model twice, every lane in order.

The short one runs with the other tests; the long ones by name: `pytest -m chaos -s tests/process/chaos`.
"""

from __future__ import annotations

import random
import sys

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
    assert verdict.fates["answered"] > 0
    return storm, verdict


async def test_a_short_storm_over_three_replicas(mongo, stormy):
    """C13, C14, C20, C24"""
    async with stormy(seed=3) as town, hooked(town, twice=0.1, late=0.2):
        await town.start(3)
        weather = Weather(people=8, messages=80, kills=4, primaries=1, pause=1.0, calm=1.0, commands=0.08, faults=2)
        await pass_over(town, mongo, weather, seed=3)
