"""Reply markup: what Telegram accepts under a message."""

from __future__ import annotations

from typing import Any

from bot.standins.telegram.links import WrongLink, checked_link
from bot.standins.telegram.rules import (
    BUTTONS,
    BUTTONS_PER_ROW,
    CALLBACK_BYTES,
    COPY_TEXT,
    Json,
    bad,
)

ACTIONS = (
    "callback_data", "url", "copy_text", "web_app", "login_url", "switch_inline_query",
    "switch_inline_query_current_chat", "switch_inline_query_chosen_chat", "callback_game", "pay",
)  # fmt: skip
OTHERS = ("keyboard", "remove_keyboard", "force_reply")
PARSE = "can't parse inline keyboard button: "


def checked_markup(markup: Any) -> Json | None:
    """The markup a message shows; None for none, and for an inline keyboard without buttons."""
    if markup in (None, "", {}):
        return None
    if not isinstance(markup, dict) or not any(
        key in markup for key in ("inline_keyboard", *OTHERS)
    ):
        raise bad("can't parse reply keyboard markup JSON object")
    if "inline_keyboard" not in markup:
        return markup
    rows = [_row(row) for row in _array(markup["inline_keyboard"])]
    kept = [row for row in rows if row]
    if sum(map(len, kept)) > BUTTONS or any(len(row) > BUTTONS_PER_ROW for row in kept):
        raise bad("reply markup is too long")
    return {"inline_keyboard": kept} if kept else None


def _array(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise bad("can't parse inline keyboard: expected an Array of Array")
    return value


def _row(row: Any) -> list[Json]:
    return [_button(button) for button in _array(row)]


def _button(button: Any) -> Json:
    if not isinstance(button, dict):
        raise bad(f"{PARSE}expected an Object")
    if not isinstance(button.get("text"), str):
        raise bad(f'{PARSE}can\'t find field "text"')
    action = next((name for name in ACTIONS if name in button), None)
    if action is None or not button["text"].strip():
        raise bad(f"{PARSE}Text buttons are unallowed in the inline keyboard")
    if action in _CHECKS:
        _CHECKS[action](button[action])
    return button


def _callback(value: Any) -> None:
    if not isinstance(value, str) or not 1 <= len(value.encode()) <= CALLBACK_BYTES:
        raise bad("BUTTON_DATA_INVALID")


def _url(value: Any) -> None:
    try:
        checked_link(str(value))
    except WrongLink as wrong:
        raise bad(f"inline keyboard button URL '{value}' is invalid: {wrong}") from None


def _copy(value: Any) -> None:
    text = value.get("text") if isinstance(value, dict) else None
    if not isinstance(text, str) or not 1 <= len(text) <= COPY_TEXT:
        raise bad("BUTTON_COPY_TEXT_INVALID")


_CHECKS = {"callback_data": _callback, "url": _url, "copy_text": _copy}
