"""Kills from outside, in any rhythm, park nobody; a message that does end its processes is parked.

A short storm runs with the other tests; the long ones by name: `pytest -n 0 -m chaos
tests/process/chaos/test_random_kills.py`.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest

from bot.suspects import MAX_DEATHS_ALONE, SHARED_TRIES
from tests.process.chaos.fleet import RECHECK
from tests.process.chaos.ledger import read
from tests.process.chaos.town import Blow, Environment, now
from tests.process.chaos.verdict import judge

PEOPLE = 3
LINES = 2
"""Of each person between two kills, at most."""
POISONER = 5099
SLOW, SLOW_SECONDS = 5098, 0.5
"""Somebody whose answers take long, so that kills find them again and again."""


def rhythm(dice: random.Random) -> Iterator[float]:
    """Seconds between two kills: steady for a while, then restless, then in bursts, as it comes."""
    while True:
        beat = dice.uniform(0.2, 4)
        gaps = dice.choice(
            (
                lambda: beat,  # noqa: B023 - drawn before the next beat
                lambda: dice.uniform(0, 3),
                lambda: dice.choice((0.05, 0.1, 0.3, 6.0)),
            )
        )
        for _ in range(dice.randrange(3, 12)):
            yield gaps()


@asynccontextmanager
async def restarted(town: Environment) -> AsyncIterator[None]:
    """Whatever ends is started again at once, as a supervisor does."""

    async def watch() -> None:
        while True:
            for replica in town.replicas:
                if replica.alive:
                    continue
                if replica.said("Killed by poison"):
                    town.blows.append(Blow("poison", now(), now()))
                await replica.start()
            await asyncio.sleep(RECHECK)

    task = asyncio.create_task(watch())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def killed_at_random(town, kills, dice, *, poison_at=-1):
    """Kill one after the other, also while it starts; people write all the time, and once more
    when it is over.
    """
    people = [town.person(5001 + number) for number in range(PEOPLE)]
    for number, gap in zip(range(kills), rhythm(dice), strict=False):
        if number == poison_at:
            town.command(town.person(POISONER), "poison")
        for person in dice.sample(people, dice.randrange(PEOPLE + 1)):
            for _ in range(dice.randrange(LINES + 1)):
                town.line(person)
        await asyncio.sleep(gap)
        await town.kill(dice.choice(town.replicas))
    for person in people:
        town.line(person)
    await town.quiet(300)
    return judge(read(town))


def assert_all_are_answered(town, verdict):
    assert verdict.is_clean, str(verdict)
    assert verdict.fates == {"answered": sum(bool(said.number) for said in town.said)}
    others = {"state": {"$ne": "done"}, "ownerId": {"$ne": POISONER}}
    assert town.database["inbox"].count_documents(others) == 0


async def test_a_few_kills_in_a_row_park_nobody(calm):
    """One process that is killed again before it has done much."""
    async with calm(seed=1) as town:
        await town.start()
        async with restarted(town):
            verdict = await killed_at_random(town, 4, random.Random(1))
        assert_all_are_answered(town, verdict)


@pytest.mark.chaos
@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("kills", [30, 60, 100])
@pytest.mark.parametrize("processes", [1, 2])
async def test_random_kills_park_the_poison_alone(calm, processes, kills, seed):
    """A poison beside them is parked after three deaths of its own, and costs the others no more
    than those and the two before.
    """
    dice = random.Random(f"{processes} {kills} {seed}")
    async with calm(seed=seed) as town:
        town.claude.faults.slow(0.05)
        await town.start(processes, mutant="dies_of_poison")
        async with restarted(town):
            verdict = await killed_at_random(town, kills, dice, poison_at=dice.randrange(kills))
        assert_all_are_answered(town, verdict)
        deaths = sum(replica.text.count("Killed by poison") for replica in town.replicas)
        parked = town.database["inbox"].find_one({"ownerId": POISONER})

    assert parked["state"] == "dead"
    assert MAX_DEATHS_ALONE <= deaths <= SHARED_TRIES + MAX_DEATHS_ALONE


@pytest.mark.chaos
@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_a_long_answer_is_not_parked_by_kills_every_second(calm, seed):
    """It never ends while they go on, and is given once they are over."""
    dice = random.Random(seed)
    async with calm(seed=seed) as town:
        [process] = await town.start()
        town.claude.faults.slow(SLOW_SECONDS)
        town.line(town.person(SLOW))
        async with restarted(town):
            for _ in range(30):
                await asyncio.sleep(dice.choice((1.0, 1.0, 3.0)))
                await town.kill(process)
            town.claude.faults.clear()
            await town.quiet(120)
        assert_all_are_answered(town, judge(read(town)))
