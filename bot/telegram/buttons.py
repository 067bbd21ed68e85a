"""The buttons under the bot's messages: what is written on them, and what a press asks for.

A button carries its name and a token, which come back from the client and are no authority: what they name is looked up
among what belongs to whoever pressed, in the Place where it was pressed. To anybody else the button has expired.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from telegram import InlineKeyboardButton, InlineKeyboardMarkup

from bot.owner import Lane
from bot.ports import SessionStore
from bot.texts import Language, text

REPEAT = "repeat"
MOST_DIGITS = 18
"""Of a number that MongoDB can hold."""

Found = Callable[[SessionStore, Lane, str], Awaitable[str]]
"""The words that a press asks for; empty where there are none for this person here."""


def under(name: str, token: int, language: Language) -> InlineKeyboardMarkup:
    """A message's one button."""
    label = text(f"button_{name}", language)
    return InlineKeyboardMarkup([[InlineKeyboardButton(label, callback_data=f"{name}:{token}")]])


async def pressed(sessions: SessionStore, lane: Lane, carried: str) -> str:
    """What to say to whoever pressed a button that carried this; empty where it has expired."""
    name, _, token = carried.partition(":")
    return await _BUTTONS[name](sessions, lane, token) if name in _BUTTONS else ""


async def _repeat(sessions: SessionStore, lane: Lane, token: str) -> str:
    """An answer whose delivery was uncertain, as long as it is among the messages of its Session."""
    if not (token.isascii() and token.isdigit() and len(token) <= MOST_DIGITS):
        return ""
    session = await sessions.having(lane.owner, [int(token)])
    return session.answer_to(int(token)) if session is not None and session.place == lane.place else ""


_BUTTONS: dict[str, Found] = {REPEAT: _repeat}
