"""What a person sees of a reply, whatever Telegram answers: the Reply port over HTTP, against a
strict stand-in.
"""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest
from telegram import MessageEntity

from bot.errors import ChatBusy, ChatUnreachable, DeliveryError, LaneLost
from bot.owner import Place
from bot.standins.telegram.faults import Fault
from bot.store.memory.inbox import MemoryRecord
from bot.telegram.connection import bot_at
from bot.telegram.outbound.limiter import Limiter
from bot.telegram.outbound.messages import Messages
from bot.telegram.outbound.replies import TelegramReply
from bot.telegram.outbound.splitting import Chunk
from bot.telegram.outbound.transport import MAX_TRIES, UNREACHED_PAUSE, Transport
from bot.texts import text
from tests.telegrams import PENALTIES_WARN, Naps, telegram

pytestmark = PENALTIES_WARN

HERE = Place(7)
THREE_PARTS = "\n\n".join(f"**{word}** " + "words " * 600 for word in ("one", "two", "three"))


@pytest.fixture
async def line():
    async with telegram() as (server, bot):
        yield server, bot


@pytest.fixture
def server(line):
    return line[0]


@pytest.fixture
def naps():
    return Naps()


@pytest.fixture
def messages(line, naps):
    return Messages(
        Transport(line[1], max_wait=timedelta(seconds=60), sleep=naps, limiter=Limiter(naps.now))
    )


@pytest.fixture
def anna(server):
    person = server.person(7, "Anna")
    person.starts()
    return person


@pytest.fixture
def reply(messages, anna):
    return TelegramReply(messages, HERE, "en", MemoryRecord())


def sends(server):
    return [call.params for call in server.journal.of("sendMessage")]


# ------------------------------------------------------------------------------------- what is seen


async def test_an_answer_is_shown_formatted(reply, anna):
    await reply.deliver("Use **bold** and `code`.", turn=1)

    [shown] = anna.chat.answers
    assert shown.text == "Use bold and code."
    assert [(mark["type"], mark["offset"], mark["length"]) for mark in shown.entities] == [
        ("bold", 4, 4),
        ("code", 13, 4),
    ]


async def test_no_answer_is_a_rich_message(reply, server, anna):
    """C93: some clients show those blank; tables, formulas and markup are text with entities."""
    await reply.deliver("| a | b |\n|---|---|\n| 1 | 2 |\n\n$$x^2$$\n\n<b>bold</b>", turn=1)
    assert {call.method for call in server.journal if call.method.startswith("send")} == {
        "sendMessage"
    }
    [shown] = anna.chat.answers
    assert shown.text == "a | b\n--+--\n1 | 2\n\nx²\n\n<b>bold</b>"
    assert [entity["type"] for entity in shown.entities] == ["pre", "pre"]


async def test_a_notice_is_our_sentence_literally(reply, anna):
    """C84: markup in a value stays what it is."""
    await reply.notice("start", idle="*a* <b>_c_</b>", age='{"x": [`y`]}')

    [shown] = anna.chat.answers
    assert "*a* <b>_c_</b>" in shown.text
    assert '{"x": [`y`]}' in shown.text
    assert not [mark for mark in shown.entities if mark["type"] != "bot_command"]


async def test_a_notice_speaks_the_persons_language(messages, anna):
    await TelegramReply(messages, HERE, "ru", MemoryRecord()).notice("reset_done")
    assert anna.chat.text == "Тот разговор стёрт. Начинаем с чистого листа."


async def test_ten_thousand_characters_arrive_whole(reply, anna):
    listed = "## Раздел\n\n- **один** 😀\n  - `два` <b>\n\n| a | b |\n|---|---|\n| 1 | ж |\n\n"
    block = listed + "```py\nx = {1: '👨\u200d👩\u200d👧'}\n```\n\n"
    markdown = block * (10_000 // len(block) + 1)
    await reply.deliver(markdown, turn=1)

    together = "".join(shown.text for shown in anna.chat.answers)
    for sign in ("Раздел", "один", "два", "<b>", "ж", "👨\u200d👩\u200d👧", "x = {1:"):
        assert together.count(sign) == markdown.count(sign)


async def test_an_answer_without_anything_visible_says_so(reply, anna):
    await reply.deliver(" \n ", turn=1)
    assert anna.chat.text.startswith("The language model sent an empty answer")


async def test_parts_come_in_order_each_after_the_one_before_is_confirmed(reply, server, anna):
    """C21."""
    gate = asyncio.Event()
    server.faults.next("sendMessage", Fault.hold(gate))
    delivering = asyncio.create_task(reply.deliver(THREE_PARTS, turn=1))
    await server.until(lambda: sends(server))
    assert anna.chat.answers == []
    gate.set()
    await delivering

    assert [shown.text.split()[0] for shown in anna.chat.answers] == ["one", "two", "three"]
    assert len(sends(server)) == 3


async def test_a_file_keeps_its_place_among_the_parts(reply, server, anna):
    """C21: also where the first part takes long."""
    gate = asyncio.Event()
    code = "```py\n" + "x = 1  # one\n" * 2000 + "```"
    server.faults.next("sendMessage", Fault.hold(gate))
    delivering = asyncio.create_task(reply.deliver(f"{THREE_PARTS}\n\n{code}\n\nthe end", turn=1))
    await server.until(lambda: sends(server))
    gate.set()
    await delivering

    made = [call.method for call in server.journal.of("sendMessage", "sendDocument")]
    assert made == [*["sendMessage"] * (len(made) - 2), "sendDocument", "sendMessage"]
    assert [shown.text.split()[0] for shown in anna.chat.answers[:3]] == ["one", "two", "three"]
    assert anna.chat.answers[-1].text == "the end"


async def test_what_has_grown_is_void_after_a_restart(reply):
    reply.grow("half a ")
    reply.grow("sentence")
    assert reply.shown == "half a sentence"
    reply.restart()
    assert reply.shown == ""


async def test_in_a_group_only_the_first_message_names_the_question(messages, server, anna):
    group = server.supergroup(members=[anna])
    asked = anna.says("/help", chat=group)
    reply = TelegramReply(
        messages, Place(group.id), "en", MemoryRecord(), reply_to=asked.message_id
    )
    await reply.deliver(THREE_PARTS, turn=1)

    answered = [shown.raw.get("reply_to_message", {}).get("message_id") for shown in group.answers]
    assert answered == [asked.message_id, None, None]


# ------------------------------------------------------------------------------------------- typing


async def test_typing_is_shown_until_the_answer_comes_and_never_after_it(messages, server, anna):
    gate = asyncio.Event()
    server.faults.next("sendMessage", Fault.hold(gate))
    async with TelegramReply(messages, HERE, "en", MemoryRecord()).show_typing() as reply:
        await server.until(lambda: anna.chat.action(server.state.now) == "typing")
        delivering = asyncio.create_task(reply.deliver("done", turn=1))
        await server.until(lambda: sends(server))
        assert not typing()
        gate.set()
        await delivering


def typing():
    """The indicators that are kept alive just now."""
    return [task for task in asyncio.all_tasks() if task.get_name() == "typing"]


async def test_typing_is_kept_alive(messages, server, anna):
    async with TelegramReply(messages, HERE, "en", MemoryRecord()).show_typing():
        await server.until(lambda: len(server.journal.of("sendChatAction")) > 3)


async def test_typing_ends_with_a_reply_that_failed(messages, server, anna):
    async def failing():
        async with TelegramReply(messages, HERE, "en", MemoryRecord()).show_typing():
            await server.until(lambda: server.journal.of("sendChatAction"))
            raise LookupError

    with pytest.raises(LookupError):
        await failing()
    assert not typing()


@pytest.mark.parametrize(
    "fault",
    [Fault.too_many(3), Fault.forbidden(), Fault.dropped(), Fault.refused("chat not found")],
    ids=repr,
)
async def test_a_typing_indicator_that_fails_costs_nothing(messages, server, anna, fault):
    server.faults.next("sendChatAction", fault)
    async with TelegramReply(messages, HERE, "en", MemoryRecord()).show_typing() as reply:
        await server.until(lambda: len(server.journal.of("sendChatAction")) > 1)
        await reply.deliver("done", turn=1)
    assert anna.chat.text == "done"


# ------------------------------------------------------------------------------------------ repairs


async def test_a_part_whose_formatting_is_refused_is_sent_plain_and_no_other_again(
    reply, server, anna
):
    """C95."""
    server.faults.next(
        "sendMessage", Fault.delay(0), Fault.refused("can't parse entities: can't find end")
    )
    await reply.deliver(THREE_PARTS, turn=1)

    bold = [[mark["type"] for mark in shown.entities] for shown in anna.chat.answers]
    assert bold == [["bold"], [], ["bold"]]
    assert len(sends(server)) == 4


async def test_a_refusal_without_formatting_is_final(reply, server, anna):
    """C15: never repeated unchanged."""
    server.faults.always("sendMessage", Fault.refused("something new"))
    with pytest.raises(DeliveryError, match="Something new"):
        await reply.deliver("plain", turn=1)
    assert len(sends(server)) == 1


async def test_an_answer_in_a_deleted_topic_goes_to_the_chat(messages, server, anna):
    group = server.supergroup(members=[anna], forum=True)
    await TelegramReply(messages, Place(group.id, 55), "en", MemoryRecord()).deliver("here", turn=1)
    assert [shown.thread_id for shown in group.answers] == [None]


async def test_an_answer_to_a_deleted_question_is_sent_all_the_same(messages, anna):
    """C15: without the reference, at once."""
    await TelegramReply(messages, HERE, "en", MemoryRecord(), reply_to=4711).deliver("here", turn=1)
    assert anna.chat.text == "here"


async def test_a_group_that_has_moved_is_followed(messages, server, anna):
    group, moved = server.group(members=[anna]), server.supergroup(members=[anna])
    group.migrated_to = moved.id
    await TelegramReply(messages, Place(group.id), "en", MemoryRecord()).deliver("here", turn=1)
    assert moved.text == "here"


async def test_a_person_who_blocked_the_bot_is_not_tried_again(reply, server, anna):
    anna.blocks()
    with pytest.raises(ChatUnreachable):
        await reply.deliver(THREE_PARTS, turn=1)
    assert len(sends(server)) == 1


@pytest.mark.parametrize(
    "words", ["chat not found", "not enough rights to send text messages to the chat"]
)
async def test_some_refusals_mean_that_nobody_can_be_reached(reply, server, words):
    server.faults.always("sendMessage", Fault.refused(words))
    with pytest.raises(ChatUnreachable):
        await reply.deliver("**a**", turn=1)
    assert len(sends(server)) == 1


async def test_an_error_text_does_not_quote_the_answer(reply, server, anna):
    server.faults.always(
        "sendMessage", Fault.refused("entity URL 'secret' is invalid: Wrong HTTP URL")
    )
    with pytest.raises(DeliveryError) as failure:
        await reply.deliver("plain", turn=1)
    assert "secret" not in str(failure.value)


# ------------------------------------------------------------------------------- waiting, repeating


async def test_a_penalty_is_waited_out_and_the_part_sent_once(reply, server, anna, naps):
    server.faults.next("sendMessage", Fault.delay(0), Fault.too_many(27))
    await reply.deliver(THREE_PARTS, turn=1)
    assert naps.taken == [27, 1]  # from then on the chat gets a call a second
    assert [shown.text.split()[0] for shown in anna.chat.answers] == ["one", "two", "three"]


async def test_a_penalty_given_as_a_timedelta_is_understood_too(
    reply, server, anna, naps, monkeypatch
):
    monkeypatch.setenv("PTB_TIMEDELTA", "true")
    server.faults.next("sendMessage", Fault.too_many(27))
    await reply.deliver("here", turn=1)
    assert naps.taken == [27]


async def test_a_long_penalty_is_not_slept_here(line, anna, naps):
    """C89: the caller hears how long it is, so that the lane can wait for it without a worker."""
    server, bot = line
    server.faults.always("sendMessage", Fault.too_many(27))
    with pytest.raises(ChatBusy) as busy:
        await TelegramReply(
            Messages(Transport(bot, sleep=naps, limiter=Limiter(naps.now))),
            HERE,
            "en",
            MemoryRecord(),
        ).deliver("here", turn=1)
    assert (busy.value.seconds, naps.taken) == (27, [])
    assert len(sends(server)) == 1


async def test_short_penalties_are_waited_out_until_they_make_a_long_one(line, anna, naps):
    server, bot = line
    server.faults.always("sendMessage", Fault.too_many(1))
    with pytest.raises(ChatBusy) as busy:
        await TelegramReply(
            Messages(
                Transport(bot, max_wait=timedelta(seconds=2), sleep=naps, limiter=Limiter(naps.now))
            ),
            HERE,
            "en",
            MemoryRecord(),
        ).notice("new_done")
    assert (busy.value.seconds, naps.taken) == (1, [1, 1])


async def test_a_penalty_in_one_chat_delays_no_other(messages, server, anna, naps):
    boris = server.person(8, "Boris")
    boris.starts()
    naps.hold = 5
    server.faults.next("sendMessage", Fault.too_many(30), chat=7)
    waiting = asyncio.create_task(
        TelegramReply(messages, HERE, "en", MemoryRecord()).deliver("late", turn=1)
    )
    await server.until(lambda: naps.taken)
    await TelegramReply(messages, Place(8), "en", MemoryRecord()).deliver("now", turn=1)
    assert (anna.chat.text, boris.chat.text) == ("", "now")
    waiting.cancel()


async def test_what_cannot_have_arrived_is_tried_again_and_given_up_for_now(naps):
    """Nobody listens at this address: the lane is given back, and the message waits in the
    inbox.
    """
    bot = bot_at("http://127.0.0.1:9", "1:x")
    messages = Messages(Transport(bot, sleep=naps, limiter=Limiter(naps.now)))
    await bot.request.initialize()
    try:
        with pytest.raises(ChatBusy) as busy:
            await messages.send(HERE, Chunk("x"))
    finally:
        await bot.shutdown()
    assert busy.value.seconds == UNREACHED_PAUSE.total_seconds()
    assert len(naps.taken) == MAX_TRIES
    assert sum(naps.taken) > 10


# --------------------------------------------------------------------------------------- the record


class Ledger(MemoryRecord):
    """A record that shows what was sent; its lease is good for so many looks."""

    def __init__(self, *, looks=99):
        super().__init__()
        self.sent = []
        self.looks = looks

    def require_lease(self):
        if not self.looks:
            raise LaneLost
        self.looks -= 1

    async def part_sent(self, turn, message_id):
        self.sent.append((turn, message_id))
        await super().part_sent(turn, message_id)


def words(anna):
    return [shown.text.split()[0] for shown in anna.chat.answers]


async def test_each_part_is_recorded_under_its_turn_as_soon_as_it_is_sent(messages, server, anna):
    record, gate = Ledger(), asyncio.Event()
    server.faults.next("sendMessage", Fault.delay(0), Fault.hold(gate))
    delivering = asyncio.create_task(
        TelegramReply(messages, HERE, "en", record=record).deliver(THREE_PARTS, turn=7)
    )
    await server.until(lambda: len(sends(server)) == 2)
    assert [turn for turn, _ in record.sent] == [7]
    gate.set()
    await delivering

    assert record.sent == [(7, shown.message_id) for shown in anna.chat.answers]


@pytest.mark.parametrize("sent", [1, 2, 3])
async def test_delivery_goes_on_at_the_first_part_that_no_earlier_run_has_sent(
    messages, server, anna, sent
):
    """C3: also where all were sent, and only that was not known."""
    record = Ledger()
    for number in range(sent):
        await record.part_sent(7, number)
    await TelegramReply(messages, HERE, "en", record=record).deliver(THREE_PARTS, turn=7)

    assert words(anna) == ["one", "two", "three"][sent:]
    assert record.parts_sent(7) == 3


async def test_parts_of_another_turn_do_not_count(messages, anna):
    record = Ledger()
    await record.part_sent(6, 1)
    await TelegramReply(messages, HERE, "en", record=record).deliver(THREE_PARTS, turn=7)

    assert words(anna) == ["one", "two", "three"]


@pytest.mark.parametrize(
    "fault",
    [
        Fault.dropped("after"),
        Fault.garbled('{"ok": true, "resu', when="after"),
        Fault.garbled("[]", when="after"),
    ],
    ids=["dropped", "half an answer", "no answer of Telegram's"],
)
async def test_what_may_have_arrived_is_not_repeated_and_the_rest_still_goes_out(
    messages, server, anna, fault
):
    """The uncertain part is recorded as such: it takes its place among the parts that were sent."""
    record = Ledger()
    server.faults.next("sendMessage", Fault.delay(0), fault)
    await TelegramReply(messages, HERE, "en", record=record).deliver(THREE_PARTS, turn=7)

    ids = [shown.message_id for shown in anna.chat.answers]
    assert record.sent == [(7, ids[0]), (7, None), (7, ids[2])]
    assert [part["text"].split()[0] for part in sends(server)[:3]] == ["one", "two", "three"]
    assert anna.chat.answers[-1].text == text("delivery_uncertain", "en")
    assert len(sends(server)) == 4


async def test_a_part_that_met_a_long_penalty_is_the_first_of_the_next_run(
    line, server, anna, naps
):
    """C89"""
    record, messages = Ledger(), Messages(Transport(line[1], sleep=naps, limiter=Limiter(naps.now)))
    server.faults.next("sendMessage", Fault.delay(0), Fault.too_many(27))
    with pytest.raises(ChatBusy):
        await TelegramReply(messages, HERE, "en", record=record).deliver(THREE_PARTS, turn=7)
    assert words(anna) == ["one"]
    naps.passed += 27
    await TelegramReply(messages, HERE, "en", record=record).deliver(THREE_PARTS, turn=7)

    assert words(anna) == ["one", "two", "three"]


async def test_without_a_lease_not_one_more_part_is_sent(messages, server, anna):
    """C24: another worker may be sending the same answer."""
    record = Ledger(looks=2)
    with pytest.raises(LaneLost):
        await TelegramReply(messages, HERE, "en", record=record).deliver(THREE_PARTS, turn=7)

    assert words(anna) == ["one", "two"]
    assert len(sends(server)) == 2


# -------------------------------------------------------------------------------------------- edits


async def test_an_edit_shows_the_new_text_and_the_same_text_is_no_error(messages, anna):
    message_id = await messages.send(HERE, Chunk("one"))
    bold = Chunk("two", (MessageEntity("bold", 0, 3),))
    assert await messages.edit(HERE, message_id, bold)
    assert await messages.edit(HERE, message_id, bold)
    assert anna.chat.text == "two"


async def test_an_edit_of_a_deleted_message_is_known_by_its_result(messages, anna):
    message_id = await messages.send(HERE, Chunk("one"))
    del anna.chat.messages[message_id]
    assert not await messages.edit(HERE, message_id, Chunk("two"))


async def test_an_edit_may_be_repeated_since_it_changes_nothing_twice(messages, server, anna):
    message_id = await messages.send(HERE, Chunk("one"))
    server.faults.next("editMessageText", Fault.dropped("after"))
    assert await messages.edit(HERE, message_id, Chunk("two"))
    assert len(server.journal.of("editMessageText")) == 2
    assert anna.chat.text == "two"


# ---------------------------------------------------------------------------------------- the floor


async def test_answers_to_two_people_in_one_group_do_not_mix(messages, server, anna, naps):
    """Each is said to its end before the other begins; no preview comes between."""
    group, other = server.group(members=[anna]), server.group("Others", members=[anna])
    gate = asyncio.Event()
    server.faults.next("sendMessage", Fault.hold(gate), chat=group.id)
    words = {
        name: "\n\n".join(f"{name}{number} " * 700 for number in range(3)) for name in ("a", "b")
    }
    saying = [
        asyncio.create_task(
            TelegramReply(messages, Place(group.id), "en", MemoryRecord()).deliver(text, turn=1)
        )
        for text in words.values()
    ]
    await server.until(lambda: server.journal.of("sendMessage"))
    naps.passed += 1
    assert await messages.send_preview(Place(group.id), Chunk("preview")) is None
    await TelegramReply(messages, Place(other.id), "en", MemoryRecord()).deliver(
        "elsewhere", turn=1
    )
    assert other.text == "elsewhere"
    gate.set()
    await asyncio.gather(*saying)
    # Both are formatted in threads, so either may speak first.
    spoken = [message.text.split()[0] for message in group.answers]
    assert spoken in (["a0", "a1", "a2", "b0", "b1", "b2"], ["b0", "b1", "b2", "a0", "a1", "a2"])
    naps.passed += 1
    assert await messages.send_preview(Place(group.id), Chunk("preview")) is not None


async def test_who_waits_too_long_for_the_floor_comes_back_later(line, server, anna):
    """A slow chat keeps no worker waiting that others need."""
    group = server.group(members=[anna])
    messages = Messages(Transport(line[1], max_wait=timedelta(seconds=0.05)))
    gate = asyncio.Event()
    server.faults.next("sendMessage", Fault.hold(gate))
    saying = asyncio.create_task(
        TelegramReply(messages, Place(group.id), "en", MemoryRecord()).deliver("first", turn=1)
    )
    await server.until(lambda: server.journal.of("sendMessage"))
    with pytest.raises(ChatBusy):
        await TelegramReply(messages, Place(group.id), "en", MemoryRecord()).deliver(
            "second", turn=2
        )
    gate.set()
    await saying
    await TelegramReply(messages, Place(group.id), "en", MemoryRecord()).deliver("second", turn=2)
    assert [message.text for message in group.answers] == ["first", "second"]
