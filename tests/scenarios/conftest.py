"""The whole bot in process, between stand-ins that are as strict as the real ones, on a real
mongod.

A test reads as what people do and see. `TelegramState` has no memory of its own: what a test looks
at is Telegram's chats, the requests the model got, and the documents in MongoDB.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest

from bot import app
from bot.ops.clock import ManualClock
from bot.settings import Settings
from bot.standins.claude.server import ClaudeServer
from bot.standins.telegram.server import TelegramServer
from tests.builders import NOON


@dataclass
class TelegramState:
    """People, their chats, the model and the database."""

    telegram: TelegramServer
    claude: ClaudeServer
    clock: ManualClock
    database: Any
    environ: dict[str, str]

    @asynccontextmanager
    async def bot(self, **changes: str) -> AsyncIterator[None]:
        """A process of the bot, from its start until it has left in good order."""
        settings = Settings.read(self.environ | changes)
        leave = asyncio.Event()
        before = self._signs()
        running = asyncio.create_task(app.run(settings, leave=leave, clock=self.clock))
        try:
            await self.telegram.until(lambda: running.done() or self._signs() > before)
            if running.done():
                running.result()
            yield
        finally:
            leave.set()
            await asyncio.wait_for(running, 60)

    def _signs(self) -> int:
        """How often a bot has asked for updates, said where to deliver them, or named its commands:
        one may only wait for another to leave off polling.
        """
        return sum(
            len(self.telegram.journal.of(method))
            for method in ("getUpdates", "setWebhook", "setMyCommands")
        )

    async def ask(self, person, words, *, chat=None, answers=1, **said) -> str:
        """Say something and wait for so many new messages of the bot; their text."""
        place = chat or person.chat
        before = len(place.answers)
        person.says(words, chat=chat, **said)
        await self.telegram.until(lambda: len(place.answers) >= before + answers)
        return "\n".join(message.text for message in place.answers[before:])

    async def eventually(self, condition, seconds: float = 60):
        """Wait until the condition about the database holds; its value."""
        async with asyncio.timeout(seconds):
            while not (value := condition()):  # noqa: ASYNC110 - the database has no event to wait for
                await asyncio.sleep(0.02)
        return value

    def passes(self, **time: float) -> None:
        """Time passes, for Telegram, the model and the bot alike."""
        self.clock.advance(timedelta(**time))

    def sessions(self, owner_id=None, **where) -> list[dict[str, Any]]:
        """Session documents, oldest first; of the same moment, in the order of their insertion."""
        query = where | ({} if owner_id is None else {"ownerId": owner_id})
        found = self.database["sessions"].find(query).hint([("$natural", 1)])
        return sorted(found, key=lambda session: session["createdAt"])

    def session(self, owner_id, **where) -> dict[str, Any]:
        """The one active Session of a person."""
        [found] = self.sessions(owner_id, status="active", **where)
        return found

    @property
    def requests(self) -> list[dict[str, Any]]:
        """What the model was asked, without summaries."""
        return [
            dict(exchange.body)
            for exchange in self.claude.journal.exchanges
            if exchange.body.get("tools")
        ]


@pytest.fixture
async def state(mongod: str, mongo_client, prepared: str) -> AsyncIterator[TelegramState]:
    clock = ManualClock(NOON)
    async with TelegramServer(clock=clock) as telegram, ClaudeServer(clock=clock) as claude:
        environ = {
            "TELEGRAM_BOT_TOKEN": telegram.token,
            "TELEGRAM_API_URL": telegram.url,
            "ANTHROPIC_API_KEY": claude.key,
            "ANTHROPIC_BASE_URL": claude.url,
            "MONGODB_URI": mongod,
            "MONGODB_DATABASE": prepared,
            "PORT": "0",
            "GRACE_SECONDS": "5",
            # this clock stands still, so nobody would ever regain anything
            "MESSAGES_PER_MINUTE": "10000",
        }
        yield TelegramState(telegram, claude, clock, mongo_client[prepared], environ)
        assert [exchange.reason for exchange in claude.journal.refusals] == []


@pytest.fixture
def anna(state: TelegramState):
    return state.telegram.person(1001, "Anna")


@pytest.fixture
def boris(state: TelegramState):
    return state.telegram.person(1002, "Boris", "ru")
