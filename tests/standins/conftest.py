"""Telegram's fixtures.

Every name says so: other emulators' tests live beside these and need none of them.
"""

from __future__ import annotations

import aiohttp
import pytest
from telegram import Bot

from bot.ops.clock import ManualClock
from bot.standins.telegram.server import TelegramServer


@pytest.fixture
def telegram_clock():
    return ManualClock()


@pytest.fixture
async def telegram(telegram_clock):
    async with TelegramServer(clock=telegram_clock, pace=0.001, topics=True) as server:
        yield server


@pytest.fixture
async def telegram_bot(telegram, monkeypatch):
    """The real python-telegram-bot, with penalties as timedeltas: as integers they warn."""
    monkeypatch.setenv("PTB_TIMEDELTA", "1")
    async with Bot(
        telegram.token, base_url=telegram.base_url, base_file_url=telegram.base_file_url
    ) as bot:
        yield bot


@pytest.fixture
def anna(telegram):
    """Somebody who has pressed Start, so that the bot may write to her."""
    person = telegram.person(7, "Anna")
    person.starts()
    telegram.state.updates.clear()
    return person


@pytest.fixture
async def telegram_call(telegram):
    """A raw call, for what python-telegram-bot would not send; the status and the answer."""
    async with aiohttp.ClientSession() as http:

        async def call(method, token=telegram.token, **params):
            async with http.post(f"{telegram.url}/bot{token}/{method}", json=params) as answer:
                return answer.status, await answer.json()

        yield call
