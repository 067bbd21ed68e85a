"""The demo's page server: the page and everything it can ask for, on one loopback origin.

GET /, /chat.js, …
    The files of bot/demo/page/; `/` is index.html.
ANY /control/…
    The remote control of the Telegram stand-in, unchanged (see `standins.telegram.control`).
GET /environment
    What is running: {now, started, shiftSeconds, running, restartable,
    model: "stand-in" or the model's name, summariser: {controllable, fails},
    mongodb: its address without a name or password, database, folder,
    bot: {id, username, first_name}, people: [{id, name, language, chat}], group: id of its chat,
    settings: {idleSeconds, maxAgeSeconds, triggerMessages, keepMessages, triggerTokens}}
POST /environment/hour {hours?: 1}
    -> {now, shiftSeconds}. Moves the clock that the stand-ins and the bot share.
POST /environment/restart {}
    -> {running: true, seconds}. Kills the bot (kill −9), starts it and answers once it is ready.
POST /environment/summariser {fails: true | false}
    -> {fails}. 409 where the real model is used.
POST /environment/intrude {intruder?: Boris, victim?: Anna}
    -> {session, tries: [{way, sent, got: [text]}], leaked: false}. The ways are link, command,
    press and words. 409 while the victim has no Session.
GET /inspector/session?person=ID&chat=ID[&thread=ID]
    -> {session, expiresInSeconds, archived, earlier, notes: [{text, at}], bytes}. `session` is the
    active Session of that person there as it lies in MongoDB, or null; dates are ISO 8601 in UTC.
    `expiresInSeconds` below 0 means that the next message begins a new Session; `archived` counts
    the messages that compaction took out, `earlier` the closed Sessions, `bytes` the document.
GET /inspector/request?person=ID&chat=ID[&thread=ID]
    -> {request: {at, model, state, parts, body, usage} | null}: the last chat request made for
    that person there; null where the real model is used, which is asked directly. Each of `parts`
    is {section: "tools" | "system" | "summary" | "messages", role, content: [block], marked,
    repeated}. A `marked` part ends at a cache breakpoint; up to a `repeated` one nothing has
    changed since the request before, so that a provider's cache can serve it.
GET /inspector/log?since=N
    -> [event, …] after number N, oldest first, at most the last 500.
GET /inspector/events[?since=N]
    The same as server-sent events; `id:` is the number, and Last-Event-ID is understood.

An event is {number, at, what, person, chat, thread, session, …}; person, chat, thread and session
may be null. It never holds anybody's words. The kinds (`what`) and their further fields:
    created, loaded {revision}, committed {revision, messages}, compacted {from, to, epoch} (numbers
    of messages), expired {revision}, closed {revision}, reset, summariser-failed {fails, nextAt}:
        a Session has changed
    asked {messages, cached, prompt}: the model got a request; the last two are tokens
    refused {way: link | command | words | press}: a try of an intruder failed
    hour {hours}, killed, ready {seconds}, stopped (the bot ended by itself), trouble {text} (the
        bot logged a warning)

Errors are {"error": sentence} with a 4xx status. Every answer carries a Content-Security-Policy
that forbids inline and foreign sources and requires Trusted Types; the page sets `textContent`,
never `innerHTML`. A request with a foreign Host or Origin gets 403.
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
    """The request cannot be served in the present state of the environment; answered with 409."""


class PageServer:
    """Serves what one environment shows and lets happen."""

    def __init__(self, environment: Environment) -> None:
        self._environment = environment

    def routes(self) -> list[web.RouteDef]:
        """Every route but those of the page's files."""
        told = {
            "hour": self.hour,
            "restart": self.restart,
            "summariser": self.summariser,
            "intrude": self.intrude,
        }
        asked = {"session": self.session, "request": self.request, "log": self.log}
        return [
            *Control(self._environment.telegram).routes(),
            web.get("/environment", _answering(self.look)),
            *(web.post(f"/environment/{name}", _answering(verb)) for name, verb in told.items()),
            *(web.get(f"/inspector/{name}", _answering(verb)) for name, verb in asked.items()),
            web.get("/inspector/events", self.stream),
        ]

    # ---------------------------------------------------------------------------------- environment

    async def look(self, _: Json) -> Json:
        environment, settings = self._environment, self._environment.settings
        return {
            "now": to_json(environment.clock.now()),
            "started": to_json(environment.started),
            "shiftSeconds": environment.clock.shift.total_seconds(),
            "running": environment.bot.running,
            "restartable": True,
            "model": "stand-in" if environment.claude else settings.model,
            "summariser": {
                "controllable": environment.claude is not None,
                "fails": environment.summariser_fails,
            },
            "mongodb": nameless(environment.uri),
            "database": DATABASE,
            "folder": str(environment.folder.path),
            "bot": {
                name: environment.telegram.state.bot[name]
                for name in ("id", "username", "first_name")
            },
            "people": [_person(person.user) for person in (environment.anna, environment.boris)],
            "group": environment.group.id,
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
        self._environment.pass_hours(hours)
        return {
            "now": to_json(self._environment.clock.now()),
            "shiftSeconds": self._environment.clock.shift.total_seconds(),
        }

    async def restart(self, _: Json) -> Json:
        try:
            seconds = await self._environment.restart()
        except StartError as fault:
            raise NotNow(str(fault)) from None
        return {"running": True, "seconds": seconds}

    async def summariser(self, told: Json) -> Json:
        fails = told["fails"]
        if not isinstance(fails, bool):
            raise TypeError("fails must be true or false")
        if self._environment.claude is None:
            raise NotNow("the real model is used, and it cannot be told to fail")
        self._environment.let_summariser_fail(fails=fails)
        return {"fails": fails}

    async def intrude(self, told: Json) -> Json:
        people = self._environment.telegram.people
        intruder = people[int(told.get("intruder", self._environment.boris.id))]
        victim = people[int(told.get("victim", self._environment.anna.id))]
        document = await self._environment.inspector.active(Owner(victim.id), Place(victim.chat.id))
        if document is None or not document["messages"]:
            raise NotNow(f"{victim.user['first_name']} has said nothing yet that could be stolen")
        if not self._environment.bot.running:
            raise NotNow("the bot is not running")
        attempt = IsolationAttempt(intruder, document["_id"])
        try:
            tries = await attempt.run()
        except TimeoutError:
            raise NotNow("the bot did not answer the intruder in time") from None
        for one in tries:
            self._environment.event_log.note(
                "refused",
                About(intruder.id, intruder.chat.id, None, attempt.session_id),
                way=one["way"],
            )
        return {"session": attempt.session_id, "tries": tries, "leaked": leaked(document, tries)}

    # ------------------------------------------------------------------------------------ inspector

    async def session(self, query: Json) -> Json:
        owner, place = Owner(int(query["person"])), _place(query)
        return await self._environment.inspector.session(owner, place)

    async def request(self, query: Json) -> Json:
        place = _place(query)
        about = About(int(query["person"]), place.chat_id, place.thread_id)
        return {
            "request": self._environment.requests.latest(about)
            if self._environment.requests
            else None
        }

    async def log(self, query: Json) -> Any:
        return self._environment.event_log.since(int(query.get("since", 0)))

    async def stream(self, request: web.Request) -> web.StreamResponse:
        """Send events, from a number on, until the client goes away."""
        since = request.headers.get("Last-Event-ID") or request.query.get("since", "0")
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        async for fresh in self._environment.event_log.follow(
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
    """Make a route of a function: JSON or a query in, JSON out; a bad value is a 400 that says
    why.
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
