"""Fifty people are answered at once under Telegram's flood rules. Run by name: `pytest -m load`."""

from __future__ import annotations

import asyncio
import logging
from contextlib import asynccontextmanager
from statistics import quantiles

import pytest

from bot import app
from bot.ops.clock import SystemClock
from bot.settings import Settings
from bot.standins.claude.answers import say
from bot.standins.claude.server import ClaudeServer
from bot.standins.telegram.faults import Fault, RateModel
from bot.standins.telegram.server import TelegramServer
from tests.telegrams import PENALTIES_WARN

pytestmark = [pytest.mark.load, PENALTIES_WARN]

log = logging.getLogger(__name__)

PEOPLE = 50
WORDS = " ".join(f"word{number}" for number in range(260))
PACE = 0.1
MAX_PENALTY = 5
QUESTIONS = 80
"""So many that one hiccup of the machine is not the p95."""
PAIRS = 5
AS_QUICK = 1.3


@asynccontextmanager
async def running(mongod, database):
    """The whole bot in real time; every answer takes some ten seconds to be written."""
    clock = SystemClock()
    async with (
        TelegramServer(clock=clock) as telegram,
        ClaudeServer(clock=clock, model=lambda _: say(WORDS)) as claude,
    ):
        telegram.http_api.rate = RateModel()
        settings = Settings.read(
            {
                "TELEGRAM_BOT_TOKEN": telegram.token,
                "TELEGRAM_API_URL": telegram.url,
                "ANTHROPIC_API_KEY": claude.key,
                "ANTHROPIC_BASE_URL": claude.url,
                "MONGODB_URI": mongod,
                "MONGODB_DATABASE": database,
                "PORT": "0",
                "WORKERS": "64",
                "MESSAGES_PER_MINUTE": "10000",
            }
        )
        leave = asyncio.Event()
        bot = asyncio.create_task(app.run(settings, leave=leave))
        await telegram.until(lambda: telegram.journal.of("getUpdates"), seconds=30)
        yield telegram, claude
        leave.set()
        await bot


def answered(person, count=1):
    return len(person.chat.answers) >= count


async def test_no_penalty_is_long_and_every_answer_whole(mongod, database):
    """Drafts are thinned out before Telegram has to say so; what it says all the same is waited
    out.
    """
    async with running(mongod, database) as (telegram, claude):
        people = [telegram.person(3000 + number, f"Person {number}") for number in range(PEOPLE)]
        claude.faults.slow(PACE)
        for person in people:
            person.says("Tell me a lot.")
        await telegram.until(lambda: all(answered(person) for person in people), seconds=120)

        assert [person.chat.text for person in people] == [WORDS] * PEOPLE
        refused = [call for call in telegram.journal if call.status == 429]
        drafts = [telegram.journal.of("sendMessageDraft", chat=person.id) for person in people]
        log.info("%d penalties, %s drafts", len(refused), sorted(len(seen) for seen in drafts))
        assert all(seen for seen in drafts)
        assert len(refused) <= PEOPLE // 10


async def test_a_person_in_a_quiet_chat_does_not_feel_a_penalised_one(mongod, database):
    """Alternating pairs: p95 beside a penalised chat against p95 without one, median of five."""
    async with running(mongod, database) as (telegram, _):
        quiet, flooded = telegram.person(1, "Quiet"), telegram.person(2, "Flooded")
        telegram.http_api.rate = None
        await waits(telegram, quiet, 3)
        ratios = []
        for _ in range(PAIRS):
            alone = await waits(telegram, quiet, QUESTIONS)
            telegram.faults.always("*", Fault.too_many(MAX_PENALTY), chat=flooded.id)
            flooded.says("Tell me a lot.")
            beside = await waits(telegram, quiet, QUESTIONS)
            telegram.faults.clear()
            ratios.append(p95(beside) / p95(alone))
        log.info(
            "p95 beside a penalised chat against p95 alone: %s",
            [f"{ratio:.2f}" for ratio in ratios],
        )
        assert sorted(ratios)[PAIRS // 2] <= AS_QUICK


async def waits(telegram, person, count):
    loop, taken = asyncio.get_running_loop(), []
    for _ in range(count):
        before, began = len(person.chat.answers), loop.time()
        person.says("Quickly, please.")
        await telegram.until(lambda before=before: answered(person, before + 1), seconds=20)
        taken.append(loop.time() - began)
    return taken


def p95(taken):
    return quantiles(taken, n=20)[18]
