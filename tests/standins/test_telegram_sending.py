"""What the bot sends, edits and deletes is limited and refused as Telegram does it."""

from __future__ import annotations

from datetime import timedelta

import pytest
from telegram import (
    InlineKeyboardButton,
    InlineKeyboardMarkup,
    LinkPreviewOptions,
    ReplyKeyboardRemove,
    ReplyParameters,
)
from telegram.error import BadRequest, NetworkError

from bot.standins.telegram.person_actions import PNG

NOT_MODIFIED = "Message is not modified"
KEYBOARDS = {
    "no action": (
        [[{"text": "x"}]],
        "can't parse inline keyboard button: Text buttons are unallowed in the inline keyboard",
    ),
    "no text": (
        [[{"callback_data": "x"}]],
        "can't parse inline keyboard button: can't find field \"text\"",
    ),
    "not an array": ("x", "can't parse inline keyboard: expected an Array of Array"),
    "not an object": ([["x"]], "can't parse inline keyboard button: expected an Object"),
    "empty data": ([[{"text": "x", "callback_data": ""}]], "BUTTON_DATA_INVALID"),
    "65 bytes of data": ([[{"text": "x", "callback_data": "я" * 32 + "x"}]], "BUTTON_DATA_INVALID"),
    "long text to copy": (
        [[{"text": "x", "copy_text": {"text": "x" * 257}}]],
        "BUTTON_COPY_TEXT_INVALID",
    ),
    "wrong link": (
        [[{"text": "x", "url": "javascript:x"}]],
        "inline keyboard button URL 'javascript:x' is invalid: Unsupported URL protocol",
    ),
    "nine in a row": ([[{"text": "x", "callback_data": "x"}] * 9], "reply markup is too long"),
    "101 in all": ([[{"text": "x", "callback_data": "x"}]] * 101, "reply markup is too long"),
}


def buttons(label="Go", data="token"):
    return InlineKeyboardMarkup([[InlineKeyboardButton(label, callback_data=data)]])


@pytest.mark.parametrize(
    "text", ["x" * 4096, "😀" * 2048, "ж" * 4096], ids=["latin", "emoji", "cyrillic"]
)
async def test_4096_units_are_sent(telegram_bot, anna, text):
    assert (await telegram_bot.send_message(anna.id, text)).text == text


@pytest.mark.parametrize("text", ["x" * 4097, "😀" * 2048 + "x"], ids=["latin", "emoji"])
async def test_4097_units_are_refused(telegram_bot, anna, text):
    with pytest.raises(BadRequest, match="Message is too long"):
        await telegram_bot.send_message(anna.id, text)
    assert anna.chat.answers == []


async def test_the_length_is_measured_after_parsing(telegram_bot, anna):
    sent = await telegram_bot.send_message(anna.id, f"*{'x' * 4096}*", parse_mode="MarkdownV2")
    assert len(sent.text) == 4096


@pytest.mark.parametrize("text", ["", " \n\t ", "**"], ids=["empty", "white space", "markup only"])
async def test_an_empty_message_is_refused(telegram_call, anna, text):
    status, answer = await telegram_call(
        "sendMessage", chat_id=anna.id, text=text, parse_mode="MarkdownV2"
    )
    assert (status, answer["description"]) == (400, "Bad Request: message text is empty")


async def test_a_caption_ends_at_1024_units(telegram_bot, anna):
    sent = await telegram_bot.send_document(anna.id, b"x", filename="x.txt", caption="x" * 1024)
    assert len(sent.caption) == 1024
    with pytest.raises(BadRequest, match="Message caption is too long"):
        await telegram_bot.send_document(anna.id, b"x", filename="x.txt", caption="x" * 1025)


@pytest.mark.parametrize(("keyboard", "words"), KEYBOARDS.values(), ids=KEYBOARDS)
async def test_a_wrong_keyboard_is_refused_and_nothing_is_shown(
    telegram_call, anna, keyboard, words
):
    status, answer = await telegram_call(
        "sendMessage", chat_id=anna.id, text="x", reply_markup={"inline_keyboard": keyboard}
    )
    assert (status, answer["description"]) == (400, f"Bad Request: {words}")
    assert anna.chat.answers == []


async def test_a_keyboard_at_every_limit_is_shown(telegram_bot, anna):
    row = [InlineKeyboardButton("x", callback_data="я" * 32)] * 8
    sent = await telegram_bot.send_message(
        anna.id, "x", reply_markup=InlineKeyboardMarkup([row] * 12)
    )
    assert len(anna.chat.answers[0].buttons) == 96
    assert sent.reply_markup.inline_keyboard[0][0].callback_data == "я" * 32


async def test_markup_that_is_no_keyboard_is_refused(telegram_call, anna):
    status, answer = await telegram_call(
        "sendMessage", chat_id=anna.id, text="x", reply_markup={"buttons": []}
    )
    assert (status, answer["description"]) == (
        400,
        "Bad Request: can't parse reply keyboard markup JSON object",
    )


async def test_an_edit_replaces_words_and_buttons(telegram_bot, anna):
    sent = await telegram_bot.send_message(anna.id, "one", reply_markup=buttons())
    await telegram_bot.edit_message_text("two", anna.id, sent.message_id)
    shown = anna.chat.answers[0]
    assert (shown.text, shown.edited, shown.buttons) == ("two", True, ())


async def test_an_edit_that_changes_nothing_is_refused(telegram_bot, anna):
    sent = await telegram_bot.send_message(
        anna.id, "*one*", parse_mode="MarkdownV2", reply_markup=buttons()
    )
    with pytest.raises(BadRequest, match=NOT_MODIFIED):
        await telegram_bot.edit_message_text(
            "*one*", anna.id, sent.message_id, parse_mode="MarkdownV2", reply_markup=buttons()
        )
    with pytest.raises(BadRequest, match=NOT_MODIFIED):
        await telegram_bot.edit_message_reply_markup(
            anna.id, sent.message_id, reply_markup=buttons()
        )


async def test_an_edit_of_formatting_or_buttons_alone_counts_as_a_change(telegram_bot, anna):
    sent = await telegram_bot.send_message(anna.id, "one")
    await telegram_bot.edit_message_text("*one*", anna.id, sent.message_id, parse_mode="MarkdownV2")
    await telegram_bot.edit_message_reply_markup(anna.id, sent.message_id, reply_markup=buttons())
    assert anna.chat.answers[0].entities[0]["type"] == "bold"
    assert [button.data for button in anna.chat.answers[0].buttons] == ["token"]


async def test_an_edit_takes_inline_buttons_only(telegram_bot, telegram_call, anna):
    sent = await telegram_bot.send_message(anna.id, "one")
    keyboard = {"keyboard": [[{"text": "x"}]]}
    status, answer = await telegram_call(
        "editMessageText",
        chat_id=anna.id,
        message_id=sent.message_id,
        text="two",
        reply_markup=keyboard,
    )
    assert (status, answer["description"]) == (400, "Bad Request: inline keyboard expected")


async def test_other_keyboards_are_taken_and_do_not_hang_on_the_message(telegram_bot, anna):
    await telegram_bot.send_message(anna.id, "one", reply_markup=ReplyKeyboardRemove())
    assert anna.chat.answers[0].reply_markup is None


async def test_a_message_that_is_gone_cannot_be_edited(telegram_bot, anna):
    sent = await telegram_bot.send_message(anna.id, "one")
    anna.deletes(anna.chat.answers[0])
    with pytest.raises(BadRequest, match="Message to edit not found"):
        await telegram_bot.edit_message_text("two", anna.id, sent.message_id)


async def test_a_message_of_somebody_else_cannot_be_edited(telegram_bot, anna):
    said = anna.says("mine")
    with pytest.raises(BadRequest, match="Message can't be edited"):
        await telegram_bot.edit_message_text("yours", anna.id, said.message_id)


async def test_a_file_has_a_caption_and_no_text_to_edit(telegram_bot, anna):
    sent = await telegram_bot.send_document(anna.id, b"x", filename="x.txt", caption="one")
    with pytest.raises(BadRequest, match="There is no text in the message to edit"):
        await telegram_bot.edit_message_text("two", anna.id, sent.message_id)
    await telegram_bot.edit_message_caption(anna.id, sent.message_id, caption="two")
    assert anna.chat.answers[0].text == "two"


async def test_an_edit_is_measured_like_a_message(telegram_bot, anna):
    sent = await telegram_bot.send_message(anna.id, "one")
    with pytest.raises(BadRequest, match="Message is too long"):
        await telegram_bot.edit_message_text("x" * 4097, anna.id, sent.message_id)
    with pytest.raises(BadRequest, match="Message text is empty"):
        await telegram_bot.edit_message_text(" ", anna.id, sent.message_id)


async def test_a_deleted_message_is_gone_and_cannot_go_twice(telegram_bot, anna):
    sent = await telegram_bot.send_message(anna.id, "one")
    await telegram_bot.delete_message(anna.id, sent.message_id)
    assert anna.chat.answers == []
    with pytest.raises(BadRequest, match="Message to delete not found"):
        await telegram_bot.delete_message(anna.id, sent.message_id)


async def test_after_two_days_a_message_stays(telegram_bot, anna, telegram_clock):
    sent = await telegram_bot.send_message(anna.id, "one")
    telegram_clock.advance(timedelta(hours=49))
    with pytest.raises(BadRequest, match="Message can't be deleted"):
        await telegram_bot.delete_message(anna.id, sent.message_id)


async def test_a_reply_quotes_the_message(telegram_bot, anna):
    said = anna.says("question")
    sent = await telegram_bot.send_message(
        anna.id, "answer", reply_parameters=ReplyParameters(said.message_id)
    )
    assert sent.reply_to_message.text == "question"


async def test_a_reply_to_a_deleted_message_is_refused_unless_that_is_allowed(telegram_bot, anna):
    said = anna.says("question")
    anna.deletes(said)
    with pytest.raises(BadRequest, match="Message to be replied not found"):
        await telegram_bot.send_message(
            anna.id, "x", reply_parameters=ReplyParameters(said.message_id)
        )
    allowed = ReplyParameters(said.message_id, allow_sending_without_reply=True)
    assert (
        await telegram_bot.send_message(anna.id, "x", reply_parameters=allowed)
    ).reply_to_message is None


async def test_a_reply_lands_in_the_topic_of_the_question(telegram_bot, anna):
    topic = anna.topic("Plans")
    said = anna.says("question", thread=topic)
    sent = await telegram_bot.send_message(
        anna.id, "answer", reply_parameters=ReplyParameters(said.message_id)
    )
    assert (sent.message_thread_id, sent.is_topic_message) == (topic, True)


@pytest.mark.parametrize("reply", ["{", 7])
async def test_malformed_reply_parameters_are_refused(telegram_call, anna, reply):
    status, _ = await telegram_call(
        "sendMessage", chat_id=anna.id, text="x", reply_parameters=reply
    )
    assert status == 400


async def test_a_file_is_needed_and_not_fetched_from_the_web(telegram_call, anna):
    _, answer = await telegram_call("sendDocument", chat_id=anna.id)
    assert answer["description"] == "Bad Request: there is no document in the request"
    _, answer = await telegram_call("sendDocument", chat_id=anna.id, document="https://a.bc/d.txt")
    assert answer["description"] == "Bad Request: failed to get HTTP URL content"


async def test_a_document_can_be_fetched_back(telegram_bot, anna):
    sent = await telegram_bot.send_document(anna.id, b"content", filename="a.txt")
    file = await telegram_bot.get_file(sent.document.file_id)
    assert bytes(await file.download_as_bytearray()) == b"content"
    assert (sent.document.file_name, sent.document.file_size) == ("a.txt", 7)


async def test_a_file_telegram_holds_is_sent_again_by_its_id(telegram_bot, anna):
    first = await telegram_bot.send_document(anna.id, b"content", filename="a.txt")
    second = await telegram_bot.send_document(anna.id, first.document.file_id)
    assert second.document.file_name == "a.txt"
    with pytest.raises(BadRequest, match="Wrong remote file identifier"):
        await telegram_bot.send_document(anna.id, "nothing")


async def test_an_empty_file_is_refused(telegram_bot, anna):
    with pytest.raises(BadRequest, match="File must be non-empty"):
        await telegram_bot.send_document(anna.id, b"", filename="a.txt")


async def test_a_photo_must_be_a_picture_and_small(telegram_bot, anna):
    assert (await telegram_bot.send_photo(anna.id, PNG)).photo
    with pytest.raises(BadRequest, match="Image_process_failed"):
        await telegram_bot.send_photo(anna.id, b"words")
    with pytest.raises(BadRequest, match="Photo_save_file_invalid"):
        await telegram_bot.send_photo(anna.id, PNG + bytes(10 * 2**20))


async def test_a_file_over_50_mb_cannot_be_uploaded(telegram_bot, anna):
    with pytest.raises(NetworkError, match="Request Entity Too Large"):
        await telegram_bot.send_document(
            anna.id, bytes(50 * 2**20 + 1), filename="big", write_timeout=30, read_timeout=30
        )


async def test_a_file_over_20_mb_cannot_be_downloaded(telegram_bot, anna):
    sent = anna.sends_document(bytes(20 * 2**20 + 1), "big.bin")
    with pytest.raises(BadRequest, match="File is too big"):
        await telegram_bot.get_file(sent.raw["document"]["file_id"])
    with pytest.raises(BadRequest, match="Wrong file_id"):
        await telegram_bot.get_file("nothing")


async def test_an_unknown_action_is_refused_and_a_known_one_lasts_five_seconds(
    telegram_bot, anna, telegram_clock
):
    with pytest.raises(BadRequest, match="Wrong parameter action in request"):
        await telegram_bot.send_chat_action(anna.id, "thinking")
    await telegram_bot.send_chat_action(anna.id, "typing")
    assert anna.chat.action(telegram_clock.now()) == "typing"
    telegram_clock.advance(timedelta(seconds=5))
    assert anna.chat.action(telegram_clock.now()) == ""


async def test_a_message_remembers_what_was_said_about_its_preview(
    telegram_bot, telegram_call, anna
):
    off = LinkPreviewOptions(is_disabled=True)
    sent = await telegram_bot.send_message(anna.id, "https://a.example", link_preview_options=off)
    assert sent.link_preview_options == off
    edited = await telegram_bot.edit_message_text("https://a.example", anna.id, sent.message_id)
    assert edited.link_preview_options is None
    status, _ = await telegram_call(
        "sendMessage", chat_id=anna.id, text="x", link_preview_options="[]"
    )
    assert status == 400
