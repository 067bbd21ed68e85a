"""The buttons below the bot's messages: their labels, and the data that a press carries."""

from __future__ import annotations

from telegram import InlineKeyboardButton, InlineKeyboardMarkup

from bot.texts import Language, text

REPEAT = "repeat"
RETRY = "retry"
COMPACT = "compact"
AGAIN = "again"


def button_below(name: str, token: int | str, language: Language) -> InlineKeyboardMarkup:
    """The one button below a message."""
    label = text(f"button_{name}", language)
    return InlineKeyboardMarkup([[InlineKeyboardButton(label, callback_data=f"{name}:{token}")]])
