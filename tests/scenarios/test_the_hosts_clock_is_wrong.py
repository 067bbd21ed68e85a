"""The host's clock is not Telegram's: Sessions go on all the same, and the operator is told
once.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from datetime import timedelta

import pytest

from bot.ops.clock import ManualClock

WRONG = {"forty minutes behind": -2_400, "two hours behind": -7_200}


def warnings(caplog):
    return [one.getMessage() for one in caplog.records if "the host's clock" in one.getMessage()]


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
    caplog.set_level(logging.WARNING)
    host.passes(seconds=WRONG[wrong])
    async with host.bot():
        await talk(state, host, anna, 10)

    [told] = warnings(caplog)
    assert f"by {WRONG[wrong]} seconds" in told
    assert state.session(anna.id)["revision"] == 10
    assert len(state.sessions(anna.id)) == 1


async def test_a_clock_that_jumps_back_ends_no_session(state, host, anna, caplog):
    """C154"""
    async with host.bot():
        await talk(state, host, anna, 5)
        host.clock.advance(-timedelta(hours=1))
        await talk(state, host, anna, 5)

    assert len(warnings(caplog)) == 1
    assert state.session(anna.id)["revision"] == 10
    assert len(state.sessions(anna.id)) == 1
