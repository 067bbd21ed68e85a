"""The demo's page server: the page, and everything the page can ask, on one loopback origin.

GET  /                    page/index.html; every other file of bot/demo/page/ under its own name
(/chat.js, /page.css)
ANY  /control/…           the Telegram stand-in's remote control, unchanged (see
`telegram.control`): people, chats, SSE
GET  /stage               what is being shown:
       {now, started, shiftSeconds, running, restartable, model: "stand-in" | its name,
        summariser: {controllable, fails},
        mongodb: "mongodb://127.0.0.1:4711/?replicaSet=rs0" (never a name or password) | null where
        there is none,
        database, folder, bot: {id, username, first_name}, people: [{id, name, language, chat}],
        group: chat id,
        settings: {idleSeconds, maxAgeSeconds, triggerMessages, keepMessages, triggerTokens}}
POST /stage/hour        {hours?: 1}           -> {now, shiftSeconds}; stand-ins and bot share the
clock
POST /stage/restart     {}                    -> {running: true, seconds}; kill −9 and a new start;
answers when ready
POST /stage/summariser  {fails: true | false} -> {fails}; 409 where the real model is used
POST /stage/steal       {thief?: Boris, victim?: Anna} -> {session, tries: [{way, sent, got:
[text]}], leaked: false}
                        ways: link, command, press, words; 409 while the victim has no Session
GET  /glass/session?person=ID&chat=ID[&thread=ID]
       -> {session: the active Session of THAT person there as it lies in MongoDB (dates ISO 8601,
       …Z) | null,
           expiresInSeconds: number (below 0: over, decided at the next message) | null, archived:
           messages taken out,
           earlier: closed Sessions kept of this person here, notes: [{text, at}], bytes: size of
           the document}
GET  /glass/request?person=ID&chat=ID[&thread=ID]
       -> {request: {at, model, state, parts: [{section: "tools" | "system" | "summary" |
       "messages", role,
           content: [blocks], marked, repeated}], body: the whole request, usage: {input_tokens,
           output_tokens,
           cache_read_input_tokens, cache_creation_input_tokens} | {}} | null}
       the last chat request made for that person there, null where the real model is used (it is
       asked directly).
       `repeated`: from the front up to here nothing changed since the request before, so a
       provider's cache answers
       for it; `marked`: a cache breakpoint ends this part
GET  /glass/log?since=N   -> [happening, …] after number N, oldest first, at most the last 500
GET  /glass/events[?since=N]   the same as server-sent events (`id:` is the number; Last-Event-ID is
understood)

A happening: {number, at, what, person, chat, thread, session, …}; the four after `what` are null
where they say
nothing. Never a person's word. `what` and its further fields:
  created · loaded {revision} · committed {revision, messages} · compacted {from, to, epoch}
  (numbers of messages)
  expired {revision} · closed {revision} · reset · asked {messages, cached, prompt} (the model got a
  request; tokens)
  refused {way: link | command | words | press} · summariser-failed {fails, nextAt}
  hour {hours} · killed · ready {seconds} · stopped (the bot ended by itself) · trouble {text} (a
  warning of the bot)

Errors are {"error": sentence} with a 4xx status. Every answer carries a Content-Security-Policy
without any inline or foreign source, and with Trusted Types: the page sets `textContent`, never
`innerHTML`. Who asks under a foreign Host, or from a foreign Origin, gets 403.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web

from bot.demo.environment import DATABASE, Environment
from bot.demo.event_log import About
from bot.demo.isolation_attempt import IsolationAttempt, leaked
from bot.demo.json_values import to_json
from bot.errors import StartError, StoreError
from bot.owner import Owner, Place
from bot.standins.telegram.control import Control

KEEP_ALIVE = 15.0
MAX_HOURS = 24 * 365
Json = dict[str, Any]
Verb = Callable[[Any], Awaitable[Any]]


class NotNow(Exception):
    """What was asked for cannot be done as things are."""


class PageServer:
    """The routes of one town."""

    def __init__(self, town: Environment) -> None:
        self._town = town

    def routes(self) -> list[web.RouteDef]:
        """What can be asked."""
        told = {
            "hour": self.hour,
            "restart": self.restart,
            "summariser": self.summariser,
            "steal": self.steal,
        }
        asked = {"session": self.session, "request": self.request, "log": self.log}
        return [
            *Control(self._town.telegram).routes(),
            web.get("/stage", _answering(self.look)),
            *(web.post(f"/stage/{name}", _answering(verb)) for name, verb in told.items()),
            *(web.get(f"/glass/{name}", _answering(verb)) for name, verb in asked.items()),
            web.get("/glass/events", self.stream),
        ]

    # ---------------------------------------------------------------------------------------- stage

    async def look(self, _: Json) -> Json:
        town, settings = self._town, self._town.settings
        return {
            "now": to_json(town.clock.now()),
            "started": to_json(town.started),
            "shiftSeconds": town.clock.shift.total_seconds(),
            "running": town.bot.running,
            "restartable": True,
            "model": "stand-in" if town.claude else settings.model,
            "summariser": {"controllable": town.claude is not None, "fails": town.summariser_fails},
            "mongodb": nameless(town.uri),
            "database": DATABASE,
            "folder": str(town.folder.path),
            "bot": {
                name: town.telegram.state.bot[name] for name in ("id", "username", "first_name")
            },
            "people": [_person(person.user) for person in (town.anna, town.boris)],
            "group": town.group.id,
            "settings": {
                "idleSeconds": settings.session_ttl_seconds,
                "maxAgeSeconds": settings.session_max_age_seconds,
                "triggerMessages": settings.context_trigger_messages,
                "keepMessages": settings.context_keep_messages,
                "triggerTokens": settings.context_trigger_tokens,
            },
        }

    async def hour(self, told: Json) -> Json:
        hours = float(told.get("hours", 1))
        if not 0 < hours <= MAX_HOURS:
            raise ValueError("hours must be more than 0 and at most a year")
        self._town.pass_hours(hours)
        return {
            "now": to_json(self._town.clock.now()),
            "shiftSeconds": self._town.clock.shift.total_seconds(),
        }

    async def restart(self, _: Json) -> Json:
        try:
            seconds = await self._town.restart()
        except StartError as fault:
            raise NotNow(str(fault)) from None
        return {"running": True, "seconds": seconds}

    async def summariser(self, told: Json) -> Json:
        fails = told["fails"]
        if not isinstance(fails, bool):
            raise TypeError("fails must be true or false")
        if self._town.claude is None:
            raise NotNow("the real model is used, and it cannot be told to fail")
        self._town.let_summariser_fail(fails=fails)
        return {"fails": fails}

    async def steal(self, told: Json) -> Json:
        people = self._town.telegram.people
        thief = people[int(told.get("thief", self._town.boris.id))]
        victim = people[int(told.get("victim", self._town.anna.id))]
        document = await self._town.inspector.active(Owner(victim.id), Place(victim.chat.id))
        if document is None or not document["messages"]:
            raise NotNow(f"{victim.user['first_name']} has said nothing yet that could be stolen")
        if not self._town.bot.running:
            raise NotNow("the bot is not running")
        theft = IsolationAttempt(thief, document["_id"])
        try:
            tries = await theft.commit()
        except TimeoutError:
            raise NotNow("the bot did not answer the thief in time") from None
        for one in tries:
            self._town.event_log.note(
                "refused", About(thief.id, thief.chat.id, None, theft.session_id), way=one["way"]
            )
        return {"session": theft.session_id, "tries": tries, "leaked": leaked(document, tries)}

    # ---------------------------------------------------------------------------------------- glass

    async def session(self, query: Json) -> Json:
        owner, place = Owner(int(query["person"])), _place(query)
        return await self._town.inspector.session(owner, place)

    async def request(self, query: Json) -> Json:
        place = _place(query)
        about = About(int(query["person"]), place.chat_id, place.thread_id)
        return {"request": self._town.requests.latest(about) if self._town.requests else None}

    async def log(self, query: Json) -> Any:
        return self._town.event_log.since(int(query.get("since", 0)))

    async def stream(self, request: web.Request) -> web.StreamResponse:
        """Server-sent events: what happens, from a number on."""
        since = request.headers.get("Last-Event-ID") or request.query.get("since", "0")
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        async for fresh in self._town.event_log.follow(
            int(since) if since.isdecimal() else 0, KEEP_ALIVE
        ):
            events = "".join(f"id: {one['number']}\ndata: {json.dumps(one)}\n\n" for one in fresh)
            await response.write((events or ": still here\n\n").encode())
        return response


def nameless(uri: str) -> str:
    """The address of a server without the name and password in it."""
    scheme, _, rest = uri.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2]}"


def _person(user: Json) -> Json:
    return {
        "id": user["id"],
        "name": user["first_name"],
        "language": user["language_code"],
        "chat": user["id"],
    }


def _place(query: Json) -> Place:
    return Place(int(query["chat"]), int(query["thread"]) if query.get("thread") else None)


def _answering(verb: Verb) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    """A route that takes JSON, or a query, and answers in JSON; a mistake in it is a 400 with its
    reason.
    """

    async def answer(request: web.Request) -> web.StreamResponse:
        try:
            told = await request.json() if request.method == "POST" else dict(request.query)
            return web.json_response(await verb(told))
        except NotNow as reason:
            return web.json_response({"error": str(reason)}, status=409)
        except StoreError as fault:
            return web.json_response({"error": str(fault)}, status=503)
        except (KeyError, TypeError, ValueError, AttributeError) as wrong:
            return web.json_response({"error": f"{type(wrong).__name__}: {wrong}"}, status=400)

    return answer
