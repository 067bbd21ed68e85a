"""Who sent an update, and where: the only place that makes an Owner.

An Owner is a real person who wrote a message or pressed a button. Telegram also delivers updates in
nobody's name (channel posts, polls), in somebody else's name (business and guest messages), and
from ids that many people share (anonymous admins, people who post as a channel, forwards from a
linked channel). None of those becomes an Owner; the shared ones get a hint where a person can act
on it. `effective_user` is of no use here: it does not tell them apart.

A topic counts only where Telegram says `is_topic_message`: a reply chain in a plain group carries a
thread id as well, and a send with it fails. The General topic is the group itself.
"""

from __future__ import annotations

from dataclasses import dataclass

from telegram import CallbackQuery, MaybeInaccessibleMessage, Message, Update, User
from telegram.constants import ChatID, ChatMemberStatus, ChatType

from bot.owner import Lane, Owner, Place
from bot.settings import SHARED_IDS
from bot.texts import Language, language_of

GENERAL_TOPIC = 1
MAX_DRAFT = 2**53
_OUTSIDE = frozenset({ChatMemberStatus.LEFT, ChatMemberStatus.BANNED})


@dataclass(frozen=True, slots=True)
class Sender:
    """A person, the Place they spoke in, and the language to speak to them."""

    owner: Owner
    place: Place
    language: Language


@dataclass(frozen=True, slots=True)
class Refusal:
    """A message from an id that many people share: nobody's Session, at most the sentence named by
    `key`.
    """

    place: Place
    language: Language
    key: str = "anonymous_hint"


@dataclass(frozen=True, slots=True)
class Stop:
    """The Stop button under the draft of a turn was pressed, or its reader has gone, from all
    topics of the chat.
    """

    lane: Lane
    turn: int
    in_all_topics: bool = False


@dataclass(frozen=True, slots=True)
class Contact:
    """Somebody lets the bot speak to them in private, or has blocked it."""

    owner: Owner
    is_open: bool


def contact(update: Update) -> Contact | None:
    """Who has blocked or unblocked the bot."""
    if (moved := update.my_chat_member) is None or moved.chat.type != ChatType.PRIVATE:
        return None
    sender = _sender(moved.from_user, Place(moved.chat.id))
    return Contact(sender.owner, moved.new_chat_member.status not in _OUTSIDE) if sender else None


def stop_of(update: Update) -> Stop | None:
    """A press on Stop. It names nobody, but only the person whose private chat it is can have
    pressed it.

    Who blocks the bot will not read what it is writing: that stops whatever runs.
    """
    if (found := contact(update)) is not None:
        return (
            None
            if found.is_open
            else Stop(
                Lane(found.owner, Place(found.owner.id)), update.update_id, in_all_topics=True
            )
        )
    pressed = update.api_kwargs.get("stopped_message_generation")
    if (
        not pressed
        or pressed["chat"]["type"] != ChatType.PRIVATE
        or pressed["chat"]["id"] in SHARED_IDS
    ):
        return None
    if type(pressed["draft_id"]) is not int or not 0 < pressed["draft_id"] < MAX_DRAFT:
        raise ValueError("it names no draft")  # among several stops at once the greatest counts
    owner, thread = Owner(pressed["chat"]["id"]), pressed.get("message_thread_id")
    return Stop(
        Lane(owner, Place(owner.id, None if thread == GENERAL_TOPIC else thread)),
        pressed["draft_id"],
    )


def inviter(update: Update) -> Sender | None:
    """Who has just brought the bot into a group or channel; None for any other update, and where it
    cannot be told.
    """
    moved = update.my_chat_member
    if moved is None or moved.chat.type == ChatType.PRIVATE:
        return None
    was_in, is_in = (
        member.status not in _OUTSIDE for member in (moved.old_chat_member, moved.new_chat_member)
    )
    return _sender(moved.from_user, Place(moved.chat.id)) if is_in and not was_in else None


def identify(update: Update) -> Sender | Refusal | None:
    """The sender of a message, an edit or a press; None where there is nobody to speak to."""
    if (query := update.callback_query) is not None:
        return _of_press(query)
    message = update.message or update.edited_message
    return None if message is None else _of_message(message)


def _of_message(message: Message) -> Sender | Refusal | None:
    if _speaks_for_another(message):
        return None
    user, place = message.from_user, _place(message)
    if user is None or message.is_automatic_forward or user.id == ChatID.SERVICE_CHAT:
        return None
    if message.sender_chat is not None or user.id in SHARED_IDS:
        return Refusal(place, language_of(user.language_code))
    return _sender(user, place)


def _of_press(query: CallbackQuery) -> Sender | None:
    """A press carries the real id even of a person whose messages are anonymous."""
    shown = query.message
    if shown is None or (isinstance(shown, Message) and _speaks_for_another(shown)):
        return None
    return _sender(query.from_user, _place(shown))


def _speaks_for_another(message: Message) -> bool:
    return (
        message.chat.type == ChatType.CHANNEL
        or bool(message.chat.is_direct_messages)
        or message.business_connection_id is not None
        or message.sender_business_bot is not None
        or message.guest_query_id is not None
    )


def _sender(user: User, place: Place) -> Sender | None:
    if user.is_bot or user.id in SHARED_IDS or (place.is_private and place.chat_id != user.id):
        return None
    return Sender(Owner(user.id), place, language_of(user.language_code))


def _place(message: MaybeInaccessibleMessage) -> Place:
    if (
        isinstance(message, Message)
        and message.is_topic_message
        and message.message_thread_id != GENERAL_TOPIC
    ):
        return Place(message.chat.id, message.message_thread_id)
    return Place(message.chat.id)
