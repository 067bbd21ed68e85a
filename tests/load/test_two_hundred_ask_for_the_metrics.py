"""Two hundred clients that ask `/metrics` all the time slow nobody's turns down. Run by name."""

from __future__ import annotations

import asyncio
import statistics
import sys
from contextlib import asynccontextmanager

import aiohttp
import pytest

from tests.load.latency import p95
from tests.process.chaos.replica_set import free_port
from tests.process.conftest import town

__all__ = ["town"]  # the fixture

PAIRS = 5
MESSAGES = 20
CLIENTS = 200
BAR = 1.5


@asynccontextmanager
async def crowd(port):
    async def ask_all_the_time(client):
        while True:
            async with client.get(f"http://127.0.0.1:{port}/metrics") as answer:
                await answer.read()

    connector = aiohttp.TCPConnector(limit=CLIENTS)
    async with aiohttp.ClientSession(connector=connector) as client:
        caller = [asyncio.create_task(ask_all_the_time(client)) for _ in range(CLIENTS)]
        try:
            yield
        finally:
            for one in caller:
                one.cancel()
            await asyncio.gather(*caller, return_exceptions=True)


@pytest.mark.load
async def test_two_hundred_who_ask_for_the_metrics_slow_nobody_down(town):
    """C167."""
    people = iter(
        [town.telegram.person(3000 + number, f"Person {number}") for number in range(1 + 2 * PAIRS)]
    )
    port = free_port()
    ratios = []
    async with town.bot(PORT=str(port)):
        await p95(town, next(people), MESSAGES)  # warm
        for _ in range(PAIRS):
            alone = await p95(town, next(people), MESSAGES)
            async with crowd(port):
                beside = await p95(town, next(people), MESSAGES)
            ratios.append(beside / alone)
            sys.stderr.write(
                f"p95 alone {alone:.3f} s, beside the crowd {beside:.3f} s, ratio "
                f"{ratios[-1]:.2f}\n"
            )
    assert statistics.median(ratios) <= BAR
