"""The bot's Telegram side between a stand-in for Telegram and nothing else."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager

import pytest

from bot.ops.clock import ManualClock
from bot.standins.telegram.server import TelegramServer
from bot.telegram.connection import bot_at

PENALTIES_WARN = pytest.mark.filterwarnings(
    "ignore:.*attribute `retry_after` will be:DeprecationWarning"
)
"""python-telegram-bot warns in each 429 that the type of `retry_after` will change; both types are
read.
"""


class Naps:
    """A `sleep` that passes at once and is remembered; `hold` makes it last until it is cancelled.

    `now` is the time that has passed by it, for who else goes by a clock.
    """

    def __init__(self, *, hold: float = float("inf")):
        self.taken: list[float] = []
        self.hold = hold
        self.passed = 0.0

    async def __call__(self, seconds):
        self.taken.append(seconds)
        await (asyncio.Event().wait() if seconds >= self.hold else asyncio.sleep(0))
        self.passed += seconds

    def now(self):
        return self.passed


@asynccontextmanager
async def telegram():
    """A server, and the bot as the program makes it."""
    async with TelegramServer(clock=ManualClock()) as server:
        bot = bot_at(server.url, server.token)
        async with bot:
            yield server, bot
