"""The buttons below the bot's messages: their labels, and the data that a press carries."""

from __future__ import annotations

from telegram import InlineKeyboardButton, InlineKeyboardMarkup

from bot.texts import Language, text

REPEAT = "repeat"
RETRY = "retry"
COMPACT = "compact"
AGAIN = "again"
TAKE = "take"
OPEN = "open"
RENAME = "rename"
DELETE = "delete"
ERASE = "erase"
PAGE = "page"


def button_below(name: str, token: int | str, language: Language) -> InlineKeyboardMarkup:
    """The one button below a message."""
    return InlineKeyboardMarkup([[button(name, token, language)]])


def button(
    name: str, token: int | str, language: Language, *, label: str = "", **values: str
) -> InlineKeyboardButton:
    """A button labelled with the text of its name, or of the key `label`."""
    words = text(label or f"button_{name}", language, **values)
    return InlineKeyboardButton(words, callback_data=f"{name}:{token}")
