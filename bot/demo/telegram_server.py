"""A strict stand-in for the Bot API over HTTP, started in process on a free port of the loopback.

    async with TelegramServer(clock=clock) as server:
        anna = server.person(7, "Anna")
        anna.says("hello")
        await server.until(lambda: anna.chat.answers)

It refuses what Telegram refuses, in the same words. Message dates, draft lives and penalties follow the Clock it is
given; only what waits on a socket (long polls, webhook retries) waits in real time.
"""

from __future__ import annotations

import asyncio
import inspect
import re
from collections.abc import Callable, Sequence
from typing import Any, Self, TypeVar

from aiohttp import web

from bot.demo.telegram_bell import Bell
from bot.demo.telegram_chats import Chat
from bot.demo.telegram_faults import PAGE, Fault, FaultSchedule, RateModel
from bot.demo.telegram_journal import Call, Journal
from bot.demo.telegram_methods import CANONICAL, COUNTED, METHODS
from bot.demo.telegram_params import Params, read_params
from bot.demo.telegram_people import Person
from bot.demo.telegram_rules import UPLOAD_BYTES, Json, Refused
from bot.demo.telegram_updates import Updates
from bot.demo.telegram_world import World
from bot.ports import Clock

TOKEN = "123456:TEST-token-of-the-emulated-bot-000000"  # noqa: S105 - opens nothing but this stand-in
FIRST_UPDATE = 870_000_001
RECHECK = 0.05
NOT_FOUND = Refused(404, "Not Found")
Value = TypeVar("Value")


class TelegramServer:
    """Telegram, as far as a bot can see it."""

    def __init__(
        self, *, clock: Clock, token: str = TOKEN, username: str = "emulated_bot", topics: bool = False
    ) -> None:
        bell = Bell()
        bot = {"id": int(token.partition(":")[0]), "is_bot": True, "first_name": "Emulated", "username": username}
        if topics:
            bot["has_topics_enabled"] = True
        self.token = token
        self.world = World(clock, bot, Updates(clock, bell, FIRST_UPDATE), bell)
        self.journal = Journal()
        self.faults = FaultSchedule()
        self.rate: RateModel | None = None
        """Set a RateModel to switch Telegram's flood rules on."""
        self.url = ""
        self._runner: web.AppRunner | None = None

    # ------------------------------------------------------------------------------------------------ running

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=2 * UPLOAD_BYTES)
        app.router.add_route("*", "/bot{token}/{method}", self._answer)
        app.router.add_get("/file/bot{token}/{path:.+}", self._download)
        self._runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    @property
    def base_url(self) -> str:
        """What python-telegram-bot calls `base_url`."""
        return f"{self.url}/bot"

    @property
    def base_file_url(self) -> str:
        """What python-telegram-bot calls `base_file_url`."""
        return f"{self.url}/file/bot"

    # ------------------------------------------------------------------------------------------------- people

    def person(self, user_id: int, first_name: str, language_code: str = "en", **user: Any) -> Person:
        """Somebody with a client; the bot may not write to them before they wrote to it."""
        known = {"id": user_id, "is_bot": False, "first_name": first_name, "language_code": language_code, **user}
        self.world.users[user_id] = known
        chat = Chat(id=user_id, type="private", name=first_name, bot_id=self.world.bot_id, standing="unstarted")
        return Person(self.world, user_id, self.world.chats.setdefault(user_id, chat))

    def group(self, title: str = "Friends", members: Sequence[Person] = (), **extra: Any) -> Chat:
        """A basic group the bot is in."""
        return self._joined(self.world.add_chat("group", title, **extra), members)

    def supergroup(self, title: str = "Community", members: Sequence[Person] = (), **extra: Any) -> Chat:
        """A supergroup the bot is in; `forum=True` gives it topics."""
        return self._joined(self.world.add_chat("supergroup", title, **extra), members)

    def channel(self, title: str = "News", **extra: Any) -> Chat:
        """A channel the bot is in."""
        return self.world.add_chat("channel", title, **extra)

    def _joined(self, chat: Chat, members: Sequence[Person]) -> Chat:
        chat.members.update(person.id for person in members)
        for person in members:
            if person.chat.standing == "unstarted":
                person.chat.standing = "stranger"
        return chat

    def deliver(self, update: Json) -> int:
        """Queue a raw update: any kind, any id, also one that was delivered before."""
        return self.world.updates.deliver(update)

    async def until(self, predicate: Callable[[], Value], seconds: float = 5) -> Value:
        """Wait until the predicate holds; its value. On time-out the assertion shows the last calls."""
        try:
            async with asyncio.timeout(seconds):
                while not (value := predicate()):
                    await self.world.bell.wait(RECHECK)
        except TimeoutError:
            where = inspect.getsource(predicate).strip() if inspect.isfunction(predicate) else repr(predicate)
            raise AssertionError(f"not within {seconds} s: {where}\nlast calls:\n{self.journal.tail()}") from None
        return value

    # --------------------------------------------------------------------------------------------------- HTTP

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        method = CANONICAL.get(request.match_info["method"].lower())
        if (refusal := self._check_token(request.match_info["token"])) is not None or method is None:
            return _refused(refusal or NOT_FOUND)
        params = await read_params(request)
        call = self.journal.begin(method, params.values, self.world.now)
        fault = self.faults.take(method, call.chat_id)
        response = await self._faulty(call, params, fault)
        self.world.bell.ring()
        if response is None and request.transport is not None:
            request.transport.abort()
        return response or web.Response()

    def _check_token(self, token: str) -> Refused | None:
        """Telegram calls a malformed token not found, a wrong one unauthorized."""
        if not re.fullmatch(r"\d+:[\w-]+", token):
            return NOT_FOUND
        return None if token == self.token else Refused(401, "Unauthorized")

    async def _faulty(self, call: Call, params: Params, fault: Fault | None) -> web.Response | None:
        """The answer, after what goes wrong on the way; None: the connection breaks."""
        if fault is None or fault.when == "after":
            response = await self._perform(call, params)
        if fault is not None:
            await fault.wait()
            if fault.drop:
                return None
            if fault.page:
                return self._page(call, fault)
            if fault.refusal is not None:
                return self._refuse(call, fault.refusal)
            if fault.when == "before":
                response = await self._perform(call, params)
        return response

    async def _perform(self, call: Call, params: Params) -> web.Response:
        try:
            if self.rate is not None and call.chat_id is not None and call.method.startswith(COUNTED):
                self.rate.check(call.chat_id, self.world.now)
            result = METHODS[call.method](self.world, params)
            if inspect.isawaitable(result):
                result = await result
        except Refused as refusal:
            return self._refuse(call, refusal)
        self.journal.end(call, 200, result)
        return web.json_response({"ok": True, "result": result})

    def _refuse(self, call: Call, refusal: Refused) -> web.Response:
        self.journal.end(call, refusal.code, error=refusal.description)
        return _refused(refusal)

    def _page(self, call: Call, fault: Fault) -> web.Response:
        self.journal.end(call, fault.page, error="HTML page")
        return web.Response(status=fault.page, text=PAGE.format(fault.page), content_type="text/html")

    async def _download(self, request: web.Request) -> web.Response:
        found = (stored for stored in self.world.files.values() if stored.path == request.match_info["path"])
        stored = next(found, None)
        if request.match_info["token"] != self.token or stored is None:
            return _refused(NOT_FOUND)
        return web.Response(body=stored.content, content_type="application/octet-stream")


def _refused(refusal: Refused) -> web.Response:
    body: Json = {"ok": False, "error_code": refusal.code, "description": refusal.description}
    if refusal.parameters:
        body["parameters"] = refusal.parameters
    return web.json_response(body, status=refusal.code)
