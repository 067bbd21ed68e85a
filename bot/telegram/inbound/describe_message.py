"""What a message says without words of its own: a place, a contact, a poll, a throw of dice, a
sticker, a checklist, as a sentence.

The model reads these in square brackets, as it reads what stands beside the words: whom a forward
comes from. They are read from the raw object, field by field: an older or newer server may leave
one out or send one more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType

from telegram import (
    Message,
    MessageOrigin,
    MessageOriginChannel,
    MessageOriginChat,
    MessageOriginHiddenUser,
    MessageOriginUser,
    TelegramObject,
)

from bot.content import FORWARDED, Json
from bot.telegram.inbound.fields import BROKEN


def describe_message(message: TelegramObject) -> str:
    """The sentence for what a message, or the message it answers in another chat, carries; empty
    where it carries nothing that can be said in one.
    """
    for field, sentence in _SENTENCES.items():
        if (value := raw_field(message, field)) is not None and (said := sentence(value)):
            return f"[{said}]"
    return ""


def raw_field(message: TelegramObject, field: str) -> Json | None:
    """An object inside a message, as it came."""
    value = getattr(message, field, None)
    if isinstance(value, TelegramObject):
        return value.to_dict()
    kept = message.api_kwargs
    raw = kept.get(field, kept.get(f"{field}{BROKEN}"))
    return raw if isinstance(raw, Mapping) else None


def origin(message: Message) -> str:
    """Whom a forwarded message comes from; empty for one that is its sender's own."""
    came = message.forward_origin
    return f"{FORWARDED}{name_of(came)}]" if came is not None else ""


def name_of(came: MessageOrigin) -> str:
    """Who wrote a message first."""
    match came:
        case MessageOriginUser(sender_user=user):
            return user.full_name
        case MessageOriginHiddenUser(sender_user_name=name):
            return name
        case MessageOriginChat(sender_chat=chat) | MessageOriginChannel(chat=chat):
            return chat.title or "a chat"
    return "somebody"


def _said(value: Json, *fields: str, between: str = ", ") -> str:
    """Those of the fields that hold something, in one line."""
    return between.join(str(value[field]) for field in fields if value.get(field))


def _among(value: Json, field: str) -> Iterator[Json]:
    """The objects of a list."""
    found = value.get(field)
    listed = found if isinstance(found, Sequence) and not isinstance(found, str) else ()
    return (one for one in listed if isinstance(one, Mapping))


def _inside(value: Json, field: str) -> Json:
    inner = value.get(field)
    return inner if isinstance(inner, Mapping) else {}


def _venue(venue: Json) -> str:
    where = _point(_inside(venue, "location"))
    return ", ".join(
        filter(None, (f"venue: {_said(venue, 'title', 'address')}", where and f"at {where}"))
    )


def _location(location: Json) -> str:
    kind = "live location" if location.get("live_period") else "location"
    return f"{kind}: {point}" if (point := _point(location)) else ""


def _point(location: Json) -> str:
    latitude, longitude = location.get("latitude"), location.get("longitude")
    return "" if latitude is None or longitude is None else f"{latitude}, {longitude}"


def _contact(contact: Json) -> str:
    name = _said(contact, "first_name", "last_name", between=" ")
    return f"contact: {', '.join(filter(None, (name, _said(contact, 'phone_number'))))}"


def _poll(poll: Json) -> str:
    options = "; ".join(_said(option, "text") for option in _among(poll, "options"))
    asked = _said(poll, "question", "description", between=" ")
    return f"poll: {asked} Options: {options}" if options else f"poll: {asked}"


def _dice(dice: Json) -> str:
    return f"a throw of {_said(dice, 'emoji') or 'dice'}: {dice.get('value', 'unknown')}"


def _sticker(sticker: Json) -> str:
    return f"sticker {_said(sticker, 'emoji')}".strip()


def _checklist(checklist: Json) -> str:
    tasks = (
        f"[{'x' if is_done(task) else ' '}] {_said(task, 'text')}"
        for task in _among(checklist, "tasks")
    )
    return f"checklist: {_said(checklist, 'title')}. {'; '.join(tasks)}"


def is_done(task: Json) -> bool:
    """Whether a task of a checklist is ticked."""
    return any(
        task.get(field) for field in ("completed_by_user", "completed_by_chat", "completion_date")
    )


def _gift(gift: Json) -> str:
    name = _said(_inside(gift, "gift"), "base_name", "name")
    named = f"a gift: {name}" if name else "a gift"
    return ", with the words: ".join(filter(None, (named, _said(gift, "text"))))


def _invoice(invoice: Json) -> str:
    return f"invoice: {_said(invoice, 'title', 'description')}"


_SENTENCES: Mapping[str, Callable[[Json], str]] = MappingProxyType(
    {
        "venue": _venue,  # before "location": Telegram sends both for one venue
        "location": _location,
        "contact": _contact,
        "poll": _poll,
        "dice": _dice,
        "sticker": _sticker,
        "checklist": _checklist,
        "gift": _gift,
        "unique_gift": _gift,
        "invoice": _invoice,
    }
)
