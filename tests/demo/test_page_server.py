"""What the demo's page can ask, as `bot/demo/page_server.py` writes it down: over HTTP, the
Sessions on a real mongod.
"""

from __future__ import annotations

import asyncio
import json
from datetime import timedelta

import aiohttp
import pytest

from bot.agent.prompt import end_user
from bot.aio import cancel_and_wait
from bot.demo.bot_process import BotProcess
from bot.demo.clock import ShiftedClock
from bot.demo.environment import (
    DATABASE,
    GROUP_ID,
    MODEL_SETTINGS,
    Environment,
    bot_environ,
    free_leases,
    has_model,
)
from bot.demo.event_log import About, EventLog
from bot.demo.folder import Folder, default_folder
from bot.demo.inspector import Inspector
from bot.demo.page_server import PageServer, nameless
from bot.demo.requests import Requests
from bot.demo.serving import serving
from bot.owner import Place
from bot.ports import Note
from bot.session import Summary
from bot.settings import Settings
from bot.standins.claude.server import ClaudeServer
from bot.standins.telegram.server import TelegramServer
from bot.store.mongo import collections, schema
from tests.builders import ANNA, ANNAS_CHAT, BORIS, LIFETIME, closed_turn, dialogue, session, text
from tests.raw_store import connect

GROUP = Place(GROUP_ID)
KEY = b"the key behind people's opaque names"
SECRET = "heron"


@pytest.fixture
def clock(tmp_path):
    return ShiftedClock(tmp_path / "clock")


@pytest.fixture
async def store(mongod, prepared, clock):
    opened = await connect(mongod, prepared, driver="pymongo")
    await schema.ensure(opened.database, collections.Retention(collections.MAX_SECONDS))
    yield opened
    await opened.close()


@pytest.fixture
async def environment(store, clock, tmp_path, mongod):
    """A environment whose bot was not started: a test does to the Sessions what the bot would do."""
    event_log, folder = EventLog(clock), Folder(tmp_path)
    async with TelegramServer(clock=clock) as telegram, ClaudeServer(clock=clock) as claude:
        anna, boris = telegram.person(ANNA.id, "Anna"), telegram.person(BORIS.id, "Boris", "ru")
        requests = Requests(claude.journal, telegram.state, KEY, event_log)
        sorting = asyncio.create_task(requests.run())
        environ = bot_environ({}, telegram, claude, mongod)
        yield Environment(
            folder=folder,
            uri="mongodb://name:password@somewhere:4711/?replicaSet=rs0",
            settings=Settings.read(environ),
            clock=clock,
            started=clock.now(),
            telegram=telegram,
            claude=claude,
            anna=anna,
            boris=boris,
            group=telegram.group("Both", [anna, boris], id=GROUP_ID),
            event_log=event_log,
            bot=BotProcess(environ, folder.clock, folder.log, lambda _line: None, lambda: None),
            inspector=Inspector(store.database, clock, LIFETIME),
            requests=requests,
        )
        await cancel_and_wait(sorting)


@pytest.fixture
async def http(environment, tmp_path):
    """A client of the page's server."""
    page = tmp_path / "page"
    page.mkdir()
    for name in ("index.html", "chat.js", "page.css", "notes.py"):
        (page / name).write_text(f"this is {name}")
    async with (
        serving(PageServer(environment).routes(), 0, page) as address,
        aiohttp.ClientSession(address) as client,
    ):
        yield client


async def asked(http, path, status=200, **query):
    async with http.get(path, params=query) as answer:
        assert answer.status == status, await answer.text()
        return await answer.json()


async def told(http, path, status=200, **what):
    async with http.post(path, json=what) as answer:
        assert answer.status == status, await answer.text()
        return await answer.json()


async def keep(store, clock, owner=ANNA, place=ANNAS_CHAT, **changes):
    """A Session that was active just now."""
    made = session(f"{owner.id:032x}", owner, place, **changes)
    made.created_at = made.last_active = clock.now()
    await store.sessions.create(owner, made)
    return made


async def inspector(http, what, owner=ANNA, place=ANNAS_CHAT):
    return await asked(http, f"/inspector/{what}", person=owner.id, chat=place.chat_id)


# --------------------------------------------------------------------------------------- protection


@pytest.mark.parametrize(
    "path",
    ["/", "/chat.js", "/environment", "/control/chats", "/nowhere", "/control/file?id=x"],
    ids=lambda path: path,
)
async def test_every_answer_forbids_whatever_is_inline_or_foreign(http, path):
    async with http.get(path) as answer:
        policy = dict(
            rule.split(" ", 1) for rule in answer.headers["Content-Security-Policy"].split("; ")
        )
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Referrer-Policy"] == "no-referrer"
        assert answer.headers["Cache-Control"] == "no-store"
    assert policy["default-src"] == policy["frame-ancestors"] == policy["base-uri"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == "'self'"
    assert policy["require-trusted-types-for"] == "'script'"
    assert "unsafe" not in str(policy)


async def test_a_file_somebody_sent_keeps_its_stricter_policy(http, environment):
    environment.anna.sends_document(b"<script>alert(1)</script>", "page.html", "text/html")
    file_id = next(iter(environment.telegram.state.files))
    async with http.get("/control/file", params={"id": file_id}) as answer:
        assert answer.headers["Content-Security-Policy"] == "sandbox"


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "attacker.example"},
        {"Host": "127.0.0.1.attacker.example:8088"},
        {"Host": "["},
        {"Origin": "https://attacker.example"},
        {"Origin": "null"},
        {"Origin": "http://localhost:1"},
    ],
    ids=["host", "host_like_ours", "broken_host", "origin", "no_origin", "other_port"],
)
@pytest.mark.parametrize("path", ["/environment", "/inspector/log", "/control/chats", "/"])
async def test_who_asks_under_a_foreign_name_is_refused(http, path, headers):
    """DNS rebinding, and other pages in the same browser."""
    async with http.get(path, headers=headers) as answer:
        assert answer.status == 403


async def test_our_own_page_may_ask(http):
    async with http.get(
        "/environment", headers={"Origin": str(http._base_url).rstrip("/")}
    ) as answer:
        assert answer.status == 200


@pytest.mark.parametrize(
    ("path", "kind"),
    [("/", "text/html"), ("/chat.js", "text/javascript"), ("/page.css", "text/css")],
    ids=["index", "module", "style"],
)
async def test_the_pages_files_come_with_their_kinds(http, path, kind):
    async with http.get(path) as answer:
        assert (answer.status, answer.content_type) == (200, kind)


@pytest.mark.parametrize(
    "path", ["/notes.py", "/none.js", "/..%2fclock", "/%2e%2e/clock", "/..%2f..%2fetc%2fpasswd"]
)
async def test_nothing_else_on_the_machine_is_served(http, path):
    async with http.get(path) as answer:
        assert answer.status == 404


# ---------------------------------------------------------------------------------------- inspector


async def test_a_session_is_shown_as_it_lies_in_the_database(http, environment, store, clock):
    made = await keep(store, clock, messages=dialogue(1, words=SECRET))
    await store.archive.add(ANNA, made.id, dialogue(2, first_seq=10))
    await store.notes.add(ANNA, ANNAS_CHAT, Note("1", "likes birds", clock.now()))

    seen = await inspector(http, "session")
    document = await store.database["sessions"].find_one({"_id": made.id})
    assert document is not None
    assert seen["session"].keys() == document.keys()
    assert seen["session"]["messages"][0]["content"] == [text(f"user {SECRET} 1")]
    assert seen["session"]["lastActive"].endswith("Z")
    assert (seen["archived"], seen["earlier"], [note["text"] for note in seen["notes"]]) == (
        4,
        0,
        ["likes birds"],
    )
    assert (
        LIFETIME.idle.total_seconds() - 10
        < seen["expiresInSeconds"]
        <= LIFETIME.idle.total_seconds()
    )
    assert seen["bytes"] > 500


async def test_an_hour_later_the_session_is_over(http, store, clock):
    await keep(store, clock)
    hour = await told(http, "/environment/hour")
    assert hour["shiftSeconds"] == 3600
    assert -1810 < (await inspector(http, "session"))["expiresInSeconds"] <= -1790


async def test_a_session_ends_by_its_age_too(http, store, clock):
    made = session("a" * 32)
    made.created_at, made.last_active = (
        clock.now() - LIFETIME.max_age + timedelta(seconds=60),
        clock.now(),
    )
    await store.sessions.create(ANNA, made)
    assert 50 < (await inspector(http, "session"))["expiresInSeconds"] <= 60


async def test_nobody_sees_another_persons_session(http, store, clock):
    """Not in his own chat, not in hers, not in the group both are in."""
    await keep(store, clock, messages=dialogue(1, words=SECRET))
    await store.notes.add(ANNA, ANNAS_CHAT, Note("1", SECRET, clock.now()))
    for place in (ANNAS_CHAT, Place(BORIS.id), GROUP):
        seen = await inspector(http, "session", BORIS, place)
        assert (seen["session"], seen["notes"], seen["archived"]) == (None, [], 0)
    assert SECRET not in json.dumps(await asked(http, "/inspector/log"))


async def test_in_a_group_each_member_has_a_session_of_their_own(http, store, clock):
    await keep(store, clock, ANNA, GROUP, messages=dialogue(1, words=SECRET))
    await keep(store, clock, BORIS, GROUP, messages=dialogue(1, words="owl"))
    assert SECRET in json.dumps((await inspector(http, "session", ANNA, GROUP))["session"])
    assert SECRET not in json.dumps((await inspector(http, "session", BORIS, GROUP))["session"])


@pytest.mark.parametrize(
    "query", [{}, {"person": "anna", "chat": 1}, {"person": 0, "chat": 1}, {"person": 1}]
)
async def test_a_question_that_names_nobody_is_refused(http, query):
    assert "error" in await asked(http, "/inspector/session", 400, **query)


# ----------------------------------------------------------------------------------------- requests


async def request(environment, owner, *messages, **changes):
    """What the bot would ask for this person; the last message holds what the person wrote."""
    body = {
        "model": "claude-sonnet-5-5",
        "max_tokens": 100,
        "system": [text("be kind")],
        "messages": [
            {"role": role, "content": [text(words) for words in many]} for role, *many in messages
        ],
        "metadata": {"user_id": end_user(owner, KEY)},
    }
    headers = {
        "authorization": f"Bearer {environment.claude.key}",
        "anthropic-version": "2023-06-01",
    }
    async with aiohttp.ClientSession() as client:
        answer = await client.post(
            f"{environment.claude.url}/v1/messages", json=body | changes, headers=headers
        )
        assert answer.status == 200, await answer.text()


async def last(http, environment, owner=ANNA, place=ANNAS_CHAT, *, asked_times=1):
    await arrived(
        environment, lambda told: [one["what"] for one in told].count("asked") == asked_times
    )
    return (await inspector(http, "request", owner, place))["request"]


async def arrived(environment, holds, seconds=60.0):
    async with asyncio.timeout(seconds):
        async for _ in environment.event_log.follow(0, 0.02):
            if holds(environment.event_log.since(0)):
                return


async def test_the_last_request_is_shown_part_by_part(http, environment):
    environment.anna.says("hello")
    await request(
        environment,
        ANNA,
        ("user", "<conversation_summary upto=1>old</conversation_summary>", "<sent/>", "hello"),
    )
    seen = await last(http, environment)
    assert [part["section"] for part in seen["parts"]] == ["system", "summary", "messages"]
    assert seen["parts"][0]["content"] == [text("be kind")]
    assert (seen["model"], seen["state"]) == ("claude-sonnet-5-5", "answered")
    assert seen["usage"]["input_tokens"] > 0
    assert seen["body"]["metadata"]["user_id"] == end_user(ANNA, KEY)


async def test_what_repeats_from_the_request_before_is_marked_from_the_front_up_to_the_first_change(
    http, environment
):
    environment.anna.says("one")
    await request(environment, ANNA, ("user", "one"))
    environment.anna.says("two")
    await request(environment, ANNA, ("user", "one"), ("assistant", "yes"), ("user", "two"))
    seen = await last(http, environment, asked_times=2)
    assert [part["repeated"] for part in seen["parts"]] == [True, True, False, False]


async def test_a_cache_breakpoint_is_shown_where_it_stands(http, environment):
    environment.anna.says("hello")
    await request(
        environment,
        ANNA,
        ("user", "hello"),
        system=[{**text("be kind"), "cache_control": {"type": "ephemeral"}}],
    )
    assert [part["marked"] for part in (await last(http, environment))["parts"]] == [True, False]


async def test_a_request_belongs_to_the_place_where_its_words_were_written(http, environment):
    environment.anna.says("hello there")
    environment.anna.says("hello", chat=environment.group)
    await request(environment, ANNA, ("user", "hello"))
    assert await last(http, environment, ANNA, GROUP)
    assert await last(http, environment, ANNA, ANNAS_CHAT) is None


async def test_after_a_tool_the_request_is_still_found_by_what_the_person_wrote(http, environment):
    environment.anna.says("plan a party", chat=environment.group)
    tool = {"name": "plan", "description": "", "input_schema": {"type": "object"}}
    call = {"type": "tool_use", "id": "toolu_1", "name": "plan", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "done"}
    messages = [
        {"role": "user", "content": [text("plan a party")]},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result]},
    ]
    await request(environment, ANNA, tools=[tool], messages=messages)
    assert (await last(http, environment, ANNA, GROUP))["parts"][0]["section"] == "tools"


async def test_nobody_sees_a_request_made_for_another_person(http, environment):
    environment.anna.says(SECRET)
    environment.boris.says(SECRET)
    await request(environment, ANNA, ("user", SECRET))
    assert await last(http, environment, ANNA)
    for place in (ANNAS_CHAT, Place(BORIS.id), GROUP):
        assert await last(http, environment, BORIS, place) is None
    assert SECRET not in json.dumps(await asked(http, "/inspector/log"))


# -------------------------------------------------------------------------------------- environment


async def test_what_is_on_stage_is_told_without_a_secret(http, environment):
    look = await asked(http, "/environment")
    assert look["mongodb"] == "mongodb://somewhere:4711/?replicaSet=rs0"
    assert [person["language"] for person in look["people"]] == ["en", "ru"]
    assert (look["group"], look["database"], look["running"]) == (GROUP_ID, DATABASE, False)
    assert look["settings"]["keepMessages"] < look["settings"]["triggerMessages"]
    for secret in ("password", environment.telegram.token, environment.claude.key):
        assert secret not in json.dumps(look)


@pytest.mark.parametrize("hours", [0, -1, 1e9, "soon", None])
async def test_time_goes_forward_only_and_by_a_number(http, clock, hours):
    await told(http, "/environment/hour", 400, hours=hours)
    assert clock.shift == timedelta()


async def test_the_summariser_can_be_let_fail_and_mended(http, environment):
    summary = {
        "messages": [
            {"role": "user", "content": [text('<transcript seq="0..1">user: hello</transcript>')]}
        ]
    }
    assert await told(http, "/environment/summariser", fails=True) == {"fails": True}
    assert environment.claude.faults.take(summary) is not None
    assert (
        environment.claude.faults.take({"messages": [{"role": "user", "content": "hello"}]}) is None
    )
    assert (await asked(http, "/environment"))["summariser"] == {
        "controllable": True,
        "fails": True,
    }

    await told(http, "/environment/summariser", fails=False)
    assert environment.claude.faults.take(summary) is None
    await told(http, "/environment/summariser", 400, fails="yes")


async def test_the_real_model_cannot_be_told_to_fail(http, environment):
    environment.claude, environment.requests = None, None
    assert "real model" in (await told(http, "/environment/summariser", 409, fails=True))["error"]
    look = await asked(http, "/environment")
    assert (look["model"], look["summariser"]["controllable"]) == (
        environment.settings.model,
        False,
    )
    assert await inspector(http, "request") == {"request": None}


async def test_there_is_nothing_to_steal_before_the_victim_spoke(http, environment, store, clock):
    assert "Anna has said nothing" in (await told(http, "/environment/intrude", 409))["error"]
    await keep(store, clock, messages=dialogue(1))
    assert (await told(http, "/environment/intrude", 409))["error"] == "the bot is not running"


async def test_what_happened_is_told_from_any_number_on_and_to_whoever_comes_back(
    http, environment
):
    for name in ("killed", "ready", "stopped"):
        environment.event_log.note(name)
    assert [one["what"] for one in await asked(http, "/inspector/log", since=1)] == [
        "ready",
        "stopped",
    ]
    assert len(await asked(http, "/inspector/log", since=99)) == 3, "a number of an earlier demo"
    async with http.get("/inspector/events", headers={"Last-Event-ID": "2"}) as events:
        assert events.content_type == "text/event-stream"
        first = [await events.content.readline() for _ in range(3)]
        environment.event_log.note("hour", About(ANNA.id), hours=1)
        lines = [await events.content.readline() for _ in range(2)]
    assert (first[0], lines[0]) == (b"id: 3\n", b"id: 4\n")
    assert json.loads(lines[1].removeprefix(b"data: ")) == environment.event_log.since(3)[0]


# ---------------------------------------------------------------------------------- the environment


async def test_a_dead_bots_leases_are_over_at_once_and_its_try_is_still_counted(store, clock):
    later = clock.now() + timedelta(hours=1)
    await store.database["leases"].insert_one({"_id": "poller", "by": "dead", "until": later})
    await store.database["lanes"].insert_one(
        {"_id": "1:1:", "ownerId": 1, "ready": True, "arrivals": 1, "leaseBy": "dead", "leaseUntil": later, "fence": 3,
         "tries": 2, "lastSeen": clock.now()}
    )  # fmt: skip
    await free_leases(store.database)
    lane = await store.database["lanes"].find_one({"_id": "1:1:"})
    assert lane is not None
    assert await store.database["leases"].count_documents({}) == 0
    assert (lane["leaseUntil"] < clock.now(), lane["leaseBy"], lane["tries"]) == (True, "dead", 2)


async def test_a_real_bots_settings_do_not_reach_the_demos_bot(environment):
    """A token, a database or an access list in the environment belong to another bot."""
    real = {
        "TELEGRAM_BOT_TOKEN": "1:real",
        "MONGODB_DATABASE": "bot",
        "ALLOWED_USER_IDS": "5",
        "LANG": "C",
    }
    environ = bot_environ(real, environment.telegram, environment.claude, "mongodb://here")
    assert environ["TELEGRAM_BOT_TOKEN"] == environment.telegram.token
    assert (environ["MONGODB_DATABASE"], environ["LANG"]) == (DATABASE, "C")
    assert "ALLOWED_USER_IDS" not in environ


def test_a_key_or_an_address_of_a_model_is_handed_on(environment):
    real = {"ANTHROPIC_API_KEY": "sk", "MODEL": "some-model"}
    environ = bot_environ(real, environment.telegram, None, "mongodb://here")
    assert {name: environ[name] for name in MODEL_SETTINGS if name in environ} == real
    assert has_model(real)
    assert has_model({"ANTHROPIC_BASE_URL": "http://localhost:1"})
    assert not has_model({"ANTHROPIC_API_KEY": " "})


@pytest.mark.parametrize(
    ("platform", "environ", "wanted"),
    [
        ("linux", {}, ".local/share/bot-demo"),
        ("linux", {"XDG_DATA_HOME": "elsewhere"}, "elsewhere/bot-demo"),
        ("darwin", {}, "Library/Application Support/bot-demo"),
        ("win32", {"LOCALAPPDATA": "Local"}, "Local/bot-demo"),
    ],
    ids=["linux", "xdg", "mac", "windows"],
)
def test_things_are_kept_where_the_system_keeps_such_things(platform, environ, wanted):
    assert default_folder(environ, platform).as_posix().endswith(wanted)


@pytest.mark.parametrize(
    "uri", ["mongodb://a:b%40c@h:1/x", "mongodb://h:1/x"], ids=["with_password", "without"]
)
def test_an_address_is_shown_without_its_password(uri):
    assert nameless(uri) == "mongodb://h:1/x"


async def test_a_commit_and_its_session_are_in_the_glass_at_once(http, store, clock):
    made = await keep(store, clock)
    await store.sessions.commit(ANNA, made, closed_turn(made, words=SECRET, at=clock.now()))
    assert (await inspector(http, "session"))["session"]["revision"] == 1


async def test_a_summary_is_shown_with_what_it_replaced_counted(http, store, clock):
    made = await keep(store, clock, messages=dialogue(3))
    summary = Summary("they talked", 3, 1, 5, "m", clock.now())
    await store.archive.add(ANNA, made.id, made.messages[:4])
    await store.sessions.replace_summary(ANNA, made, summary, made.compaction)
    seen = await inspector(http, "session")
    assert (
        seen["session"]["summary"]["text"],
        len(seen["session"]["messages"]),
        seen["archived"],
    ) == (
        "they talked",
        2,
        4,
    )
