"""The host's clock is not Telegram's: Sessions go on all the same, and the operator is told
once.
"""

from __future__ import annotations

import logging
import re
from dataclasses import replace
from datetime import timedelta

import pytest
from aiohttp import ClientSession

from bot.ops.clock import ManualClock

WRONG = {
    "forty minutes behind": -2_400,
    "two hours behind": -7_200,
    "two hours ahead": 7_200,
}


def warnings(caplog):
    return [one.getMessage() for one in caplog.records if "the host's clock" in one.getMessage()]


async def asked(caplog, path):
    """What the bot in this process answers to its operator."""
    [port] = re.findall(r"health answers on port (\d+)", caplog.text)
    async with ClientSession() as client, client.get(f"http://127.0.0.1:{port}/{path}") as answer:
        return await answer.text()


@pytest.fixture
def host(state):
    """The same world, whose bot has a clock of its own."""
    return replace(state, clock=ManualClock(state.clock.now()))


async def talk(state, host, person, turns):
    for number in range(turns):
        await host.ask(person, f"My number is {number}.")
        state.passes(minutes=1)
        host.passes(minutes=1)


@pytest.mark.parametrize("wrong", WRONG)
async def test_ten_messages_are_one_session_whatever_the_hosts_clock_says(
    state, host, anna, caplog, wrong
):
    """C154"""
    caplog.set_level(logging.INFO)
    host.passes(seconds=WRONG[wrong])
    async with host.bot():
        await talk(state, host, anna, 10)
        ready, metrics = [await asked(caplog, path) for path in ("readyz", "metrics")]

    [told] = warnings(caplog)
    assert f"by {WRONG[wrong]} seconds" in told
    assert state.session(anna.id)["revision"] == 10
    assert len(state.sessions(anna.id)) == 1
    assert '"ready": true' in ready
    assert f"bot_clock_skew_seconds {WRONG[wrong]:.1f}" in metrics


async def test_a_clock_that_jumps_back_ends_no_session(state, host, anna, caplog):
    """C154"""
    async with host.bot():
        await talk(state, host, anna, 5)
        host.clock.advance(-timedelta(hours=1))
        await talk(state, host, anna, 5)

    assert len(warnings(caplog)) == 1
    assert state.session(anna.id)["revision"] == 10
    assert len(state.sessions(anna.id)) == 1
