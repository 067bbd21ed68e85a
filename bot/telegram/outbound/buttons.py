"""The buttons under the bot's messages: what is written on them, and what a press of one
carries.
"""

from __future__ import annotations

from telegram import InlineKeyboardButton, InlineKeyboardMarkup

from bot.texts import Language, text

REPEAT = "repeat"
RETRY = "retry"
COMPACT = "compact"
AGAIN = "again"


def under(name: str, token: int | str, language: Language) -> InlineKeyboardMarkup:
    """A message's one button."""
    label = text(f"button_{name}", language)
    return InlineKeyboardMarkup([[InlineKeyboardButton(label, callback_data=f"{name}:{token}")]])
