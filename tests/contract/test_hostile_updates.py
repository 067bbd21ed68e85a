"""One bad update stops nobody: whatever it holds and whichever part refuses it, the others are
taken in and intake goes on, by polling and by the webhook. What can never be stored is dropped with
one line and never asked for again.
"""

from __future__ import annotations

import asyncio
import json
import logging
from contextlib import asynccontextmanager

import aiohttp
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from telegram import Update

from bot.ops.http_server import HttpServer
from bot.store.mongo.inbox import MongoInbox
from bot.store.mongo.queries import LeaseOwner
from bot.telegram.inbound.incoming_rate import IncomingRate
from bot.telegram.inbound.membership import Membership
from bot.telegram.inbound.parsed_batch import parse
from bot.telegram.inbound.parsing import Account
from bot.telegram.inbound.poller import Poller
from bot.telegram.inbound.receiver import Gate, Receiver, reading
from bot.telegram.inbound.webhook import SECRET_HEADER, Webhook
from bot.telegram.outbound.messages import Messages
from bot.telegram.outbound.throttled_notices import ThrottledNotices
from bot.telegram.outbound.transport import Transport
from bot.texts import text
from tests.telegrams import PENALTIES_WARN, Naps, telegram

pytestmark = PENALTIES_WARN

ANNA, BORIS = 7, 8
SECRET = "planted_Secret-1-planted_Secret-1"
HEADERS = {"Content-Type": "application/json", SECRET_HEADER: SECRET}


def nested(levels, inner=0):
    for _ in range(levels):
        inner = {"heron": inner}
    return inner


def person(number):
    return {"id": number, "is_bot": False, "first_name": "Heron"}


def private(number):
    return {"id": number, "type": "private"}


def message(number=ANNA, words="heron", **more):
    return {
        "message_id": 5,
        "date": 1,
        "from": person(number),
        "chat": private(number),
        "text": words,
        **more,
    }


def membership(number, status="kicked"):
    was, now = ({"user": person(99), "status": one, "until_date": 0} for one in ("member", status))
    return {
        "chat": private(number),
        "from": person(number),
        "date": 1,
        "old_chat_member": was,
        "new_chat_member": now,
    }


def in_group(number, **more):
    """What a group says to the bot; other words are none of its business."""
    named = {"type": "bot_command", "offset": 0, "length": len("/new@emulated_bot")}
    return message(words="/new@emulated_bot", entities=[named], chat=group(number), **more)


def group(number):
    return {"id": number, "type": "supergroup", "title": "Herons"}


HUGE = 2**63
FOR_GOOD = {
    "a person's id": {"message": message(HUGE)},
    "a group's id": {"message": in_group(-HUGE - 1)},
    "a message's id": {"message": message(message_id=HUGE)},
    "a thread's id": {"message": in_group(-5, is_topic_message=True, message_thread_id=HUGE)},
    "a message 300 deep": {"message": message(extra=nested(300))},
    "a message as deep as no document": {"message": message(extra=nested(178))},
    "a message of a text for a number": {"message": message(message_id="heron")},
    "a message larger than any document": {"message": message(words="a" * 17_000_000)},
    "an edit": {"edited_message": message(edit_date=2, extra=nested(300))},
    "an edit's id": {"edited_message": message(edit_date=2, message_id=HUGE)},
    "a press": {
        "callback_query": {
            "id": "1",
            "from": person(ANNA),
            "chat_instance": "1",
            "data": "x",
            "message": message(),
        }
        | {"extra": HUGE}
    },
    "who has blocked the bot": {"my_chat_member": membership(HUGE)},
    "who has let it in again": {"my_chat_member": membership(HUGE, "member")},
    "where a group went": {"message": message(chat=group(-5), migrate_to_chat_id=-HUGE - 1)},
    "which group it was": {"message": message(chat=group(-HUGE - 1), migrate_to_chat_id=-6)},
    "a draft's id": {"stopped_message_generation": {"chat": private(ANNA), "draft_id": HUGE}},
    "a draft's id and one more": {
        "stopped_message_generation": {"chat": private(ANNA), "draft_id": HUGE - 1}
    },
}


class Intake:
    """All that takes updates in, over a real MongoDB."""

    def __init__(self, server, bot, store):
        clock = server.state.clock
        self.server, self.bot, self.clock = server, bot, clock
        self.entries = store.database["inbox"]
        self.inbox = MongoInbox(store.database, store.calls, clock, LeaseOwner("here", 15))
        self.throttled_notices = ThrottledNotices(Messages(Transport(bot, sleep=Naps())), clock)
        gate = Gate(lambda _owner: True, IncomingRate(10**6, clock))
        receiver = Receiver(
            self.inbox, Account(bot.id, bot.username), clock, self.throttled_notices, gate
        )
        membership = Membership(store.owners, store.chats, clock, lambda _owner: True)
        self.receive = reading(membership.noting(receiver.receive))
        self._good = 10**6
        self.posted = 0

    def good(self):
        """An update that has to be taken in, whatever came before and beside it."""
        self._good += 1
        return self._good, {"message": message(BORIS, f"good {self._good}", message_id=self._good)}

    async def are_taken(self, *numbers):
        async with asyncio.timeout(60):
            waiting = {"message": {"$in": numbers}, "state": "queued"}
            while await self.entries.count_documents(waiting) < len(numbers):  # noqa: ASYNC110 - it has no event
                await asyncio.sleep(0.01)


async def poll(intake, *hostile):
    """A poll with the hostile ones between two good ones, and a good one in the poll after it."""
    (first, before), (last, after), (later, then) = (intake.good() for _ in range(3))
    for update in (before, *hostile, after):
        intake.server.deliver(update)
    task = asyncio.create_task(Poller(intake.bot, intake.receive, intake.clock, sleep=Naps()).run())
    try:
        await intake.are_taken(first, last)
        intake.server.deliver(then)
        await intake.are_taken(first, last, later)
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def post(intake, *hostile):
    """The same, one by one, as Telegram pushes them: no answer may ask for the same again."""
    good = [intake.good(), intake.good()]
    hook = Webhook("https://example.org/hook", SECRET, intake.receive)
    async with (
        HttpServer("127.0.0.1", 0, hook.routes()) as http,
        aiohttp.ClientSession(headers=HEADERS) as client,
    ):
        for update in (good[0][1], *hostile, good[1][1]):
            intake.posted += 1
            body = json.dumps({"update_id": intake.posted} | update)
            if len(body) < 10**6:
                async with client.post(f"http://127.0.0.1:{http.port}/hook", data=body) as answer:
                    assert answer.status == 200, update
    await intake.are_taken(*(number for number, _ in good))


@asynccontextmanager
async def receiving(store):
    async with telegram() as (server, bot):
        intake = Intake(server, bot, store)
        yield intake
        await intake.throttled_notices.close()


def dropped(caplog):
    return [line for line in caplog.messages if "is dropped" in line]


@pytest.mark.parametrize("way", [poll, post])
@pytest.mark.parametrize("hostile", FOR_GOOD.values(), ids=FOR_GOOD)
async def test_what_can_never_be_stored_is_dropped_with_one_line(store, caplog, way, hostile):
    """C167: by put, revise, stop and what notes who moved; nothing of it is printed."""
    async with receiving(store) as intake:
        caplog.set_level(logging.INFO, "bot")
        caplog.clear()
        await way(intake, hostile)

    is_posted = way is poll or len(json.dumps(hostile)) < 10**6
    assert len(dropped(caplog)) == is_posted
    assert "heron" not in "".join(caplog.messages).lower()
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


async def test_who_sent_it_is_told_once_and_not_to_try_again(store):
    async with receiving(store) as intake:
        anna = intake.server.person(ANNA, "Anna")
        anna.says("hello")
        for _ in range(2):
            await poll(intake, {"message": message(extra=nested(190))})
        await intake.server.until(lambda: anna.chat.answers)
        await intake.throttled_notices.close()
    assert [shown.text for shown in anna.chat.answers] == [text("error_unstorable", "en")]


async def test_an_edit_that_was_dropped_leaves_the_message_that_waits_as_it_was(store):
    async with receiving(store) as intake:
        await poll(
            intake,
            {"message": message(words="before")},
            {"edited_message": message(extra=nested(300))},
        )
        waits = await intake.entries.find_one({"ownerId": ANNA})
    assert waits["update"]["message"]["text"] == "before"


async def test_an_id_beyond_all_sense_neither_stops_polling_nor_confirms_what_was_not_received(
    store,
):
    """The offset that would confirm it would confirm every later update as well."""
    async with receiving(store) as intake:
        updates = intake.server.state.updates
        following = updates.next_id
        intake.server.deliver({"update_id": HUGE, "message": message()})
        updates.next_id = following
        await poll(intake)
        await poll(intake)
        offsets = [call.params.get("offset") for call in intake.server.journal.of("getUpdates")]
    assert all(offset is None or int(offset) < HUGE for offset in offsets)


async def test_a_stop_of_no_number_is_dropped(store, caplog):
    async with receiving(store) as intake:
        await post(
            intake, {"stopped_message_generation": {"chat": private(ANNA), "draft_id": "heron"}}
        )
        await poll(
            intake, {"stopped_message_generation": {"chat": private(ANNA), "draft_id": ["heron"]}}
        )
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


ARRIVING = {
    "a message": {"message": message()},
    "a command": {"message": message(words="/new")},
    "an edit": {"edited_message": message(edit_date=2)},
    "a press": {
        "callback_query": {
            "id": "1",
            "from": person(ANNA),
            "chat_instance": "1",
            "data": "open:x",
            "message": message(),
        }
    },
    "who has blocked the bot": {"my_chat_member": membership(ANNA)},
    "who has let it in again": {"my_chat_member": membership(ANNA, "member")},
    "where a group went": {"message": message(chat=group(-5), migrate_to_chat_id=-6)},
    "a stop": {"stopped_message_generation": {"chat": private(ANNA), "draft_id": 7}},
    "what can never be stored": {"message": message(message_id=HUGE)},
}


@pytest.mark.parametrize("update", ARRIVING.values(), ids=ARRIVING)
async def test_an_update_is_parsed_once_where_it_arrives_and_once_where_it_is_handled(
    store, monkeypatch, update
):
    """Two of the same at once: what somebody has taken back meanwhile is not parsed for that."""
    parsed, de_json = [], Update.de_json

    def counted(raw):
        parsed.append(raw)
        return de_json(raw)

    monkeypatch.setattr(Update, "de_json", counted)
    async with receiving(store) as intake:
        await intake.receive({"update_id": 1} | update, {"update_id": 2} | update)
        assert [raw["update_id"] for raw in parsed] == [1, 2]
        parsed.clear()
        while claim := await intake.inbox.claim(()):
            batch = await intake.inbox.next(claim)
            parse(batch)
            assert [raw["update_id"] for raw in parsed] == [entry.id for entry in batch.entries]
            parsed.clear()
            await intake.inbox.finish(batch, "done")


# -------------------------------------------------------------------------------- whatever may come

leaves = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**80), 2**80),
    st.sampled_from([0, -1, ANNA, HUGE, -HUGE - 1, 2**31, 10**18, 1e400, 0.5]),
    st.text(st.characters(codec=None, categories=["L", "N", "Cs", "Cc", "So"]), max_size=12),
    st.builds(lambda size: "a" * size, st.sampled_from([4096, 60_000])),
    st.builds(nested, st.sampled_from([5, 100, 178, 200, 300, 420])),
)
values = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)
SOUND = [*FOR_GOOD.values(), {"message": message()}, {"edited_message": message(edit_date=3)}]


def changed(found, path, value):
    """A sound update with something else at one of its places; None: nothing there at all."""
    if not isinstance(found, dict) or not found or not path:
        return value
    name = sorted(found)[path[0] % len(found)]
    inner = changed(found[name], path[1:], value)
    rest = {other: kept for other, kept in found.items() if other != name}
    return rest if inner is None else rest | {name: inner}


small = [update for update in SOUND if len(json.dumps(update)) < 10**6]
hostile = st.builds(
    changed, st.sampled_from(small), st.lists(st.integers(0, 12), min_size=1, max_size=5), values
).filter(lambda update: isinstance(update, dict))


@pytest.mark.parametrize("way", [poll, post])
async def test_whatever_an_update_holds_the_others_are_taken_in(store, way):
    async with receiving(store) as intake:
        loop = asyncio.get_running_loop()

        @settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
        @given(st.lists(hostile, min_size=1, max_size=6))
        def holds(updates):
            asyncio.run_coroutine_threadsafe(way(intake, *updates), loop).result(60)

        await asyncio.to_thread(holds)
