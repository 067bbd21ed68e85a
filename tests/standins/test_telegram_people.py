"""What people do reaches the bot in the shapes python-telegram-bot knows."""

from __future__ import annotations

from datetime import timedelta

import pytest
from telegram import (
    BotCommand,
    BotCommandScopeChat,
    InlineKeyboardButton,
    InlineKeyboardMarkup,
    ReactionTypeEmoji,
)
from telegram.error import BadRequest

from bot.standins.telegram.person_actions import PNG
from bot.standins.telegram.service_messages import anonymous, as_channel, linked


@pytest.fixture
async def latest(telegram_bot):
    """What the bot has not seen yet."""
    offset = None

    async def take():
        nonlocal offset
        updates = await telegram_bot.get_updates(offset=offset)
        offset = updates[-1].update_id + 1 if updates else offset
        return updates

    return take


async def ask(telegram_bot, anna):
    keyboard = InlineKeyboardMarkup([[InlineKeyboardButton("Yes", callback_data="token")]])
    return await telegram_bot.send_message(anna.id, "sure?", reply_markup=keyboard)


async def test_words_arrive_with_sender_date_and_entities(anna, latest, telegram_clock):
    anna.says("/new @emulated_bot")
    (update,) = await latest()
    message = update.message
    assert (message.from_user.id, message.from_user.language_code, message.chat.type) == (
        7,
        "en",
        "private",
    )
    assert message.date == telegram_clock.now()
    assert [entity.type for entity in message.entities] == ["bot_command", "mention"]


@pytest.mark.parametrize("text", ["", " ", "x" * 4097])
def test_a_client_sends_no_such_text(anna, text):
    with pytest.raises(ValueError, match="4096"):
        anna.says(text)


async def test_a_paste_is_split_at_4096_units_without_a_mark(anna, latest):
    """C99: the parts have no common id."""
    text = "😀" * 3000 + "x" * 3000
    anna.pastes(text)
    parts = [update.message for update in await latest()]
    assert "".join(part.text for part in parts) == text
    assert [len(part.text) for part in parts] == [2048, 3144, 808]
    assert {part.media_group_id for part in parts} == {None}


async def test_a_start_can_carry_a_payload(anna, latest):
    anna.starts("from-site")
    (update,) = await latest()
    assert update.message.text == "/start from-site"


async def test_an_edit_arrives_as_one(anna, latest):
    anna.edits(anna.says("one"), "/two")
    _, update = await latest()
    assert (update.edited_message.text, update.edited_message.entities[0].type) == (
        "/two",
        "bot_command",
    )
    assert update.edited_message.edit_date


async def test_of_a_picture_the_caption_is_edited(anna, latest):
    anna.edits(anna.sends_photo(PNG, "one"), "/two")
    _, update = await latest()
    edited = update.edited_message
    assert (edited.caption, edited.caption_entities[0].type, edited.text) == (
        "/two",
        "bot_command",
        None,
    )
    assert edited.photo


async def test_an_edit_can_come_without_new_words(anna, latest):
    anna.touches(anna.says("one"))
    first, second = await latest()
    assert (first.message.text, second.edited_message.text) == ("one", "one")


async def test_a_press_carries_its_data_and_is_answered_once(anna, telegram_bot, latest, telegram):
    await ask(telegram_bot, anna)
    pressed = anna.presses("Yes")
    (update,) = await latest()
    assert (update.callback_query.data, update.callback_query.from_user.id) == ("token", 7)
    assert update.callback_query.message.text == "sure?"
    await telegram_bot.answer_callback_query(pressed.id, "done")
    assert pressed.answer == {"text": "done", "show_alert": False}
    with pytest.raises(BadRequest, match="Query is too old"):
        await telegram_bot.answer_callback_query(pressed.id)


async def test_a_late_or_foreign_answer_is_too_old(anna, telegram_bot, telegram_clock):
    await ask(telegram_bot, anna)
    pressed = anna.presses("Yes")
    telegram_clock.advance(timedelta(seconds=60))
    for query in (pressed.id, "1"):
        with pytest.raises(
            BadRequest, match="Query is too old and response timeout expired or query id is invalid"
        ):
            await telegram_bot.answer_callback_query(query)


async def test_an_answer_has_200_characters(anna, telegram_bot):
    await ask(telegram_bot, anna)
    pressed = anna.presses("Yes")
    with pytest.raises(BadRequest, match="Message_too_long"):
        await telegram_bot.answer_callback_query(pressed.id, "x" * 201)


async def test_a_client_can_forge_data_and_press_anothers_button(
    anna, telegram, telegram_bot, latest
):
    boris = telegram.person(8, "Boris")
    await ask(telegram_bot, anna)
    boris.presses("Yes", on=anna.chat.answers[0], data="forged")
    (update,) = await latest()
    assert (update.callback_query.from_user.id, update.callback_query.data) == (8, "forged")


async def test_the_message_under_a_pressed_button_may_be_gone(anna, telegram_bot, latest):
    await ask(telegram_bot, anna)
    shown = anna.chat.answers[0]
    anna.deletes(shown)
    anna.presses("Yes", on=shown)
    (update,) = await latest()
    assert not update.callback_query.message.is_accessible
    with pytest.raises(LookupError):
        anna.presses("Yes")


async def test_files_arrive_with_an_id_to_fetch_them_by(anna, telegram_bot, latest):
    anna.sends_photo(PNG + b"1", "look")
    anna.sends_document(b"words", "a.txt")
    anna.sends_voice(b"ogg")
    photo, document, voice = await latest()
    assert photo.message.caption == "look"
    assert voice.message.voice.file_size == 3
    for kept, content in (
        (photo.message.photo[-1], PNG + b"1"),
        (document.message.document, b"words"),
    ):
        file = await telegram_bot.get_file(kept.file_id)
        assert bytes(await file.download_as_bytearray()) == content


async def test_an_album_is_one_message_per_item_with_a_common_id(anna, latest):
    """C100."""
    anna.sends_album([PNG, PNG, PNG], "three")
    messages = [update.message for update in await latest()]
    assert [message.caption for message in messages] == ["three", None, None]
    assert len({message.media_group_id for message in messages}) == 1
    with pytest.raises(ValueError, match="album"):
        anna.sends_album([PNG] * 11)


async def test_a_forward_names_its_origin(anna, latest):
    anna.forwards("news", {"type": "hidden_user", "sender_user_name": "Somebody"})
    (update,) = await latest()
    assert update.message.forward_origin.sender_user_name == "Somebody"


async def test_blocking_is_told_and_silences(anna, latest):
    anna.blocks()
    (update,) = await latest()
    assert update.my_chat_member.new_chat_member.status == "kicked"
    with pytest.raises(ValueError, match="blocked"):
        anna.says("hello")


async def test_joining_and_leaving_a_group_is_told(telegram, anna, latest):
    group = telegram.group(members=[anna], standing="left")
    telegram.events.join(group, anna)
    telegram.events.expel(group, anna)
    assert [update.my_chat_member.new_chat_member.status for update in await latest()] == [
        "member",
        "kicked",
    ]


HEARD = {
    "a command": ("/new", True),
    "a command for this bot": ("/new@emulated_bot", True),
    "a command for another bot": ("/new@other_bot", False),
    "a mention": ("hey @emulated_bot!", True),
    "a mention of another": ("hey @somebody", False),
    "words among people": ("hello all", False),
}


@pytest.mark.parametrize(("text", "heard"), HEARD.values(), ids=HEARD)
async def test_privacy_mode_hides_what_is_not_for_the_bot(telegram, anna, latest, text, heard):
    anna.says(text, chat=telegram.group(members=[anna]))
    assert len(await latest()) == heard


async def test_a_reply_to_the_bot_is_heard(telegram, telegram_bot, anna, latest):
    group = telegram.group(members=[anna])
    sent = await telegram_bot.send_message(group.id, "hello")
    anna.says("why?", chat=group, reply_to=sent.message_id)
    (update,) = await latest()
    assert update.message.reply_to_message.text == "hello"


async def test_an_administrator_hears_everything(telegram, anna, latest):
    group = telegram.group(members=[anna])
    telegram.events.promote(group, anna)
    anna.says("hello all", chat=group)
    _, update = await latest()
    assert update.message.text == "hello all"


async def test_a_group_the_bot_was_thrown_out_of_is_silent(telegram, anna, latest):
    group = telegram.group(members=[anna])
    telegram.events.expel(group, anna)
    anna.says("/new", chat=group)
    assert len(await latest()) == 1


async def test_masks_show_the_shared_ids(telegram, anna, latest):
    group, channel = telegram.supergroup(members=[anna]), telegram.channel()
    for mask in (anonymous(group), as_channel(channel), linked(channel)):
        anna.says("/new", chat=group, **mask)
    seen = [(update.effective_user.id, update.effective_user.is_bot) for update in await latest()]
    assert seen == [(1087968824, True), (136817688, True), (777000, False)]


async def test_updates_of_nobody_and_of_third_parties(telegram, anna, latest):
    telegram.events.post(telegram.channel(), "news")
    telegram.events.poll("which?")
    telegram.events.business_message(anna, "hello")
    telegram.events.guest_message(anna, "hello")
    post, poll, business, guest = await latest()
    assert (post.effective_user, post.effective_message.text) == (None, "news")
    assert (poll.effective_user, poll.poll.question) == (None, "which?")
    assert business.effective_user.id == anna.id
    assert (business.message, guest.message) == (None, None)


async def test_private_topics_mark_their_messages(anna, telegram_bot, latest):
    topic = anna.topic("Plans")
    anna.says("hello", thread=topic)
    made, said = await latest()
    assert made.message.forum_topic_created.name == "Plans"
    assert (said.message.message_thread_id, said.message.is_topic_message) == (topic, True)
    assert (await telegram_bot.get_me()).has_topics_enabled


async def test_message_ids_repeat_across_chats(telegram, telegram_bot, anna):
    boris = telegram.person(8, "Boris")
    assert boris.starts().message_id == 1
    assert (await telegram_bot.send_message(anna.id, "x")).message_id == 2
    assert (await telegram_bot.send_message(boris.id, "x")).message_id == 2


# ------------------------------------------------------------------------------- the bot's own page


async def test_commands_are_kept_per_scope_and_language(telegram_bot, anna):
    await telegram_bot.set_my_commands([BotCommand("new", "Start afresh")])
    await telegram_bot.set_my_commands([BotCommand("new", "Заново")], language_code="ru")
    await telegram_bot.set_my_commands(
        [BotCommand("stats", "Figures")], BotCommandScopeChat(anna.id)
    )
    assert (await telegram_bot.get_my_commands())[0].description == "Start afresh"
    assert (await telegram_bot.get_my_commands(language_code="ru"))[0].description == "Заново"
    await telegram_bot.delete_my_commands()
    assert await telegram_bot.get_my_commands() == ()
    assert (await telegram_bot.get_my_commands(BotCommandScopeChat(anna.id)))[0].command == "stats"


COMMANDS = {
    "upper case": ([("New", "x")], "BOT_COMMAND_INVALID"),
    "too long": ([("n" * 33, "x")], "BOT_COMMAND_INVALID"),
    "no description": ([("new", "")], "BOT_COMMAND_DESCRIPTION_INVALID"),
    "long description": ([("new", "x" * 257)], "BOT_COMMAND_DESCRIPTION_INVALID"),
    "too many": ([("new", "x")] * 101, "BOT_COMMANDS_TOO_MUCH"),
}


@pytest.mark.parametrize(("commands", "words"), COMMANDS.values(), ids=COMMANDS)
async def test_a_wrong_command_is_refused(telegram_call, commands, words):
    listed = [{"command": command, "description": description} for command, description in commands]
    status, answer = await telegram_call("setMyCommands", commands=listed)
    assert (status, answer["description"]) == (400, f"Bad Request: {words}")


async def test_commands_for_a_chat_need_the_chat(telegram, telegram_bot):
    with pytest.raises(BadRequest, match="Chat not found"):
        await telegram_bot.set_my_commands(
            [BotCommand("stats", "Figures")], BotCommandScopeChat(99)
        )


async def test_descriptions_fall_back_to_the_default_language(telegram_bot):
    await telegram_bot.set_my_description("Long")
    await telegram_bot.set_my_short_description("Short")
    assert (await telegram_bot.get_my_description("ru")).description == "Long"
    assert (await telegram_bot.get_my_short_description()).short_description == "Short"
    with pytest.raises(BadRequest, match="too long"):
        await telegram_bot.set_my_short_description("x" * 121)


async def test_a_reaction_needs_its_message(telegram, telegram_bot, anna):
    said = anna.says("hello")
    await telegram_bot.set_message_reaction(anna.id, said.message_id, "👍")
    assert telegram.state.reactions[anna.id, said.message_id] == [ReactionTypeEmoji("👍").to_dict()]
    with pytest.raises(BadRequest, match="Message to react not found"):
        await telegram_bot.set_message_reaction(anna.id, 99, "👍")
