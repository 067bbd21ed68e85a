"""What the model reads of one message: what it answers, whom it comes from, what it carries, its
words.

Whatever comes from outside passes the one escape here, so nothing in it passes for the program's.
"""

from __future__ import annotations

from collections.abc import Mapping

from telegram import Message

from bot.content import Block, FileBlock, text_block
from bot.own_tags import escape_tags
from bot.telegram.inbound.addresses import with_addresses
from bot.telegram.inbound.describe_message import describe_message, name_of, origin
from bot.telegram.inbound.fields import unreadable_key
from bot.telegram.inbound.incoming_files import file_blocks, is_too_large
from bot.telegram.inbound.rich_message import rich_words

QUOTE_CHARS = 1000


def content_of(message: Message, words: str | None = None) -> tuple[Block, ...]:
    """What the model reads of a message; `words`: instead of its own."""
    files = [file] if (file := file_blocks(message)) else []
    said = [describe_message(message), _unseen(message)]
    before = [*texts(_answered(message)), *_answered_file(message), *texts(origin(message), *said)]
    return (*before, *files, *texts(text_of(message) if words is None else words))


def texts(*said: str) -> list[Block]:
    """The texts that say something; none of them can write a tag of ours."""
    return [text_block(escape_tags(one)) for one in said if one.strip()]


def text_of(message: Message) -> str:
    """Its text, caption or rich message, with the addresses under the words; empty when that is
    blank.
    """
    if message.text:
        said = with_addresses(message.text, message.entities)
    elif message.caption:
        said = with_addresses(message.caption, message.caption_entities)
    else:
        said = rich_words(message.api_kwargs.get("rich_message"))
    return said if said.strip() else ""


def says(message: Message) -> bool:
    """Whether there is anything in it that can be read."""
    return bool(text_of(message) or describe_message(message) or file_blocks(message))


def unreadable(message: Message) -> str | None:
    """Names the sentence for what cannot be read; None where everything can, or nothing is said."""
    if file_blocks(message) is not None:
        return None
    if is_too_large(message):
        return "file_too_large"
    return unreadable_key(message, has_words=says(message))


def _unseen(message: Message) -> str:
    key = unreadable(message)
    kind = {"file_too_large": "file", "unreadable_other": "something"}.get(
        key or "", (key or "").partition("_")[2]
    )
    return f"[{kind} attached; you cannot open it]" if kind else ""


def _answered_file(message: Message) -> list[Block]:
    """The file of the message that is answered: "what is this?" is asked about a picture sent
    before, here or in another chat.
    """
    file: FileBlock | None = None
    if message.reply_to_message is not None:
        file = file_blocks(message.reply_to_message)
    elif message.external_reply is not None:
        file = file_blocks(message.external_reply)
    if file is None:
        return []
    file.pop("album", None)
    return [text_block("[it answers a message with this file:]"), file]


def _answered(message: Message) -> str:
    """What the message replies to, marked as a quotation line by line, and where it was said."""
    quoted = _quoted(message)
    shortened = quoted if len(quoted) <= QUOTE_CHARS else f"{quoted[:QUOTE_CHARS]}…"
    lines = [f"> {line}" for line in shortened.strip().splitlines()]
    return "\n".join([*_elsewhere(message), *lines])


def _quoted(message: Message) -> str:
    if message.quote is not None:
        return with_addresses(message.quote.text, message.quote.entities or ())
    if (to := message.reply_to_message) is not None:
        return text_of(to) or describe_message(to)
    if (other := message.external_reply) is not None:
        return rich_words(other.api_kwargs.get("rich_message")) or describe_message(other)
    return ""


def _elsewhere(message: Message) -> list[str]:
    """Who said what is answered, where that was in another chat."""
    other = message.external_reply
    if other is None:
        is_broken = isinstance(message.api_kwargs.get("external_reply_broken"), Mapping)
        return ["[in answer to a message in another chat:]"] if is_broken else []
    where = f" in {other.chat.title}" if other.chat is not None and other.chat.title else ""
    return [f"[in answer to a message of {name_of(other.origin)}{where}, from another chat:]"]
