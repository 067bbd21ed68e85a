"""The way in: nothing that Telegram handed over is lost, and what asks nothing of the bot opens
nothing.
"""

from __future__ import annotations

import asyncio
import json
import logging
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta

import pytest
from telegram.constants import ChatID

from bot.errors import StoreUnavailable
from bot.owner import Lane, Owner, Place
from bot.ports import Json
from bot.standins.telegram.faults import Fault
from bot.store.memory.inbox import MemoryInbox
from bot.telegram.inbound.incoming_rate import IncomingRate
from bot.telegram.inbound.parsing import Account
from bot.telegram.inbound.poller import Poller
from bot.telegram.inbound.receiver import Gate, Receiver, reading
from bot.telegram.outbound.messages import Messages
from bot.telegram.outbound.throttled_notices import ThrottledNotices
from bot.telegram.outbound.transport import Transport
from bot.texts import text
from tests.telegrams import PENALTIES_WARN, Naps, telegram

pytestmark = PENALTIES_WARN

ANNA, BORIS = 7, 8


class Recording(MemoryInbox):
    """The inbox in memory, and what it was given. `away` refusals come before it takes anything."""

    def __init__(self, clock):
        super().__init__(clock)
        self.entries = []
        self.away = 0

    async def put(self, *entries):
        if self.away:
            self.away -= 1
            raise StoreUnavailable
        taken = [await MemoryInbox.put(self, entry) for entry in entries]
        self.entries += [entry for entry, is_new in zip(entries, taken, strict=True) if is_new]
        return all(taken)

    @property
    def words(self):
        return [entry.update["message"]["text"] for entry in self.entries]


class Intake:
    """A receiver, and pollers for it."""

    def __init__(self, server, bot):
        self.server, self.bot = server, bot
        self.inbox = Recording(server.state.clock)
        self.naps = Naps()
        self.throttled_notices = ThrottledNotices(
            Messages(Transport(bot, sleep=self.naps)), server.state.clock
        )
        account = Account(bot.id, bot.username)
        self.receiver = Receiver(
            self.inbox, account, server.state.clock, self.throttled_notices, self.gate()
        )
        self.poller = self.another()

    def gate(self, allows=lambda owner: owner.id != BORIS, per_minute=20):
        return Gate(allows, IncomingRate(per_minute, self.server.state.clock))

    def another(self, receive=None, **options):
        clock = self.server.state.clock
        return Poller(
            self.bot, receive or reading(self.receiver.receive), clock, sleep=self.naps, **options
        )

    @asynccontextmanager
    async def polling(self, poller=None):
        task = asyncio.create_task((poller or self.poller).run())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def until(self, condition):
        return await self.server.until(condition)

    async def until_taken(self, number):
        """Receive until so many entries were taken."""
        async with self.polling():
            await self.until(lambda: len(self.inbox.entries) == number)

    async def until_pending_is_received(self):
        async with self.polling():
            await self.until(lambda: not self.server.state.updates.pending)

    async def all_received(self, poller=None):
        """Receive until nothing is pending."""
        async with self.polling(poller):
            await self.until(lambda: not self.server.state.updates.pending)
            self.server.person(999, "Last").says("that was all")
            await self.until(lambda: "that was all" in self.inbox.words)


@pytest.fixture
async def intake():
    async with telegram() as (server, bot):
        made = Intake(server, bot)
        yield made
        await made.throttled_notices.close()


@pytest.fixture
def anna(intake):
    return intake.server.person(ANNA, "Anna")


def warnings(caplog):
    """Ours; python-telegram-bot has its own to say about a page that is no JSON."""
    ours = (record for record in caplog.records if record.name.startswith("bot."))
    return [record.getMessage() for record in ours if record.levelno >= logging.WARNING]


# ------------------------------------------------------------------------------------------ polling


async def test_a_message_becomes_an_entry_of_its_lane(intake, anna):
    said = anna.says("hello")
    async with intake.polling():
        await intake.until(lambda: intake.inbox.entries)
    [entry] = intake.inbox.entries
    assert (entry.lane, entry.kind, entry.cancels) == (
        Lane(Owner(ANNA), Place(ANNA)),
        "content",
        False,
    )
    assert entry.update["message"]["message_id"] == said.message_id
    assert entry.id == entry.update["update_id"]
    assert entry.received_at == intake.server.state.now


async def test_it_asks_for_what_it_handles_and_drops_nothing_that_waits(intake, anna):
    anna.says("sent while the bot was away")
    await intake.bot.set_webhook("https://example.org/hook")
    async with intake.polling():
        await intake.until(lambda: intake.inbox.entries)
    [poll, *_] = intake.server.journal.of("getUpdates")
    for kind in (
        "message",
        "edited_message",
        "callback_query",
        "my_chat_member",
        "stopped_message_generation",
    ):
        assert kind in poll.params["allowed_updates"]
    assert intake.server.journal.of("deleteWebhook")[0].params.get("drop_pending_updates") in {
        None,
        "false",
        False,
    }


async def test_what_was_fetched_and_not_stored_is_delivered_again(intake, anna):
    """C8: stopped in the middle of an answer with five updates."""
    for number in range(5):
        anna.says(f"message {number}")
    stuck = asyncio.Event()

    async def receive(*updates):
        await reading(intake.receiver.receive)(*updates[:2])
        stuck.set()
        await asyncio.Event().wait()

    async with intake.polling(intake.another(receive)):
        await asyncio.wait_for(stuck.wait(), 5)
    assert len(intake.inbox.entries) == 2

    await intake.all_received(intake.another())
    assert intake.inbox.words[:5] == [f"message {number}" for number in range(5)]


async def test_a_poll_that_is_cut_off_on_its_way_confirms_nothing(intake, anna):
    """C8: the answer was under way when the process was stopped."""
    anna.says("hello")
    gate = asyncio.Event()
    intake.server.faults.next("getUpdates", Fault.hold(gate, "after"))
    async with intake.polling():
        await intake.until(lambda: intake.server.journal.of("getUpdates"))
    assert intake.inbox.entries == []
    gate.set()
    await intake.all_received(intake.another())
    assert intake.inbox.words[0] == "hello"


async def test_an_update_is_kept_by_telegram_while_the_store_is_away(intake, anna, caplog):
    intake.inbox.away = 3
    anna.says("one")
    anna.says("two")
    await intake.all_received()
    assert intake.inbox.words[:2] == ["one", "two"]
    assert intake.naps.taken == [1, 2, 4]
    assert len(warnings(caplog)) == 1


async def test_ids_that_begin_again_at_a_lower_number_are_received(intake, anna):
    """C16: as they do after a week of silence; so nothing may be asked for by the old number any
    more.
    """
    polls = intake.server.journal
    anna.says("before")
    async with intake.polling(intake.another(timeout=timedelta(0))):
        await intake.until(lambda: intake.inbox.entries)
        known = len(polls.of("getUpdates"))
        await intake.until(
            lambda: any("offset" not in call.params for call in polls.of("getUpdates")[known:])
        )
        later = {**intake.inbox.entries[0].update["message"], "text": "after"}
        intake.server.deliver({"update_id": 17, "message": later})
        await intake.until(lambda: intake.inbox.words == ["before", "after"])
    assert intake.inbox.entries[-1].id == 17


@pytest.mark.parametrize(
    "fault",
    [Fault.broken(502), Fault.dropped(), Fault.too_many(9), Fault.refused("x"), Fault.broken(500)],
    ids=["502", "dropped", "429", "400", "500"],
)
async def test_whatever_telegram_answers_polling_goes_on_with_one_line_in_the_log(
    intake, anna, caplog, fault
):
    caplog.set_level(logging.INFO, "bot")
    intake.server.faults.next("getUpdates", *[fault] * 3)
    anna.says("hello")
    async with intake.polling():
        await intake.until(lambda: intake.inbox.entries)
    assert intake.naps.taken == (
        [9, 9, 9] if fault.refusal and fault.refusal.code == 429 else [1, 2, 4]
    )
    assert len(warnings(caplog)) == 1
    assert "receiving again" in caplog.messages


async def test_polling_begins_when_the_webhook_is_really_gone(intake, anna):
    await intake.bot.set_webhook("https://example.org/hook")
    intake.server.faults.next("deleteWebhook", Fault.broken(), Fault.dropped())
    anna.says("hello")
    await intake.all_received()
    assert intake.inbox.words[0] == "hello"


async def test_a_second_poller_is_named_in_one_line(intake, caplog):
    """C117."""
    intake.server.faults.next("getUpdates", *[Fault.broken()] * 2)
    async with intake.polling(), intake.polling(intake.another()):
        await intake.until(lambda: any("another process" in line for line in warnings(caplog)))
    assert "Conflict" not in "".join(warnings(caplog))
    assert 10 in intake.naps.taken


async def test_the_last_good_poll_is_known(intake, anna):
    """C118."""
    assert intake.poller.last_poll is None
    anna.says("hello")
    async with intake.polling():
        await intake.until(lambda: intake.inbox.entries)
    assert intake.poller.last_poll == intake.server.state.now


# ---------------------------------------------------------------------------------------- receiving


async def test_commands_that_end_a_turn_are_marked(intake, anna):
    for words in ("/new", "/reset", "/stop", "/help", "/start x", "/nothing", "hello"):
        anna.says(words)
    await intake.all_received()
    entries = intake.inbox.entries[:7]
    assert [entry.kind for entry in entries] == ["command"] * 6 + ["content"]
    assert [entry.cancels for entry in entries] == [True] * 3 + [False] * 4


async def test_commands_that_do_not_touch_the_talk_wait_in_a_lane_of_their_own(intake, anna):
    """`/help` is answered at once, whatever runs; what touches the Session keeps its place."""
    for words in ("/help", "/start", "/new", "/reset", "/stop", "/nothing", "hello"):
        anna.says(words)
    await intake.all_received()
    here = Lane(Owner(ANNA), Place(ANNA))
    assert [entry.lane for entry in intake.inbox.entries[:7]] == [replace(here, aside=True)] * 2 + [
        here
    ] * 5


async def test_a_piece_of_a_paste_gathers_and_its_end_does_not(intake, anna):
    """C99: who sends an ordinary message is not kept waiting."""
    anna.pastes("a" * 9000)
    anna.says("b" * 3899)
    await intake.all_received()
    assert [entry.gathers for entry in intake.inbox.entries[:4]] == [True, True, False, False]


async def test_pieces_of_an_album_gather(intake, anna):
    """C100"""
    anna.sends_album([b"1", b"2", b"3"], "three pictures")
    await intake.until_taken(3)
    assert [entry.gathers for entry in intake.inbox.entries] == [True] * 3


async def test_a_forward_gathers_and_what_is_said_of_it_does_not(intake, anna):
    anna.forwards("what Boris wrote", {"type": "hidden_user", "sender_user_name": "Boris"})
    anna.says("What do you think of it?")
    await intake.all_received()
    assert [entry.gathers for entry in intake.inbox.entries[:2]] == [True, False]


async def test_a_command_gathers_nothing(intake, anna):
    anna.says(f"/new {'a' * 4000}")
    await intake.all_received()
    assert not intake.inbox.entries[0].gathers


async def test_an_edit_is_received_and_opens_nothing(intake, anna):
    said = anna.says("/help")
    anna.edits(said, "/reset")
    await intake.all_received()
    assert intake.inbox.words == ["/help", "that was all"]


async def test_an_update_that_comes_twice_is_taken_once(intake, anna):
    anna.says("hello")
    [update] = await intake.bot.get_updates(timeout=0)
    await intake.receiver.receive(update)
    await intake.receiver.receive(update)
    assert intake.inbox.words == ["hello"]


async def test_a_stranger_gets_one_sentence_and_no_entry(intake):
    boris = intake.server.person(BORIS, "Boris", "ru")
    for _ in range(3):
        boris.says("let me in")
    await intake.all_received()
    await intake.until(lambda: boris.chat.answers)
    assert intake.inbox.words == ["that was all"]
    assert [shown.text for shown in boris.chat.answers] == [
        text("access_refused_private", "ru", id=str(BORIS))
    ]


async def test_who_writes_too_fast_is_told_so_once_a_minute_and_nothing_more_is_taken_in(
    intake, anna
):
    """C167"""
    for number in range(60):
        anna.says(f"line {number}")
    anna.says("/stop")
    await intake.all_received()
    await intake.until(lambda: anna.chat.answers)
    assert intake.inbox.words == [
        *(f"line {number}" for number in range(40)),
        "/stop",
        "that was all",
    ]
    assert [shown.text for shown in anna.chat.answers] == [text("too_fast", "en")]

    intake.server.state.clock.advance(timedelta(minutes=1))
    for number in range(60, 120):
        anna.says(f"line {number}")
    await intake.until_pending_is_received()
    await intake.until(lambda: len(anna.chat.answers) == 2)
    assert intake.inbox.words[42:] == [f"line {number}" for number in range(60, 79)]


async def test_what_was_taken_in_and_comes_again_is_never_told_to_be_too_much(intake, anna):
    """The store was away: Telegram hands the same forty over until they are stored."""
    for number in range(40):
        anna.says(f"line {number}")
    intake.inbox.away = 6
    await intake.all_received()
    assert intake.inbox.words == [*(f"line {number}" for number in range(40)), "that was all"]
    assert text("too_fast", "en") not in [shown.text for shown in anna.chat.answers]


@pytest.mark.parametrize(
    ("person", "key"), [(ANNA, "too_fast"), (BORIS, "access_refused")], ids=["member", "stranger"]
)
async def test_one_who_floods_the_topics_of_a_group_gets_one_sentence_there(intake, person, key):
    """C167"""
    flooder = intake.server.person(person, "Flood")
    group = intake.server.supergroup(members=[flooder], forum=True)
    topics = [flooder.topic(f"Topic {number}", group) for number in range(5)]
    for number in range(60):
        flooder.says("@emulated_bot again", chat=group, thread=topics[number % 5])
    await intake.all_received()
    await intake.until(lambda: group.answers)
    assert [shown.text for shown in group.answers] == [text(key, "en")]


async def test_a_stranger_whom_telegram_slows_down_holds_up_nobody(intake, anna):
    boris = intake.server.person(BORIS, "Boris")
    intake.naps.hold = 200
    intake.server.faults.always("sendMessage", Fault.too_many(222), chat=BORIS)
    boris.says("let me in")
    anna.says("hello")
    await intake.all_received()
    assert intake.inbox.words[0] == "hello"


async def test_the_bot_leaves_a_group_into_which_a_stranger_brings_it(intake, anna):
    boris = intake.server.person(BORIS, "Boris", "ru")
    group = intake.server.supergroup(members=[boris, anna], standing="left")
    intake.server.events.join(group, by=boris)
    await intake.all_received()
    await intake.until(lambda: group.standing == "left")
    assert [shown.text[:9] for shown in group.answers] == ["Извините,"]


@pytest.mark.parametrize("operation", ["join", "promote"])
async def test_the_bot_stays_where_somebody_it_knows_brings_it_and_whatever_strangers_do_there(
    intake, anna, operation
):
    boris = intake.server.person(BORIS, "Boris")
    group = intake.server.supergroup(
        members=[boris, anna], standing="left" if operation == "join" else "member"
    )
    getattr(intake.server.events, operation)(group, by=anna if operation == "join" else boris)
    await intake.all_received()
    assert group.standing in {"member", "administrator"}
    assert group.answers == []


async def test_a_chat_that_cannot_be_left_stops_nothing(intake):
    boris = intake.server.person(BORIS, "Boris")
    group = intake.server.supergroup(members=[boris], standing="left")
    intake.server.faults.always("leaveChat", Fault.forbidden())
    intake.server.events.join(group, by=boris)
    await intake.all_received()
    await intake.until(lambda: intake.server.journal.of("leaveChat"))


async def test_an_anonymous_admin_gets_a_hint_where_the_bot_was_addressed(intake, anna):
    """C61: and never an Owner."""
    group = intake.server.supergroup(members=[anna])
    anonymous = {
        "from": {
            "id": ChatID.ANONYMOUS_ADMIN,
            "is_bot": True,
            "first_name": "Group",
            "username": "GroupAnonymousBot",
        },
        "sender_chat": group.json(),
    }
    anna.says("/new@emulated_bot", chat=group, **anonymous)
    anna.says("what a day", chat=group, **anonymous)
    await intake.all_received()
    await intake.until(lambda: group.answers)
    assert "privately" in group.text
    assert intake.inbox.words == ["that was all"]


async def test_a_hint_that_cannot_be_delivered_harms_nobody(intake, anna):
    boris = intake.server.person(BORIS, "Boris")
    boris.says("let me in")
    boris.blocks()
    anna.says("hello")
    await intake.all_received()
    assert intake.inbox.words[0] == "hello"


async def test_an_update_that_breaks_the_receiver_is_dropped_and_the_next_one_taken(
    intake, anna, caplog
):
    def allowed(owner):
        if owner.id == BORIS:
            raise LookupError
        return True

    account = Account(intake.bot.id, intake.bot.username)
    intake.receiver = Receiver(
        intake.inbox,
        account,
        intake.server.state.clock,
        intake.throttled_notices,
        intake.gate(allowed),
    )
    intake.server.person(BORIS, "Boris").says("boom")
    anna.says("hello")
    await intake.all_received(intake.another())
    assert intake.inbox.words[0] == "hello"
    assert any("is dropped" in line for line in warnings(caplog))


GARBLED = [
    '{"ok": true, "result": [{"update_id": 1, "message": {"text": "heron',
    '{"ok": true}',
    '{"ok": true, "result": {"heron": 1}}',
    '{"ok": true, "result": [{"message": {"text": "heron"}}]}',
    '{"ok": false, "parameters": ["heron"]}',
    '["heron"]',
    '"heron"',
    "null",
    "[" * 100_000,
]


@pytest.mark.parametrize("status", [200, 502])
@pytest.mark.parametrize("body", GARBLED, ids=lambda body: body[:50])
async def test_an_answer_that_is_not_telegrams_stops_no_polling_and_is_not_printed(
    intake, anna, caplog, body, status
):
    intake.server.faults.next("deleteWebhook", Fault.garbled(body, status))
    intake.server.faults.next(
        "getUpdates", Fault.garbled(body, status), Fault.garbled(body, status)
    )
    anna.says("hello")
    await intake.all_received()
    assert intake.inbox.words == ["hello", "that was all"]
    assert intake.naps.taken[-2:] == [1, 2]
    assert "heron" not in caplog.text


SPOILT = {
    "a list in lists": "[" * 1_000 + "]" * 1_000,
    "an object in objects": '{"heron":' * 5_000 + "1" + "}" * 5_000,
    "a number of many digits": "7" * 5_000,
    "a number far below zero": "-" + "7" * 5_000,
}


@pytest.mark.parametrize("value", SPOILT.values(), ids=SPOILT)
async def test_a_value_that_cannot_be_read_spoils_no_update_beside_it(intake, anna, caplog, value):
    good = dict.fromkeys(("message_id", "date"), 5) | {
        "chat": {"id": ANNA, "type": "private"},
        "from": {"id": ANNA, "is_bot": False, "first_name": "Anna"},
        "text": 'beside it: [{ 7 and " }]',
    }
    updates = (
        f'[{{"update_id": 1, "message": {value}}}, '
        f'{{"update_id": 2, "message": {json.dumps(good)}, "heron": {value}}}]'
    )
    body = f'{{"ok": true, "result": {updates}}}'
    intake.server.faults.next("getUpdates", Fault.garbled(body, 200))
    await intake.all_received()
    assert intake.inbox.words == [good["text"], "that was all"]
    assert "heron" not in caplog.text


UNREADABLE: list[Json] = [
    {"message": {"message_id": 5, "text": "heron"}},
    {
        "message": {
            "message_id": 5,
            "date": "heron",
            "chat": {"id": ANNA, "type": "private"},
            "text": "heron",
        }
    },
    {
        "message": {
            "message_id": 5,
            "date": 10**18,
            "chat": {"id": ANNA, "type": "private"},
            "text": "heron",
        }
    },
    {"message": "heron"},
    {"edited_message": ["heron"]},
    {"callback_query": {"id": "heron"}},
]


@pytest.mark.parametrize("unreadable", UNREADABLE, ids=json.dumps)
async def test_an_update_that_cannot_be_read_is_dropped_without_a_word_of_it(
    intake, anna, caplog, unreadable
):
    anna.says("before")
    intake.server.deliver(unreadable)
    anna.says("after")
    await intake.all_received()
    assert intake.inbox.words == ["before", "after", "that was all"]
    assert len(warnings(caplog)) == 1
    assert "heron" not in caplog.text


async def test_what_the_store_cannot_take_now_is_left_to_telegram(intake, anna, caplog):
    """Every other failure concerns the one update; this one would lose it."""
    anna.says("hello")
    [update] = await intake.bot.get_updates(timeout=0)
    intake.inbox.away = 1
    with pytest.raises(StoreUnavailable):
        await intake.receiver.receive(update)
    assert warnings(caplog) == []
    await intake.receiver.receive(update)
    assert intake.inbox.words == ["hello"]


async def test_who_writes_while_nothing_can_be_stored_is_told_once_that_it_has_to_wait(
    intake, anna
):
    intake.inbox.away = 2
    anna.says("hello")
    await intake.all_received()
    await intake.until(lambda: anna.chat.answers)

    assert intake.inbox.words == ["hello", "that was all"]
    assert [shown.text for shown in anna.chat.answers] == [text("error_store", "en")]


async def test_what_no_store_can_hold_is_mended_on_the_way_in(intake, anna):
    anna.says("half a \ud83d pair")
    await intake.all_received()
    assert "\ud83d" not in intake.inbox.words[0]


@pytest.mark.parametrize("language", ["en", "ru"])
async def test_a_stranger_is_told_the_id_by_which_he_can_be_let_in(intake, language):
    """C144."""
    stranger = intake.server.person(BORIS, "Boris", language)
    stranger.says("let me in")
    await intake.all_received()
    await intake.until(lambda: stranger.chat.answers)
    sentence = text("access_refused_private", language, id=str(BORIS))
    assert [shown.text for shown in stranger.chat.answers] == [sentence]
    assert str(BORIS) in sentence
