"""Whom the bot may reach, and what it is told when it may not."""

from __future__ import annotations

import pytest
from telegram.error import BadRequest, ChatMigrated, EndPointNotFound, Forbidden, InvalidToken

from bot.standins.telegram.chats import GENERAL_TOPIC

CLOSED = {
    "blocked": (lambda anna: anna.blocks(), "bot was blocked by the user"),
    "deactivated": (lambda anna: anna.deletes_account(), "user is deactivated"),
}
GROUPS = {
    "kicked from a group": ("group", "expel", "bot was kicked from the group chat"),
    "kicked from a supergroup": ("supergroup", "expel", "bot was kicked from the supergroup chat"),
}


async def test_a_stranger_is_not_found(telegram, telegram_bot):
    telegram.person(8, "Boris")
    for chat_id in (8, 999, -999):
        with pytest.raises(BadRequest, match="Chat not found"):
            await telegram_bot.send_message(chat_id, "hello")


async def test_a_call_without_a_chat_is_refused(telegram_call):
    status, answer = await telegram_call("sendMessage", text="x")
    assert (status, answer["description"]) == (400, "Bad Request: chat_id is empty")


async def test_a_member_of_a_group_who_never_wrote_cannot_be_written_to(telegram, telegram_bot):
    boris = telegram.person(8, "Boris")
    telegram.group(members=[boris])
    with pytest.raises(Forbidden, match="bot can't initiate conversation with a user"):
        await telegram_bot.send_message(boris.id, "hello")


@pytest.mark.parametrize(("leave", "words"), CLOSED.values(), ids=CLOSED)
@pytest.mark.parametrize("method", ["sendMessage", "sendChatAction", "sendMessageDraft", "getChat"])
async def test_who_is_gone_cannot_be_reached(telegram_call, anna, leave, words, method):
    leave(anna)
    status, answer = await telegram_call(
        method, chat_id=anna.id, text="x", action="typing", draft_id=1
    )
    assert (status, answer["error_code"], answer["description"]) == (
        403,
        403,
        f"Forbidden: {words}",
    )


async def test_who_unblocks_the_bot_can_be_reached_again(telegram_bot, anna):
    anna.blocks()
    anna.unblocks()
    assert (await telegram_bot.send_message(anna.id, "hello")).text == "hello"


@pytest.mark.parametrize(("kind", "event", "words"), GROUPS.values(), ids=GROUPS)
async def test_a_group_that_threw_the_bot_out_is_closed(
    telegram, telegram_bot, anna, kind, event, words
):
    group = getattr(telegram, kind)(members=[anna])
    getattr(telegram.events, event)(group, anna)
    with pytest.raises(Forbidden, match=words):
        await telegram_bot.send_message(group.id, "hello")


async def test_a_group_the_bot_left_is_closed(telegram, telegram_bot, anna):
    group = telegram.supergroup(members=[anna])
    await telegram_bot.leave_chat(group.id)
    with pytest.raises(Forbidden, match="bot is not a member of the supergroup chat"):
        await telegram_bot.send_message(group.id, "hello")


async def test_a_private_chat_cannot_be_left(telegram_bot, anna):
    with pytest.raises(BadRequest, match="Chat member status can't be changed in private chats"):
        await telegram_bot.leave_chat(anna.id)


async def test_a_group_that_became_a_supergroup_says_where_it_went(
    telegram, telegram_bot, telegram_call, anna
):
    group = telegram.group(members=[anna])
    new = telegram.events.migrate(group, anna)
    with pytest.raises(ChatMigrated) as moved:
        await telegram_bot.send_message(group.id, "hello")
    assert moved.value.new_chat_id == new.id
    assert (await telegram_bot.send_message(new.id, "hello")).chat.type == "supergroup"
    _, answer = await telegram_call("sendMessage", chat_id=group.id, text="x")
    assert answer["description"] == "Bad Request: group chat was upgraded to a supergroup chat"


async def test_both_chats_are_told_of_the_migration(telegram, telegram_bot, anna):
    group = telegram.group(members=[anna])
    new = telegram.events.migrate(group, anna)
    left, arrived = await telegram_bot.get_updates()
    assert (left.message.chat.id, left.message.migrate_to_chat_id) == (group.id, new.id)
    assert (arrived.message.chat.id, arrived.message.migrate_from_chat_id) == (new.id, group.id)


async def test_a_topic_takes_messages_and_marks_them(telegram, telegram_bot, anna):
    forum = telegram.supergroup(members=[anna], forum=True)
    topic = anna.topic("Plans", forum)
    sent = await telegram_bot.send_message(forum.id, "hello", message_thread_id=topic)
    assert (sent.message_thread_id, sent.is_topic_message) == (topic, True)
    assert topic != GENERAL_TOPIC


@pytest.mark.parametrize("thread", [1, 77], ids=["General", "unknown"])
async def test_a_topic_that_is_not_there_is_refused(telegram, telegram_bot, anna, thread):
    forum = telegram.supergroup(members=[anna], forum=True)
    for chat in (forum, telegram.supergroup(members=[anna]), anna.chat):
        with pytest.raises(BadRequest, match="Message thread not found"):
            await telegram_bot.send_message(chat.id, "hello", message_thread_id=thread)
        with pytest.raises(BadRequest, match="Message thread not found"):
            await telegram_bot.send_chat_action(chat.id, "typing", message_thread_id=thread)


async def test_the_thread_of_a_reply_chain_is_no_topic(telegram, telegram_bot, anna):
    """C102: a plain supergroup gives replies a thread id that cannot be sent to."""
    plain = telegram.supergroup(members=[anna])
    sent = await telegram_bot.send_message(plain.id, "hello")
    said = anna.says("why?", chat=plain, reply_to=sent.message_id)
    assert (said.thread_id, said.raw.get("is_topic_message")) == (sent.message_id, None)
    with pytest.raises(BadRequest, match="Message thread not found"):
        await telegram_bot.send_message(plain.id, "so", message_thread_id=said.thread_id)


async def test_a_send_into_a_deleted_topic_is_refused_or_lands_in_the_main_chat(
    telegram, telegram_bot, anna
):
    kept, lost = anna.topic("Kept"), anna.topic("Lost")
    anna.deletes_topic(lost)
    with pytest.raises(BadRequest, match="Message thread not found"):
        await telegram_bot.send_message(anna.id, "hello", message_thread_id=lost)
    anna.chat.lost_topics = "main"
    assert (
        await telegram_bot.send_message(anna.id, "hello", message_thread_id=lost)
    ).message_thread_id is None
    assert (
        await telegram_bot.send_message(anna.id, "hello", message_thread_id=kept)
    ).message_thread_id == kept


async def test_a_wrong_token_is_unauthorized_and_a_malformed_one_not_found(telegram_call):
    assert await telegram_call("getMe", token="123456:wrong") == (
        401,
        {"ok": False, "error_code": 401, "description": "Unauthorized"},
    )
    assert (await telegram_call("getMe", token="nonsense"))[0] == 404


async def test_an_unknown_method_is_not_found(telegram_bot, telegram_call):
    assert await telegram_call("sendRichMessage") == (
        404,
        {"ok": False, "error_code": 404, "description": "Not Found"},
    )
    with pytest.raises(EndPointNotFound):
        await telegram_bot.do_api_request("sendRichMessage")
    with pytest.raises(InvalidToken):
        await telegram_bot.send_dice(7)


async def test_a_method_is_known_in_any_case(telegram_call):
    assert (await telegram_call("GETME"))[0] == 200


async def test_a_chat_is_described(telegram, telegram_bot, anna):
    assert (await telegram_bot.get_chat(anna.id)).first_name == "Anna"
    group = telegram.supergroup("Talk", username="talk")
    assert (await telegram_bot.get_chat("@talk")).id == group.id


async def test_the_bot_is_described(telegram_bot):
    me = await telegram_bot.get_me()
    assert (me.username, me.is_bot, me.can_read_all_group_messages) == ("emulated_bot", True, False)
