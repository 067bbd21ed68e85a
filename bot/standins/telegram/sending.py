"""The methods that show something to people: send, edit, delete, drafts, files."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from bot.standins.telegram.chats import Chat, Draft
from bot.standins.telegram.keyboard import checked_markup
from bot.standins.telegram.markup import Formatted, parsed, shown
from bot.standins.telegram.params import Params, Upload
from bot.standins.telegram.rules import (
    CAPTION_UNITS,
    NOT_MODIFIED,
    PHOTO_BYTES,
    TEXT_UNITS,
    UPLOAD_BYTES,
    Json,
    Refused,
    bad,
)
from bot.standins.telegram.state import StoredFile, TelegramState

DELETABLE = timedelta(hours=48)
IMAGES = (b"\xff\xd8", b"\x89PNG", b"GIF8", b"RIFF")
TEXT = (TEXT_UNITS, "text", "entities", "message is too long")
CHANGEABLE = (
    "text",
    "entities",
    "caption",
    "caption_entities",
    "link_preview_options",
    "reply_markup",
)
CAPTION = (CAPTION_UNITS, "caption", "caption_entities", "message caption is too long")


def send_message(state: TelegramState, params: Params) -> Json:
    chat, formatted = _addressed(state, params, TEXT)
    if not formatted.text:
        raise bad("message text is empty")
    return _put(state, chat, params, {**_worded(formatted, "text"), **_preview(params)})


def send_document(state: TelegramState, params: Params) -> Json:
    chat, caption = _addressed(state, params, CAPTION)
    stored = _file(state, params, "document", UPLOAD_BYTES)
    document = {**stored.json(), "file_name": stored.name, "mime_type": stored.mime}
    return _put(state, chat, params, {"document": document, **_worded(caption, "caption")})


def send_photo(state: TelegramState, params: Params) -> Json:
    chat, caption = _addressed(state, params, CAPTION)
    stored = _file(state, params, "photo", PHOTO_BYTES)
    if not stored.content.startswith(IMAGES):
        raise bad("IMAGE_PROCESS_FAILED")
    photo = [{**stored.json(), "width": 320, "height": 240}]
    return _put(state, chat, params, {"photo": photo, **_worded(caption, "caption")})


def edit_message_text(state: TelegramState, params: Params) -> Json:
    chat, formatted = _addressed(state, params, TEXT)
    if not formatted.text:
        raise bad("message text is empty")
    message = _editable(state, chat, params)
    if "text" not in message:
        raise bad("there is no text in the message to edit")
    return _changed(
        state, chat, message, {**_worded(formatted, "text"), **_preview(params), **_marked(params)}
    )


def edit_message_caption(state: TelegramState, params: Params) -> Json:
    chat, formatted = _addressed(state, params, CAPTION)
    message = _editable(state, chat, params)
    if not message.keys() & {"document", "photo"}:
        raise bad("there is no caption in the message to edit")
    return _changed(state, chat, message, {**_worded(formatted, "caption"), **_marked(params)})


def edit_message_reply_markup(state: TelegramState, params: Params) -> Json:
    chat = state.chat(params.text("chat_id"))
    message = _editable(state, chat, params)
    kept: Json = {
        key: message[key] for key in CHANGEABLE if key in message and key != "reply_markup"
    }
    return _changed(state, chat, message, {**kept, **_marked(params)})


def delete_message(state: TelegramState, params: Params) -> bool:
    chat = state.chat(params.text("chat_id"))
    message = chat.find(params.number("message_id"))
    if message is None:
        raise bad("message to delete not found")
    foreign = not _own(state, message)
    if state.stamp - message["date"] > DELETABLE.total_seconds() or (
        foreign and chat.standing != "administrator" and chat.type != "private"
    ):
        raise bad("message can't be deleted")
    del chat.messages[message["message_id"]]
    state.signal.ring()
    return True


def send_message_draft(state: TelegramState, params: Params) -> bool:
    """A preview in a private chat, for half a minute."""
    chat, formatted = _addressed(state, params, TEXT)
    if chat.type != "private":
        raise bad("TEXTDRAFT_PEER_INVALID")
    number = params.number("draft_id")
    if not number:
        raise bad("draft_id must be non-zero")
    thread = chat.thread(params.number("message_thread_id"))
    flags = params.flag("can_stop"), params.flag("keep_on_stop")
    chat.drafts.pop(number, None)
    chat.drafts[number] = Draft(
        number, formatted.text, tuple(formatted.json()), thread, state.now, *flags
    )
    state.signal.ring()
    return True


def _addressed(
    state: TelegramState, params: Params, kind: tuple[int, str, str, str]
) -> tuple[Chat, Formatted]:
    """The chat and the words, checked in Telegram's order: markup, chat, entities, length."""
    limit, words, entities, long = kind
    formatted = parsed(params.text(words), params.text("parse_mode"))
    chat = state.chat(params.text("chat_id"))
    given = [] if params.text("parse_mode") else params.json(entities) or []
    if not isinstance(given, list):
        raise bad("can't parse entities: expected an Array of MessageEntity")
    return chat, shown(formatted, given, limit, long)


def _worded(formatted: Formatted, words: str) -> Json:
    entities = {"text": "entities", "caption": "caption_entities"}[words]
    found: Json = {words: formatted.text} if formatted.text else {}
    return {**found, entities: formatted.json()} if formatted.entities else found


def _preview(params: Params) -> Json:
    """What the sender says about the preview, which Telegram fetches by itself unless it is
    disabled.
    """
    options = params.json("link_preview_options")
    if not isinstance(options, dict | None):
        raise bad("can't parse link preview options: expected an Object")
    return {"link_preview_options": options} if options else {}


def _marked(params: Params) -> Json:
    markup = checked_markup(params.json("reply_markup"))
    return {"reply_markup": markup} if markup else {}


def _put(state: TelegramState, chat: Chat, params: Params, content: Json) -> Json:
    """Send: the topic, the reply and the buttons are checked before anything is shown."""
    reply = _replied(chat, params)
    thread = chat.thread(params.number("message_thread_id")) or _topic(
        reply.get("reply_to_message", {})
    )
    placed = {"message_thread_id": thread, "is_topic_message": True} if thread else {}
    fields = {"from": state.bot, **placed, **reply, **content}
    markup = _marked(params)
    if "inline_keyboard" in markup.get("reply_markup", {}):
        fields |= markup
    if chat.type == "private":
        chat.drafts.clear()
    chat.actions.clear()
    return state.put(chat, fields)


def _topic(replied: Json) -> int | None:
    """A reply lands in the topic of what it answers."""
    return replied.get("message_thread_id") if replied.get("is_topic_message") else None


def _replied(chat: Chat, params: Params) -> Json:
    reply = params.json("reply_parameters") or {
        "message_id": params.number("reply_to_message_id"),
        "allow_sending_without_reply": params.flag("allow_sending_without_reply"),
    }
    if not isinstance(reply, dict):
        raise bad("can't parse reply parameters: expected an Object")
    if not reply.get("message_id"):
        return {}
    found = chat.find(int(reply["message_id"]))
    if found is None:
        if reply.get("allow_sending_without_reply"):
            return {}
        raise bad("message to be replied not found")
    return {
        "reply_to_message": {
            key: value for key, value in found.items() if key != "reply_to_message"
        }
    }


def _own(state: TelegramState, message: Json) -> bool:
    return bool(message.get("from", {}).get("id") == state.bot_id)


def _editable(state: TelegramState, chat: Chat, params: Params) -> Json:
    message = chat.find(params.number("message_id"))
    if message is None:
        raise bad("message to edit not found")
    if not _own(state, message):
        raise bad("message can't be edited")
    return message


def _changed(state: TelegramState, chat: Chat, message: Json, words: Json) -> Json:
    """Replace words and buttons; buttons that are not given go."""
    if "inline_keyboard" not in words.get("reply_markup", {"inline_keyboard": []}):
        raise bad("inline keyboard expected")
    if all(message.get(part) == words.get(part) for part in CHANGEABLE):
        raise bad(NOT_MODIFIED)
    kept = {key: value for key, value in message.items() if key not in CHANGEABLE}
    return state.replace(chat, {**kept, **words, "edit_date": state.stamp})


def _file(state: TelegramState, params: Params, kind: str, limit: int) -> StoredFile:
    """The file of a call: uploaded, or one Telegram holds already."""
    upload = params.upload(kind)
    if upload is None:
        return _held(state, params.text(kind), kind)
    return _accepted(state, upload, kind, limit)


def _held(state: TelegramState, file_id: str, kind: str) -> StoredFile:
    if not file_id:
        raise bad(f"there is no {kind} in the request")
    if file_id.startswith(("http://", "https://")):
        raise bad("failed to get HTTP URL content")
    if file_id not in state.files:
        raise bad("wrong remote file identifier specified: Wrong string length")
    return state.files[file_id]


def _accepted(state: TelegramState, upload: Upload, kind: str, limit: int) -> StoredFile:
    if not upload.content:
        raise bad("file must be non-empty")
    if len(upload.content) > UPLOAD_BYTES:
        raise Refused(413, "Request Entity Too Large")
    if len(upload.content) > limit:
        raise bad("PHOTO_SAVE_FILE_INVALID")
    return state.store(upload.content, upload.name, upload.mime, f"{kind}s")


SENDING: dict[str, Callable[[TelegramState, Params], object]] = {
    "sendMessage": send_message,
    "sendDocument": send_document,
    "sendPhoto": send_photo,
    "sendMessageDraft": send_message_draft,
    "editMessageText": edit_message_text,
    "editMessageCaption": edit_message_caption,
    "editMessageReplyMarkup": edit_message_reply_markup,
    "deleteMessage": delete_message,
}
