"""A strict stand-in for the Bot API over HTTP, started in process on a free port of the
loopback.

    async with TelegramServer(clock=clock) as server:
        anna = server.person(7, "Anna")
        anna.says("hello")
        await server.until(lambda: anna.chat.answers)

It refuses what Telegram refuses, in the same words. Message dates, draft lives and penalties follow
the Clock it is given; only what waits on a socket (long polls, webhook retries) waits in real time.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Sequence
from typing import Any, Self, TypeVar

from aiohttp import web

from bot.standins.clock import Clock
from bot.standins.telegram.chats import Chat
from bot.standins.telegram.control import Control
from bot.standins.telegram.http_api import HttpApi
from bot.standins.telegram.people import Person
from bot.standins.telegram.rules import UPLOAD_BYTES, Json
from bot.standins.telegram.service_messages import ServiceMessages
from bot.standins.telegram.signal import Signal
from bot.standins.telegram.state import TelegramState
from bot.standins.telegram.updates import Updates
from bot.standins.telegram.webhook import Pusher

TOKEN = "123456:TEST-token-of-the-emulated-bot-000000"  # noqa: S105 - opens nothing but this stand-in
NAME = "emulated_bot"
FIRST_UPDATE = 870_000_001
RECHECK = 0.05
Value = TypeVar("Value")


class TelegramServer:
    """Telegram, as far as a bot can see it.

    `journal` has every call, `faults` what goes wrong next, `pushes` the tries of the webhook.
    `pace` shortens a webhook's seconds; `topics` lets private chats have topics.
    """

    def __init__(
        self,
        *,
        clock: Clock,
        token: str = TOKEN,
        port: int = 0,
        pace: float = 1,
        topics: bool = False,
    ) -> None:
        signal = Signal()
        bot = {
            "id": int(token.partition(":")[0]),
            "is_bot": True,
            "first_name": "Emulated",
            "username": NAME,
        }
        if topics:
            bot["has_topics_enabled"] = True
        self.token = token
        self.state = TelegramState(clock, bot, Updates(clock, signal, FIRST_UPDATE), signal)
        self.http_api = HttpApi(self.state, token)
        self.journal = self.http_api.journal
        self.faults = self.http_api.faults
        self.events = ServiceMessages(self.state)
        self.people: dict[int, Person] = {}
        self.url = ""
        self._port = port
        self._pusher = Pusher(self.state, pace)
        self.pushes = self._pusher.pushes

    # -------------------------------------------------------------------------------------- running

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=2 * UPLOAD_BYTES, middlewares=[Control.guard])
        app.add_routes([*self.http_api.routes(), *Control(self).routes()])
        self._runner = web.AppRunner(
            app, access_log=None, handler_cancellation=True, shutdown_timeout=0.1
        )
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self._port).start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        self._pushing = asyncio.create_task(self._pusher.run())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._pushing.cancel()
        await asyncio.wait({self._pushing})
        await self._runner.cleanup()

    @property
    def base_url(self) -> str:
        """What python-telegram-bot calls `base_url`."""
        return f"{self.url}/bot"

    @property
    def base_file_url(self) -> str:
        """What python-telegram-bot calls `base_file_url`."""
        return f"{self.url}/file/bot"

    # ---------------------------------------------------------------------------- people and places

    def person(
        self, user_id: int, first_name: str, language_code: str = "en", **user: Any
    ) -> Person:
        """Somebody with a client; the bot may not write to them before they wrote to it."""
        known = {
            "id": user_id,
            "is_bot": False,
            "first_name": first_name,
            "language_code": language_code,
            **user,
        }
        self.state.users[user_id] = known
        chat = Chat(
            id=user_id,
            type="private",
            name=first_name,
            bot_id=self.state.bot_id,
            standing="unstarted",
        )
        person = Person(self.state, user_id, self.state.chats.setdefault(user_id, chat))
        return self.people.setdefault(user_id, person)

    def group(self, title: str = "Friends", members: Sequence[Person] = (), **extra: Any) -> Chat:
        """A basic group the bot is in."""
        return _joined(self.state.add_chat("group", title, **extra), members)

    def supergroup(
        self, title: str = "Community", members: Sequence[Person] = (), **extra: Any
    ) -> Chat:
        """A supergroup the bot is in; `forum=True` gives it topics."""
        return _joined(self.state.add_chat("supergroup", title, **extra), members)

    def channel(self, title: str = "News", **extra: Any) -> Chat:
        """A channel the bot is in."""
        return self.state.add_chat("channel", title, **extra)

    def deliver(self, update: Json) -> int:
        """Queue a raw update: any kind, any id, also one that was delivered before."""
        return self.state.updates.deliver(update)

    async def until(self, predicate: Callable[[], Value], seconds: float = 60) -> Value:
        """Wait until the predicate holds; its value.

        On time-out the assertion shows the last calls.
        """
        try:
            async with asyncio.timeout(seconds):
                while not (value := predicate()):
                    await self.state.signal.wait(RECHECK)
        except TimeoutError:
            where = (
                inspect.getsource(predicate).strip()
                if inspect.isfunction(predicate)
                else repr(predicate)
            )
            raise AssertionError(
                f"not within {seconds} s: {where}\nlast calls:\n{self.journal.tail()}"
            ) from None
        return value


def _joined(chat: Chat, members: Sequence[Person]) -> Chat:
    chat.members.update(person.id for person in members)
    for person in members:
        if person.chat.standing == "unstarted":
            person.chat.standing = "stranger"
    return chat
