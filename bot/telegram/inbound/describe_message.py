"""What a message says without words of its own: a place, a contact, a poll, a throw of dice, a
sticker, as a sentence.

The model reads these in square brackets, as it reads what stands beside the words: whom a forward
comes from. What has no description here is a kind we cannot read, and its person is told so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from telegram import (
    Checklist,
    Contact,
    Dice,
    Location,
    Message,
    MessageOrigin,
    MessageOriginChannel,
    MessageOriginChat,
    MessageOriginHiddenUser,
    MessageOriginUser,
    Poll,
    Sticker,
    Venue,
)

from bot.content import FORWARDED


def describe_message(message: Message) -> str:
    """The sentence for what a message carries; empty where it carries nothing that can be said in
    one.
    """
    for field, sentence in _SENTENCES.items():
        if (value := getattr(message, field)) is not None:
            return f"[{sentence(value)}]"
    return ""


def origin(message: Message) -> str:
    """Whom a forwarded message comes from; empty for one that is its sender's own."""
    came = message.forward_origin
    return f"{FORWARDED}{_name(came)}]" if came is not None else ""


def _name(came: MessageOrigin) -> str:
    match came:
        case MessageOriginUser(sender_user=user):
            return user.full_name
        case MessageOriginHiddenUser(sender_user_name=name):
            return name
        case MessageOriginChat(sender_chat=chat) | MessageOriginChannel(chat=chat):
            return chat.title or "a chat"
    return "somebody"


def _venue(venue: Venue) -> str:
    return f"venue: {venue.title}, {venue.address}, at {_point(venue.location)}"


def _location(location: Location) -> str:
    return f"location: {_point(location)}"


def _point(location: Location) -> str:
    return f"{location.latitude}, {location.longitude}"


def _contact(contact: Contact) -> str:
    name = " ".join(part for part in (contact.first_name, contact.last_name) if part)
    return f"contact: {name}, {contact.phone_number}"


def _poll(poll: Poll) -> str:
    return f"poll: {poll.question} Options: {'; '.join(option.text for option in poll.options)}"


def _dice(dice: Dice) -> str:
    return f"a throw of {dice.emoji}: {dice.value}"


def _sticker(sticker: Sticker) -> str:
    return f"sticker {sticker.emoji}" if sticker.emoji else "sticker"


def _checklist(checklist: Checklist) -> str:
    return f"checklist: {checklist.title}. {'; '.join(task.text for task in checklist.tasks)}"


_SENTENCES: Mapping[str, Callable[[Any], str]] = MappingProxyType(
    {
        "venue": _venue,  # before "location": Telegram sends both for one venue
        "location": _location,
        "contact": _contact,
        "poll": _poll,
        "dice": _dice,
        "sticker": _sticker,
        "checklist": _checklist,
    }
)
