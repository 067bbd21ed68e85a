"""An update as the library reads it, also where it cannot read all of it.

A server that is older or newer than the library leaves out a field that it insists on, or sends one
in another shape; it would refuse the whole update for that. Here what cannot be read is set aside
under a name of its own, where `api_kwargs` keeps it raw, and the rest is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from telegram import Message, Update

from bot.content import Json
from bot.telegram.inbound.fields import BROKEN

Readable = TypeVar("Readable", Update, Message)

_MESSAGES = ("message", "edited_message")
_INSIDE = ("reply_to_message", "pinned_message")
_NEEDED = frozenset({"message_id", "date", "chat", "from"})


def as_update(raw: Json) -> Update:
    """The update. Raises whatever the library raises where even its frame cannot be read."""
    try:
        return _read(Update, raw)
    except Exception:  # noqa: BLE001 - the library has no error of its own for what it cannot read
        return _read(Update, {name: _payload(name, value) for name, value in raw.items()})


def _payload(name: str, value: object) -> object:
    if not isinstance(value, Mapping):
        return value
    if name == "callback_query" and isinstance(value.get("message"), Mapping):
        return {**value, "message": _mended(value["message"])}
    return _mended(value) if name in _MESSAGES else value


def _mended(message: Json) -> dict[str, object]:
    """The message, with each field under another name that cannot be read by itself."""
    frame = {name: value for name, value in message.items() if name in _NEEDED}
    mended = dict(frame)
    for name, value in message.items():
        if name in frame:
            continue
        if name in _INSIDE and isinstance(value, Mapping):
            inner = _mended(value)
            mended[name if _is_readable(inner, {}) else f"{name}{BROKEN}"] = inner
        elif _is_readable(frame, {name: value}):
            mended[name] = value
        else:
            mended[f"{name}{BROKEN}"] = value
    return mended


def _is_readable(frame: Json, field: Json) -> bool:
    try:
        _read(Message, {**frame, **field})
    except Exception:  # noqa: BLE001 - as above
        return False
    return True


def _read(kind: type[Readable], raw: Json) -> Readable:
    return kind.de_json(dict(raw))
