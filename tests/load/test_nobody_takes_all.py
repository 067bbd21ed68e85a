"""One person floods in every way there is, and a second person is answered as before (C167). Run by name."""

from __future__ import annotations

import asyncio
import statistics
import sys
from contextlib import asynccontextmanager

import pytest

from bot.standins.claude.faults import Fault
from tests.load.latency import p95
from tests.process.conftest import town

__all__ = ["town"]  # the fixture

PAIRS = 3
QUESTIONS = 12
HELPS = 2000
HELP_BAR = 1.3
BAR = 1.5


def quiet(town, number):
    """A person who is new each time, and so within the limit."""
    return town.telegram.person(1000 + number, "Quiet")


async def spread(count, act):
    """Do it so often, while others are served; 2,000 take some eight seconds."""
    for number in range(count):
        act(number)
        if number % 10 == 9:
            await asyncio.sleep(0.04)


def helps(town, flooder):
    return HELPS, lambda _: flooder.says("/help")


def stops(town, flooder):
    return HELPS, lambda _: flooder.says("/stop")


def presses(town, flooder):
    shown = flooder.chat.answers[0]
    return HELPS, lambda number: flooder.presses("", on=shown, data=f"retry:{number}")


def topics(town, flooder):
    town.telegram.state.bot["has_topics_enabled"] = True
    town.claude.faults.next(
        Fault.stalled(), when=lambda body: "slow" in str(body["messages"][-1]), times=None
    )
    opened = [flooder.topic(f"Topic {number}") for number in range(100)]
    return 100, lambda number: flooder.says("slow", thread=opened[number])


@asynccontextmanager
async def beside(town, flooder, flood):
    flooding = asyncio.create_task(spread(*flood(town, flooder)))
    try:
        yield
    finally:
        flooding.cancel()
        await asyncio.gather(flooding, return_exceptions=True)


@pytest.mark.load
@pytest.mark.parametrize(
    ("flood", "bar"), [(helps, HELP_BAR), (stops, BAR), (presses, BAR), (topics, BAR)]
)
async def test_a_flood_of_one_person_moves_no_other(town, flood, bar):
    """Alternating pairs: p95 beside the flood against p95 without one, their median."""
    ratios = []
    limit = "20" if flood is not topics else "10000"  # one that lets 100 topics in
    async with town.bot(MESSAGES_PER_MINUTE=limit):
        await p95(town, quiet(town, 0), QUESTIONS)  # warm
        for number in range(PAIRS):
            flooder = town.telegram.person(100 + number, "Flood")
            await town.ask(flooder, "hello")
            alone = await p95(town, quiet(town, 1 + 2 * number), QUESTIONS)
            async with beside(town, flooder, flood):
                beside_it = await p95(town, quiet(town, 2 + 2 * number), QUESTIONS)
            ratios.append(beside_it / alone)
            sys.stderr.write(
                f"{flood.__name__}: p95 alone {alone:.3f} s, beside the flood x {ratios[-1]:.2f}\n"
            )

    assert statistics.median(ratios) <= bar
