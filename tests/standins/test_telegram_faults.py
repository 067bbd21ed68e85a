"""What goes wrong on order, the flood rules, the journal of calls, and waiting for conditions."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import httpx
import pytest
from telegram.error import BadRequest, Forbidden, NetworkError, RetryAfter, TimedOut

from bot.standins.telegram.faults import Fault, RateModel, fault_from


async def test_a_fault_strikes_once_and_in_order(telegram, telegram_bot, anna):
    telegram.faults.next("sendMessage", Fault.forbidden(), Fault.refused("message is too odd"))
    with pytest.raises(Forbidden, match="bot was blocked by the user"):
        await telegram_bot.send_message(anna.id, "one")
    with pytest.raises(BadRequest, match="Message is too odd"):
        await telegram_bot.send_message(anna.id, "two")
    await telegram_bot.send_message(anna.id, "three")
    assert [message.text for message in anna.chat.answers] == ["three"]


async def test_too_many_requests_say_how_long_to_wait(telegram, telegram_bot, telegram_call, anna):
    telegram.faults.next("editMessageText", Fault.too_many(27), Fault.too_many(27))
    sent = await telegram_bot.send_message(anna.id, "one")
    with pytest.raises(RetryAfter, match="Retry in 0:00:27"):
        await telegram_bot.edit_message_text("two", anna.id, sent.message_id)
    status, answer = await telegram_call(
        "editMessageText", chat_id=anna.id, message_id=sent.message_id, text="two"
    )
    assert (status, answer["description"]) == (429, "Too Many Requests: retry after 27")
    assert answer["parameters"] == {"retry_after": 27}


@pytest.mark.parametrize("status", [500, 502, 504])
async def test_a_proxy_answers_with_a_page(telegram, telegram_bot, anna, status):
    telegram.faults.next("sendMessage", Fault.broken(status))
    with pytest.raises(NetworkError, match=f"({status})"):
        await telegram_bot.send_message(anna.id, "one")
    assert anna.chat.answers == []


@pytest.mark.parametrize(("when", "delivered"), [("before", 0), ("after", 1)])
async def test_a_dropped_connection_leaves_the_delivery_in_doubt(
    telegram, telegram_bot, anna, when, delivered
):
    telegram.faults.next("sendMessage", Fault.dropped(when))
    with pytest.raises(NetworkError) as broken:
        await telegram_bot.send_message(anna.id, "one")
    assert isinstance(broken.value.__cause__, httpx.RemoteProtocolError)
    assert len(anna.chat.answers) == delivered


@pytest.mark.parametrize(("when", "delivered"), [("before", 0), ("after", 1)])
async def test_a_slow_answer_times_out(telegram, telegram_bot, anna, when, delivered):
    gate = asyncio.Event()
    telegram.faults.next("sendMessage", Fault.hold(gate, when))
    with pytest.raises(TimedOut):
        await telegram_bot.send_message(anna.id, "one", read_timeout=0.05)
    assert len(anna.chat.answers) == delivered


async def test_a_held_call_goes_on_when_the_gate_opens(telegram, telegram_bot, anna):
    gate = asyncio.Event()
    telegram.faults.next("sendMessage", Fault.hold(gate))
    sending = asyncio.create_task(telegram_bot.send_message(anna.id, "one"))
    await telegram.until(lambda: telegram.journal.of("sendMessage"))
    assert telegram.journal.of("sendMessage")[0].status == 0
    gate.set()
    assert (await sending).text == "one"


async def test_a_fault_can_be_for_one_chat_only(telegram, telegram_bot, anna):
    boris = telegram.person(8, "Boris")
    boris.starts()
    telegram.faults.next("sendMessage", Fault.too_many(3), chat=anna.id)
    await telegram_bot.send_message(boris.id, "one")
    with pytest.raises(RetryAfter):
        await telegram_bot.send_message(anna.id, "one")


async def test_a_fault_can_last_and_be_cleared(telegram, telegram_bot, anna):
    telegram.faults.always("*", Fault.broken())
    for _ in range(2):
        with pytest.raises(NetworkError):
            await telegram_bot.send_chat_action(anna.id, "typing")
    telegram.faults.clear()
    assert await telegram_bot.send_chat_action(anna.id, "typing")


ORDERS = {
    "too_many": (
        {"kind": "too_many", "seconds": 9},
        lambda fault: fault.refusal.parameters == {"retry_after": 9},
    ),
    "forbidden": ({"kind": "forbidden"}, lambda fault: fault.refusal.code == 403),
    "refused": (
        {"kind": "refused", "text": "no"},
        lambda fault: fault.refusal.description == "Bad Request: no",
    ),
    "broken": ({"kind": "broken", "status": 500}, lambda fault: fault.page == 500),
    "dropped": (
        {"kind": "dropped", "when": "after"},
        lambda fault: (fault.drop, fault.when) == (True, "after"),
    ),
    "delay": ({"kind": "delay", "seconds": 2}, lambda fault: fault.seconds == 2),
}


@pytest.mark.parametrize(("order", "check"), ORDERS.values(), ids=ORDERS)
def test_a_fault_can_be_named_in_json(order, check):
    assert check(fault_from(order))


def test_an_unknown_fault_is_refused():
    with pytest.raises(ValueError, match="unknown fault 'flood'"):
        fault_from({"kind": "flood"})


# -------------------------------------------------------------------------------------- flood rules


async def test_no_flood_rule_unless_it_is_switched_on(telegram_bot, anna):
    for _ in range(10):
        await telegram_bot.send_message(anna.id, "x")


async def test_a_chat_takes_a_short_burst_then_asks_for_silence(
    telegram, telegram_bot, anna, telegram_clock
):
    telegram.http_api.rate = RateModel(burst=3, penalty=5)
    sent = await telegram_bot.send_message(anna.id, "one")
    await telegram_bot.send_chat_action(anna.id, "typing")
    await telegram_bot.send_message_draft(anna.id, 1, "two")
    with pytest.raises(RetryAfter, match="Retry in 0:00:05"):
        await telegram_bot.edit_message_text("two", anna.id, sent.message_id)
    telegram_clock.advance(timedelta(seconds=4))
    with pytest.raises(RetryAfter, match="Retry in 0:00:01"):
        await telegram_bot.send_message(anna.id, "two")
    telegram_clock.advance(timedelta(seconds=1))
    await telegram_bot.send_message(anna.id, "two")


async def test_a_penalty_is_one_chats_own(telegram, telegram_bot, anna):
    boris = telegram.person(8, "Boris")
    boris.starts()
    telegram.http_api.rate = RateModel(burst=1)
    await telegram_bot.send_message(anna.id, "one")
    with pytest.raises(RetryAfter):
        await telegram_bot.send_message(anna.id, "two")
    await telegram_bot.send_message(boris.id, "one")


async def test_a_group_takes_twenty_a_minute(telegram, telegram_bot, anna, telegram_clock):
    group = telegram.group(members=[anna])
    telegram.http_api.rate = RateModel()
    for _ in range(20):
        await telegram_bot.send_message(group.id, "x")
        telegram_clock.advance(timedelta(seconds=1))
    with pytest.raises(RetryAfter):
        await telegram_bot.send_message(group.id, "x")


async def test_all_chats_together_take_thirty_a_second(telegram, telegram_bot):
    telegram.http_api.rate = RateModel(in_all=5)
    people = [telegram.person(100 + number, "P") for number in range(6)]
    for person in people:
        person.starts()
    for person in people[:5]:
        await telegram_bot.send_message(person.id, "x")
    with pytest.raises(RetryAfter):
        await telegram_bot.send_message(people[5].id, "x")


# ------------------------------------------------------------------------------ journal and waiting


async def test_the_journal_has_every_call_with_its_fate(
    telegram, telegram_bot, anna, telegram_clock
):
    await telegram_bot.send_message(anna.id, "one")
    with pytest.raises(BadRequest):
        await telegram_bot.send_message(999, "two")
    good, wrong = telegram.journal.of("sendMessage")
    assert (good.status, good.result["text"], good.text, good.chat_id) == (
        200,
        "one",
        "one",
        anna.id,
    )
    assert (wrong.status, wrong.error, wrong.at) == (
        400,
        "Bad Request: chat not found",
        telegram_clock.now(),
    )
    assert telegram.journal.of("sendMessage", chat=anna.id) == [good]
    assert telegram.journal.since(good.number) == [wrong]


async def test_a_chat_shows_what_is_left_after_edits_and_deletions(telegram_bot, anna):
    one = await telegram_bot.send_message(anna.id, "one")
    two = await telegram_bot.send_message(anna.id, "two")
    await telegram_bot.edit_message_text("1", anna.id, one.message_id)
    await telegram_bot.delete_message(anna.id, two.message_id)
    anna.says("three")
    assert [(message.text, message.from_bot) for message in anna.chat.shown] == [
        ("/start", False),
        ("1", True),
        ("three", False),
    ]
    assert anna.chat.text == "1"


async def test_waiting_ends_when_the_condition_holds(telegram, telegram_bot, anna):
    waiting = asyncio.create_task(telegram.until(lambda: anna.chat.answers))
    await telegram_bot.send_message(anna.id, "one")
    assert [message.text for message in await waiting] == ["one"]


async def test_waiting_in_vain_shows_the_last_calls(telegram, telegram_bot, anna):
    await telegram_bot.send_message(anna.id, "one")
    with pytest.raises(AssertionError, match=r"sendMessage.*one.*200"):
        await telegram.until(lambda: False, seconds=0.05)
