"""Remote control of the people: JSON over HTTP, for the demo page and tests in other processes.

Every route calls the method of the same name. Requests must come from the loopback under a loopback
name: a foreign site whose name resolves to this machine sends its own Host or Origin and is
refused.
"""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from aiohttp import web

from bot.standins.telegram.chats import Chat, Shown
from bot.standins.telegram.faults import fault_from
from bot.standins.telegram.people import Person
from bot.standins.telegram.receiving import LOOPBACK
from bot.standins.telegram.rules import Json

if TYPE_CHECKING:
    from bot.standins.telegram.server import TelegramServer

KEEP_ALIVE = 15.0
Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Control:
    """The remote control of one server."""

    def __init__(self, server: TelegramServer) -> None:
        self._server = server

    def routes(self) -> list[web.RouteDef]:
        """What can be asked."""
        told: dict[str, Callable[[Json], Any]] = {
            "person": self.person, "group": self.group, "say": self.say, "paste": self.paste, "edit": self.edit,  # noqa: E501
            "delete": self.delete, "press": self.press, "upload": self.upload, "topic": self.topic, "stop": self.stop,  # noqa: E501
            "block": self.block, "unblock": self.unblock, "fault": self.fault, "deliver": self.deliver,  # noqa: E501
        }  # fmt: skip
        return [
            *(web.post(f"/control/{name}", _told(verb)) for name, verb in told.items()),
            web.get("/control/bot", self.bot),
            web.get("/control/chats", self.chats),
            web.get("/control/chat", self.look),
            web.get("/control/journal", self.read_journal),
            web.get("/control/events", self.stream),
            web.get("/control/file", self.file),
        ]

    @staticmethod
    @web.middleware
    async def guard(request: web.Request, handler: Answer) -> web.StreamResponse:
        """Refuse whoever does not come from this machine under its own name."""
        if request.path.startswith("/control/"):
            origin = request.headers.get("Origin")
            names = [f"//{request.host}", *([origin] if origin is not None else [])]
            if request.remote not in LOOPBACK or any(
                urlsplit(name).hostname not in LOOPBACK for name in names
            ):
                raise web.HTTPForbidden(text="only from this machine")
        return await handler(request)

    # ---------------------------------------------------------------------------------------- verbs

    def person(self, told: Json) -> Json:
        person = self._server.person(**told)
        return {**person.user, "chat": person.chat.id}

    def group(self, told: Json) -> Json:
        kind = told.pop("type", "group")
        members = [self._server.people[member] for member in told.pop("members", ())]
        make = {"group": self._server.group, "supergroup": self._server.supergroup}[kind]
        return make(members=members, **told).json()

    def say(self, told: Json) -> Json:
        return (
            self._person(told)
            .says(told["text"], **self._where(told), reply_to=told.get("reply_to"))
            .json()
        )

    def paste(self, told: Json) -> list[Json]:
        return [
            message.json()
            for message in self._person(told).pastes(told["text"], **self._where(told))
        ]

    def edit(self, told: Json) -> Json:
        return self._person(told).edits(self._message(told), told["text"]).json()

    def delete(self, told: Json) -> None:
        self._person(told).deletes(self._message(told))

    def press(self, told: Json) -> Json:
        on = self._message(told) if "message_id" in told else None
        chat = self._chat(told)
        query = self._person(told).presses(
            told.get("button", ""), on=on, data=told.get("data", ""), chat=chat
        )
        return {"query": query.id}

    def upload(self, told: Json) -> Json:
        person, content = self._person(told), base64.b64decode(told["content"])
        if told.get("kind") == "photo":
            return person.sends_photo(
                content, told.get("caption", ""), chat=self._chat(told)
            ).json()
        name, mime = told.get("name", "file.bin"), told.get("mime", "application/octet-stream")
        return person.sends_document(
            content, name, mime, told.get("caption", ""), chat=self._chat(told)
        ).json()

    def topic(self, told: Json) -> Json:
        return {"thread": self._person(told).topic(told["name"], self._chat(told))}

    def stop(self, told: Json) -> None:
        self._person(told).stops()

    def block(self, told: Json) -> None:
        self._person(told).blocks()

    def unblock(self, told: Json) -> None:
        self._person(told).unblocks()

    def fault(self, told: Json) -> None:
        if told.get("kind") == "none":
            return self._server.faults.clear()
        faults = [fault_from(told)] * int(told.get("times", 1))
        return self._server.faults.next(told["method"], *faults, chat=told.get("chat"))

    def deliver(self, told: Json) -> Json:
        return {"update_id": self._server.deliver(told)}

    # -------------------------------------------------------------------------------------- looking

    async def bot(self, request: web.Request) -> web.Response:
        """Who the bot is, and its menu in a language."""
        commands = self._server.state.commands
        menu = commands.get(("default", request.query.get("language", ""))) or commands.get(
            ("default", ""), []
        )
        return web.json_response({**self._server.state.bot, "commands": menu})

    async def chats(self, _: web.Request) -> web.Response:
        chats = self._server.state.chats.values()
        return web.json_response(
            [{**chat.json(), "members": sorted(chat.members)} for chat in chats]
        )

    async def look(self, request: web.Request) -> web.Response:
        return web.json_response(self._seen(self._server.state.chats[int(request.query["id"])]))

    async def read_journal(self, request: web.Request) -> web.Response:
        calls = self._server.journal.since(int(request.query.get("since", 0)))
        return web.json_response([call.json() for call in calls], dumps=_dumps)

    async def file(self, request: web.Request) -> web.Response:
        stored = self._server.state.files[request.query["id"]]
        return web.Response(
            body=stored.content,
            content_type=stored.mime,
            headers={"Content-Security-Policy": "sandbox"},
        )

    async def stream(self, request: web.Request) -> web.StreamResponse:
        """Server-sent events: what the chat shows, whenever that changes."""
        chat = self._server.state.chats[int(request.query["id"])]
        headers = {"Content-Type": "text/event-stream", "Cache-Control": "no-store"}
        response = web.StreamResponse(headers=headers)
        await response.prepare(request)
        last = ""
        while True:
            seen = json.dumps(self._seen(chat))
            await response.write(
                (f"data: {seen}\n\n" if seen != last else ": still here\n\n").encode()
            )
            last = seen
            await self._changed(chat, seen)

    async def _changed(self, chat: Chat, seen: str) -> None:
        try:
            async with asyncio.timeout(KEEP_ALIVE):
                while json.dumps(self._seen(chat)) == seen:
                    await self._server.state.signal.wait(1)
        except TimeoutError:
            return

    def _seen(self, chat: Chat) -> Json:
        now = self._server.state.now
        draft = chat.draft(now)
        return {
            "chat": chat.json(),
            "messages": [message.json() for message in chat.shown],
            "draft": draft
            and {"id": draft.draft_id, "text": draft.text, "can_stop": draft.can_stop},
            "action": chat.action(now),
        }

    def _person(self, told: Json) -> Person:
        return self._server.people[told["person"]]

    def _chat(self, told: Json) -> Chat | None:
        return self._server.state.chats[told["chat"]] if "chat" in told else None

    def _where(self, told: Json) -> Json:
        return {"chat": self._chat(told), "thread": told.get("thread")}

    def _message(self, told: Json) -> Shown:
        chat = self._chat(told) or self._person(told).chat
        return next(message for message in chat.shown if message.message_id == told["message_id"])


def _told(verb: Callable[[Json], Any]) -> Answer:
    """Make a route of a function that takes JSON; a bad value is a 400 that says why."""

    async def answer(request: web.Request) -> web.StreamResponse:
        try:
            told = await request.json()
            return web.json_response(verb(told))
        except (KeyError, TypeError, ValueError, LookupError, StopIteration) as wrong:
            return web.json_response({"error": f"{type(wrong).__name__}: {wrong}"}, status=400)

    return answer


def _dumps(value: Any) -> str:
    return json.dumps(value, default=str)
