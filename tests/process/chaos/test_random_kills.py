"""Kills from outside, in any rhythm, park nobody: every message is answered, once.

A short one runs with the other tests; the long ones by name: `pytest -m chaos -s
tests/process/chaos`.
"""

from __future__ import annotations

import asyncio
import random

import pytest

from tests.process.chaos.ledger import read
from tests.process.chaos.verdict import judge

PEOPLE = 3
LINES = 2
"""Of each person between two kills, at most."""
RHYTHMS = {
    "steady": lambda _dice: 3.0,
    "restless": lambda dice: dice.random() * 3,
    "in bursts": lambda dice: dice.choice((0.1, 0.3, 8.0)),
}


async def killed_at_random(town, processes, kills, rhythm, dice):
    """Kill one after the other, also while it starts, and start it again; people write all the
    time.
    """
    replicas = await town.start(processes)
    people = [town.person(5001 + number) for number in range(PEOPLE)]
    for _ in range(kills):
        for person in dice.sample(people, dice.randrange(PEOPLE + 1)):
            for _ in range(dice.randrange(LINES + 1)):
                town.line(person)
        await asyncio.sleep(RHYTHMS[rhythm](dice))
        victim = dice.choice(replicas)
        await town.kill(victim)
        await victim.start()
        for replica in replicas:
            replica.ready = replica.ready or replica.said("is ready")
    for replica in replicas:
        await replica.wait()
    await town.quiet(180)
    return judge(read(town))


def assert_all_are_answered(town, verdict):
    assert verdict.is_clean, str(verdict)
    assert verdict.fates == {"answered": sum(bool(said.number) for said in town.said)}
    assert town.database["inbox"].count_documents({"state": {"$ne": "done"}}) == 0


async def test_a_few_kills_in_a_row_park_nobody(calm):
    """One process that is killed again before it has done much."""
    async with calm(seed=1, MESSAGES_PER_MINUTE="1000") as town:
        verdict = await killed_at_random(town, 1, 5, "restless", random.Random(1))
        assert_all_are_answered(town, verdict)


@pytest.mark.chaos
@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize(
    ("kills", "rhythm"), [(30, "steady"), (60, "restless"), (100, "in bursts")]
)
@pytest.mark.parametrize("processes", [1, 2])
async def test_random_kills_park_nobody(calm, processes, kills, rhythm, seed):
    """Thirty, sixty and a hundred of them."""
    async with calm(seed=seed, MESSAGES_PER_MINUTE="1000") as town:
        town.claude.faults.slow(0.05)
        verdict = await killed_at_random(town, processes, kills, rhythm, random.Random(seed))
        assert_all_are_answered(town, verdict)
