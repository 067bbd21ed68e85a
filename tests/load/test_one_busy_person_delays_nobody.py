"""Twenty lines of one person, whose first turn takes ten seconds, change nothing for twenty
others.

Run by name.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
from time import perf_counter

import pytest

from bot.standins.claude.faults import Fault
from tests.process.conftest import town

__all__ = ["town"]  # the fixture

PAIRS = 5
MESSAGES = 3
BAR = 1.3


def is_busy(body):
    return "busy line" in str(body["messages"][-1])


async def latencies(town, people):
    """How long each of the people's messages took, in seconds."""

    async def talk(person):
        taken = []
        for number in range(MESSAGES):
            begun = perf_counter()
            await town.ask(person, f"hello {number}")
            taken.append(perf_counter() - begun)
        return taken

    return [seconds for taken in await asyncio.gather(*map(talk, people)) for seconds in taken]


async def with_a_busy_person(town, people, busy):
    before = len(busy.chat.answers)
    asked = len(town.claude.journal.exchanges)
    town.claude.faults.next(
        Fault.stalled(), when=is_busy
    )  # silent until SILENCE_SECONDS are over, then tried again
    busy.says("busy line 0")
    await town.claude.until(
        lambda exchanges: any(
            is_busy(exchange.body) for exchange in exchanges[asked:] if exchange.body
        )
    )
    for number in range(1, 20):
        busy.says(f"busy line {number}")
    taken = await latencies(town, people)
    await town.telegram.until(
        lambda: "busy line 19" in str(town.claude.journal.exchanges[-1].body), seconds=40
    )
    await town.telegram.until(lambda: len(busy.chat.answers) > before + 1, seconds=20)
    turns = len(busy.chat.answers) - before
    assert turns <= 3
    return taken


def p95(taken):
    return statistics.quantiles(taken, n=20)[-1]


@pytest.mark.load
async def test_twenty_lines_of_one_person_delay_nobody(town):
    people = [town.telegram.person(3000 + number, f"Person {number}") for number in range(20)]
    busy = town.telegram.person(2999, "Busy")
    ratios = []
    async with town.bot(SILENCE_SECONDS="10"):
        await latencies(town, people)  # warm
        for _ in range(PAIRS):
            alone = p95(await latencies(town, people))
            beside = p95(await with_a_busy_person(town, people, busy))
            ratios.append(beside / alone)
            sys.stderr.write(
                f"p95 alone {alone:.3f} s, beside a busy person {beside:.3f} s, ratio "
                f"{beside / alone:.2f}\n"
            )

    assert statistics.median(ratios) <= BAR
