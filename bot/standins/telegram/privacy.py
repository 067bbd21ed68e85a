"""Privacy mode: in a group the bot gets only its commands, mentions, replies to it and notices."""

from __future__ import annotations

from bot.standins.telegram.chats import Chat
from bot.standins.telegram.entities import cut
from bot.standins.telegram.rules import Json
from bot.standins.telegram.state import TelegramState


def hears(state: TelegramState, place: Chat, message: Json) -> bool:
    """Whether a message reaches the bot."""
    if place.standing not in {"member", "administrator"}:
        return False
    if (
        place.type in {"private", "channel"}
        or place.standing == "administrator"
        or not state.privacy
    ):
        return True
    return not message.keys() & {"text", "photo", "document", "caption"} or _for_bot(state, message)


def _for_bot(state: TelegramState, message: Json) -> bool:
    name = f"@{state.bot['username']}".lower()
    replied = message.get("reply_to_message", {}).get("from", {}).get("id")
    if state.bot_id in {replied, message.get("via_bot", {}).get("id")}:
        return True
    text = str(message.get("text") or message.get("caption") or "")
    entities = message.get("entities") or message.get("caption_entities") or ()
    marks = [(mark["type"], cut(text, mark["offset"], mark["length"]).lower()) for mark in entities]
    commands = (word for kind, word in marks if kind == "bot_command")
    return ("mention", name) in marks or any(
        "@" not in word or word.endswith(name) for word in commands
    )
