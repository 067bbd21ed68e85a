"""MongoDB stands still for a while, or for long: answers come late, none is lost, and who asks is
told the truth.
"""

from __future__ import annotations

import asyncio
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager

import aiohttp
import pytest

from bot.telegram.outbound.throttled_notices import AT_ONCE
from bot.texts import text
from tests.process.chaos.ledger import read
from tests.process.chaos.replica_set import ReplicaSet
from tests.process.chaos.town import Blow, hooked, now, opened, thinks
from tests.process.chaos.verdict import judge

pytestmark = pytest.mark.chaos
ANNA = 5001


@pytest.fixture
def alone() -> Iterator[ReplicaSet]:
    """A server of its own: the one all tests share must not stand still."""
    with ReplicaSet(1) as running:
        yield running


@contextmanager
def standing_still(town, mongo):
    at = now()
    mongo.nodes[0].process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        mongo.nodes[0].process.send_signal(signal.SIGCONT)
        town.blows.append(Blow("mongod", at, now()))


async def status(replica, path):
    url = f"http://127.0.0.1:{replica.port}{path}"
    async with aiohttp.ClientSession() as client, client.get(url) as answer:
        return answer.status


async def test_ten_seconds_without_mongodb_delay_answers_and_lose_none(alone, tmp_path):
    """C22"""
    async with opened(alone.uri, alone.client, "test", tmp_path) as town:
        await town.start()
        people = [town.person(ANNA + number) for number in range(5)]
        for person in people:
            town.line(person)
        with standing_still(town, alone):
            for person in people:
                town.line(person)
            await asyncio.sleep(10)
        await town.quiet()
        verdict = judge(read(town))

    assert verdict.is_clean, str(verdict)
    assert verdict.fates == {"answered": 10}


async def test_a_long_outage_is_told_to_probes_to_telegram_and_to_everybody_who_writes(
    alone, tmp_path
):
    """C12, C117: also while Telegram's tries, many at a time, wait for the same server as the turn
    that is at work.
    """
    told = text("error_store", "en")
    async with opened(alone.uri, alone.client, "test", tmp_path) as town, hooked(town, patience=30):
        [bot] = await town.start(LEASE_SECONDS="60")
        anna, *others = [town.person(ANNA + number) for number in range(41)]
        town.claude.faults.next(thinks(3))
        town.line(anna)
        await town.begun()
        begun = time.monotonic()
        with standing_still(town, alone):
            for other in others:
                town.line(other)
            await town.telegram.until(
                lambda: any(push.status == 503 for push in town.telegram.pushes), 60
            )
            refused = time.monotonic() - begun
            await town.telegram.until(
                lambda: sum(told in other.chat.text for other in others) >= AT_ONCE, 60
            )
            heard = time.monotonic() - begun
            await town.answered(anna, told, 60)
            excused = time.monotonic() - begun
            ready = await status(bot, "/readyz")
            alive = await status(bot, "/healthz")
        await town.quiet(90)
        verdict = judge(read(town))

    sys.stdout.write(
        f"\n503 after {refused:.1f} s, told after {heard:.1f} s, the running turn after "
        f"{excused:.1f} s\n"
    )
    assert refused < 8
    assert heard < 15
    assert excused < 45
    assert (ready, alive) == (503, 200)
    assert verdict.is_clean, str(verdict)
    assert verdict.fates == {"answered": 41}


@pytest.mark.parametrize("way", ["polls", "is called"])
async def test_a_bot_that_is_told_to_leave_while_mongodb_is_away_leaves_in_time(
    alone, tmp_path, way
):
    """C4: what it cannot hand back now is another one's when the leases end."""
    async with AsyncExitStack() as stack:
        town = await stack.enter_async_context(
            opened(alone.uri, alone.client, f"test_{way[:2]}", tmp_path)
        )
        if way == "is called":
            await stack.enter_async_context(hooked(town, patience=30))
        [bot] = await town.start(GRACE_SECONDS="2")
        town.claude.faults.next(thinks(60), times=None)
        town.line(town.person(ANNA))
        await town.begun()
        with standing_still(town, alone):
            town.line(town.person(ANNA + 1))
            begun = time.monotonic()
            bot.signal(signal.SIGTERM)
            code = await bot.ends(60)
            took = time.monotonic() - begun
        town.claude.faults.clear()
        await bot.start()
        await bot.wait()
        await town.quiet(60)
        verdict = judge(read(town))

    sys.stdout.write(f"\nleft after {took:.1f} s\n")
    assert code == 0
    assert took < 2 + 15  # `deploy/` grants as much beyond GRACE_SECONDS
    assert verdict.is_clean, str(verdict)
    assert verdict.fates == {"answered": 2}
