"""Drafts: a private preview for half a minute, gone with the first real message, with a Stop button
on request.
"""

from __future__ import annotations

from datetime import timedelta

import pytest
from telegram.error import BadRequest

STOPPED = ["stopped_message_generation"]
CAN_STOP = {"can_stop": True}


async def test_a_draft_grows_and_is_seen_for_thirty_seconds(telegram_bot, anna, telegram_clock):
    await telegram_bot.send_message_draft(anna.id, 5, "one")
    await telegram_bot.send_message_draft(anna.id, 5, "one *two*", parse_mode="MarkdownV2")
    telegram_clock.advance(timedelta(seconds=29))
    draft = anna.chat.draft(telegram_clock.now())
    assert (draft.text, draft.entities[0]["type"]) == ("one two", "bold")
    telegram_clock.advance(timedelta(seconds=1))
    assert anna.chat.draft(telegram_clock.now()) is None
    assert anna.chat.answers == []


async def test_a_real_message_removes_the_draft(telegram_bot, anna, telegram_clock):
    await telegram_bot.send_message_draft(anna.id, 5, "one")
    await telegram_bot.send_message(anna.id, "one two")
    assert anna.chat.draft(telegram_clock.now()) is None


async def test_an_edit_or_a_refused_message_leaves_the_draft(telegram_bot, anna, telegram_clock):
    sent = await telegram_bot.send_message(anna.id, "before")
    await telegram_bot.send_message_draft(anna.id, 5, "one")
    await telegram_bot.edit_message_text("after", anna.id, sent.message_id)
    with pytest.raises(BadRequest):
        await telegram_bot.send_message(anna.id, " ")
    assert anna.chat.draft(telegram_clock.now()).text == "one"


async def test_an_empty_draft_is_a_placeholder(telegram_bot, anna, telegram_clock):
    await telegram_bot.send_message_draft(anna.id, 5, "")
    assert anna.chat.draft(telegram_clock.now()).text == ""


async def test_a_group_gets_no_draft(telegram, telegram_bot, anna):
    group = telegram.group(members=[anna])
    with pytest.raises(BadRequest, match="Textdraft_peer_invalid"):
        await telegram_bot.send_message_draft(group.id, 5, "one")


async def test_the_id_of_a_draft_is_not_zero(telegram_bot, anna):
    with pytest.raises(BadRequest, match="Draft_id must be non-zero"):
        await telegram_bot.send_message_draft(anna.id, 0, "one")


async def test_a_draft_is_measured_like_a_message(telegram_bot, anna):
    with pytest.raises(BadRequest, match="Message is too long"):
        await telegram_bot.send_message_draft(anna.id, 5, "x" * 4097)


async def test_stop_comes_without_a_sender_and_takes_the_draft_away(
    telegram_bot, anna, telegram_clock
):
    await telegram_bot.get_updates(allowed_updates=STOPPED)
    await telegram_bot.send_message_draft(anna.id, 5, "one", api_kwargs=CAN_STOP)
    anna.stops()
    (update,) = await telegram_bot.get_updates()
    stopped = update.api_kwargs["stopped_message_generation"]
    assert (stopped["chat"]["id"], stopped["draft_id"], update.effective_user) == (anna.id, 5, None)
    assert anna.chat.draft(telegram_clock.now()) is None


async def test_a_draft_can_stay_when_it_is_stopped(telegram_bot, anna, telegram_clock):
    await telegram_bot.send_message_draft(
        anna.id, 5, "one", api_kwargs={**CAN_STOP, "keep_on_stop": True}
    )
    anna.stops()
    assert anna.chat.draft(telegram_clock.now()).text == "one"


async def test_a_draft_without_a_stop_button_cannot_be_stopped(telegram_bot, anna):
    await telegram_bot.send_message_draft(anna.id, 5, "one")
    with pytest.raises(LookupError):
        anna.stops()
