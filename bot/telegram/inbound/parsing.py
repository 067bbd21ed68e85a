"""What was sent: an update becomes a part of a Question, a command, a press, or nothing.

Only a plain message or a press starts anything: an edit neither opens a Session nor runs a command
again (it waits as the message it has become, to be offered to its person), and a forwarded command
is somebody else's. In a group the bot hears what is meant for it (a command, a mention, a reply to
it) and nothing else.

Telegram's clients split a long paste into messages of 4096 units, milliseconds apart and without a
common mark. Pieces of one paste become one text block again, joined without a character between
them; other messages stay apart.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import pairwise

from telegram import Message, MessageEntity, Update

from bot.content import Block, words
from bot.ports import Kind, Part, Question
from bot.telegram.inbound.message_content import content_of, says, text_of, texts, unreadable
from bot.telegram.utf16 import utf16_len

PASTE_UNITS = 3900
PASTE_WITHIN = timedelta(seconds=5)

ALWAYS_SAID = {"unreadable_document", "file_too_large"}
"""Also where there are words beside it: who sends such a file believes that it is read."""


@dataclass(frozen=True, slots=True)
class Account:
    """The bot's own account, as `getMe` names it."""

    id: int
    username: str


@dataclass(frozen=True, slots=True)
class CommandText:
    """A command as it was typed.

    `addressed` is False where a group's other bots may be meant as well.
    """

    name: str
    argument: str
    addressed: bool


@dataclass(frozen=True, slots=True)
class Reading:
    """What a batch says: the question in it, if any, and the sentences about what could not be
    read.
    """

    question: Question | None
    unreadable: tuple[str, ...]


def kind_of(update: Update, account: Account) -> Kind | None:
    """What an update asks of us; None: nothing."""
    if update.callback_query is not None:
        return "press"
    if (edited := update.edited_message) is not None:
        is_words = (
            not _names_command(edited)
            and _is_meant_for(account, edited)
            and _says_something(edited)
        )
        return "edit" if is_words else None
    message = update.message
    if message is None:
        return None
    if _names_command(message):
        return "command" if command_of(message, account) is not None else None
    return "content" if _is_meant_for(account, message) and _says_something(message) else None


def gathers(update: Update) -> bool:
    """Whether more is likely to follow at once: a piece of a paste or of an album, a forward with
    its comment.
    """
    message = update.message
    return message is not None and (
        utf16_len(message.text or "") >= PASTE_UNITS
        or message.media_group_id is not None
        or message.forward_origin is not None
    )


def command_of(message: Message, account: Account) -> CommandText | None:
    """The command of a message; None where it is for another bot."""
    head, *rest = (message.text or "/").split(maxsplit=1)
    name, _, addressee = head.removeprefix("/").partition("@")
    if addressee and addressee.casefold() != account.username.casefold():
        return None
    private = message.chat.id > 0
    return CommandText(name.lower(), "".join(rest), addressed=private or bool(addressee))


def read(updates: Sequence[Update]) -> Reading:
    """The question of a batch of messages, in the order sent."""
    messages = [
        (update.update_id, update.message) for update in updates if update.message is not None
    ]
    said = {message.media_group_id for _, message in messages if text_of(message)} - {None}
    contents = [content_of(message) for _, message in messages]
    for at, ((_, earlier), (_, later)) in enumerate(pairwise(messages), start=1):
        if _continues(earlier, later):
            # The last piece carries the whole: if the first ones were answered before a crash,
            # nothing is missing.
            contents[at - 1], contents[at] = (), _joined(contents[at - 1], contents[at])
    parts = tuple(
        Part(update_id, content, message.date)
        for (update_id, message), content in zip(messages, contents, strict=True)
    )
    unread = [
        key
        for _, message in messages
        if (key := unreadable(message)) and _is_said(key, message, said)
    ]
    is_question = any(says(message) for _, message in messages)
    return Reading(Question(parts) if is_question else None, tuple(dict.fromkeys(unread)))


def _is_said(key: str, message: Message, said: Container[str | None]) -> bool:
    """Whether its person is told: not where the model answers the words beside it, and knows what
    it cannot see.
    """
    return key in ALWAYS_SAID or not (says(message) or message.media_group_id in said)


def _says_something(message: Message) -> bool:
    return says(message) or unreadable(message) is not None


def _names_command(message: Message) -> bool:
    starts = any(
        entity.type == MessageEntity.BOT_COMMAND and entity.offset == 0
        for entity in message.entities
    )
    return starts and message.forward_origin is None


def _is_meant_for(account: Account, message: Message) -> bool:
    return message.chat.id > 0 or _replies_to(account, message) or _mentions(account, message)


def _replies_to(account: Account, message: Message) -> bool:
    # In a topic, a message that replies to nothing "replies" to the service message that opened the
    # topic.
    to = message.reply_to_message
    return (
        to is not None
        and to.from_user is not None
        and to.from_user.id == account.id
        and not to.forum_topic_created
    )


def _mentions(account: Account, message: Message) -> bool:
    kinds: list[str | None] = [MessageEntity.MENTION, MessageEntity.TEXT_MENTION]
    found: Iterable[tuple[MessageEntity, str]] = (
        *message.parse_entities(kinds).items(),
        *message.parse_caption_entities(kinds).items(),
    )
    return any(
        entity.user.id == account.id
        if entity.user
        else name.casefold() == f"@{account.username}".casefold()
        for entity, name in found
    )


def _continues(earlier: Message, later: Message) -> bool:
    return (
        utf16_len(earlier.text or "") >= PASTE_UNITS
        and later.text is not None
        and later.forward_origin is None
        and later.reply_to_message is None
        and later.date - earlier.date <= PASTE_WITHIN
    )


def _joined(first: tuple[Block, ...], second: tuple[Block, ...]) -> tuple[Block, ...]:
    """The pieces as one text. A tag of ours may have been cut in two between them."""
    return (*first[:-1], *texts(words((*first[-1:], *second))))
