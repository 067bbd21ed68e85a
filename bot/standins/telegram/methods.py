"""The table of methods, and the small ones: who the bot is, chats, buttons, commands, files."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from bot.standins.telegram.entities import units
from bot.standins.telegram.params import Params
from bot.standins.telegram.receiving import RECEIVING
from bot.standins.telegram.rules import (
    ANSWER_CHARS,
    COMMANDS,
    DOWNLOAD_BYTES,
    QUERY_TOO_OLD,
    Json,
    bad,
)
from bot.standins.telegram.sending import SENDING
from bot.standins.telegram.state import TelegramState

Method = Callable[[TelegramState, Params], Any]
ACTIONS = (
    "typing", "upload_photo", "record_video", "upload_video", "record_voice", "upload_voice", "upload_document",  # noqa: E501
    "choose_sticker", "find_location", "record_video_note", "upload_video_note",
)  # fmt: skip
SCOPES = (
    "default", "all_private_chats", "all_group_chats", "all_chat_administrators",
    "chat", "chat_administrators", "chat_member",
)  # fmt: skip
_COMMAND = re.compile(r"/?[a-z0-9_]{1,32}")
DESCRIPTIONS = {"description": 512, "short_description": 120, "name": 64}


def get_me(state: TelegramState, _: Params) -> Json:
    return {
        "can_join_groups": True,
        "can_read_all_group_messages": not state.privacy,
        "supports_inline_queries": False,
        **state.bot,
    }


def get_chat(state: TelegramState, params: Params) -> Json:
    chat = state.chat(params.text("chat_id"))
    return {
        **chat.json(),
        "accent_color_id": 0,
        "max_reaction_count": 11,
        "accepted_gift_types": _GIFTS,
    }


_GIFTS = dict.fromkeys(
    (
        "unlimited_gifts",
        "limited_gifts",
        "unique_gifts",
        "premium_subscription",
        "gifts_from_channels",
    ),
    False,
)


def leave_chat(state: TelegramState, params: Params) -> bool:
    chat = state.chat(params.text("chat_id"))
    if chat.type == "private":
        raise bad("chat member status can't be changed in private chats")
    chat.standing = "left"
    state.signal.ring()
    return True


def send_chat_action(state: TelegramState, params: Params) -> bool:
    chat = state.chat(params.text("chat_id"))
    if params.text("action") not in ACTIONS:
        raise bad("wrong parameter action in request")
    chat.thread(params.number("message_thread_id"))
    chat.actions.append((state.now, params.text("action")))
    state.signal.ring()
    return True


def answer_callback_query(state: TelegramState, params: Params) -> bool:
    """Once, and in time."""
    if units(params.text("text")) > ANSWER_CHARS:
        raise bad("MESSAGE_TOO_LONG")
    query = state.queries.get(params.text("callback_query_id"))
    if query is None or not query.open(state.now):
        raise bad(QUERY_TOO_OLD)
    query.answer = {"text": params.text("text"), "show_alert": params.flag("show_alert")}
    state.signal.ring()
    return True


def get_file(state: TelegramState, params: Params) -> Json:
    stored = state.files.get(params.text("file_id"))
    if stored is None:
        raise bad("wrong file_id or the file is temporarily unavailable")
    if len(stored.content) > DOWNLOAD_BYTES:
        raise bad("file is too big")
    return {**stored.json(), "file_path": stored.path}


def set_message_reaction(state: TelegramState, params: Params) -> bool:
    chat = state.chat(params.text("chat_id"))
    message = chat.find(params.number("message_id"))
    if message is None:
        raise bad("message to react not found")
    state.reactions[chat.id, message["message_id"]] = params.json("reaction") or []
    state.signal.ring()
    return True


def set_my_commands(state: TelegramState, params: Params) -> bool:
    key, commands = _scope(state, params), params.json("commands")
    if not isinstance(commands, list):
        raise bad("can't parse commands: expected an Array of BotCommand")
    if len(commands) > COMMANDS:
        raise bad("BOT_COMMANDS_TOO_MUCH")
    state.commands[key] = [_command(command) for command in commands]
    return True


def get_my_commands(state: TelegramState, params: Params) -> list[Json]:
    return state.commands.get(_scope(state, params), [])


def delete_my_commands(state: TelegramState, params: Params) -> bool:
    state.commands.pop(_scope(state, params), None)
    return True


def _scope(state: TelegramState, params: Params) -> tuple[str, str]:
    """The list a call is about: its scope (and chat), and its language."""
    scope = params.json("scope") or {"type": "default"}
    if scope.get("type") not in SCOPES:
        raise bad("can't parse BotCommandScope: Unsupported type specified")
    if "chat_id" in scope:
        state.chat(str(scope["chat_id"]))
    language = params.text("language_code")
    if language and not re.fullmatch(r"[a-z]{2}", language):
        raise bad("invalid language code specified")
    return ":".join(str(value) for value in scope.values()), language


def _command(command: Json) -> Json:
    name, description = str(command.get("command", "")), str(command.get("description", ""))
    if not _COMMAND.fullmatch(name):
        raise bad("BOT_COMMAND_INVALID")
    if not 1 <= len(description) <= 256:  # noqa: PLR2004 - the limit reads best where it is
        raise bad("BOT_COMMAND_DESCRIPTION_INVALID")
    return {"command": name.removeprefix("/"), "description": description}


def _set_words(kind: str) -> Method:
    def set_words(state: TelegramState, params: Params) -> bool:
        if len(params.text(kind)) > DESCRIPTIONS[kind]:
            raise bad(f"bot {kind.replace('_', ' ')} is too long")
        state.descriptions[kind, params.text("language_code")] = params.text(kind)
        return True

    return set_words


def _get_words(kind: str) -> Method:
    def get_words(state: TelegramState, params: Params) -> Json:
        language = params.text("language_code")
        words = state.descriptions.get((kind, language)) or state.descriptions.get((kind, ""), "")
        return {kind: words}

    return get_words


METHODS: dict[str, Method] = {
    **RECEIVING,
    **SENDING,
    "getMe": get_me,
    "getChat": get_chat,
    "leaveChat": leave_chat,
    "sendChatAction": send_chat_action,
    "answerCallbackQuery": answer_callback_query,
    "getFile": get_file,
    "setMessageReaction": set_message_reaction,
    "setMyCommands": set_my_commands,
    "getMyCommands": get_my_commands,
    "deleteMyCommands": delete_my_commands,
    "setMyDescription": _set_words("description"),
    "getMyDescription": _get_words("description"),
    "setMyShortDescription": _set_words("short_description"),
    "getMyShortDescription": _get_words("short_description"),
    "setMyName": _set_words("name"),
    "getMyName": _get_words("name"),
}
CANONICAL = {name.lower(): name for name in METHODS}
"""Telegram reads method names without regard to case."""

COUNTED = ("send", "edit", "delete")
"""What a method's name begins with when the flood rules count it."""
