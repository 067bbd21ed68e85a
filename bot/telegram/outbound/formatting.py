"""The model's Markdown as Telegram shows it: plain text and entities, never MarkdownV2 or HTML.

Formatting is a courtesy: where it would cost more than it is worth (a huge or hostile text), or
fails in whatever way, the answer goes out as it was written, and no longer than three times that.
"""

from __future__ import annotations

import asyncio
import logging

from telegram import MessageEntity

from bot.content import clean
from bot.telegram.outbound.markdown_blocks import File, pieces
from bot.telegram.outbound.rendering import TooMuch, render
from bot.telegram.outbound.splitting import Chunk, is_visible, split

log = logging.getLogger(__name__)

MAX_FORMATTED_CHARS = 60_000
MAX_CHARS_ON_THE_LOOP = 2_000
FEW_PARTS = 3
SCATTERED = 2
"""How many times more parts than the text alone would take are too many to pay for its
formatting.
"""


async def chunks_of(markdown: str) -> tuple[Chunk, ...]:
    """The parts of an answer.

    A long one is converted in a thread, so that nobody else waits for it.
    """
    if len(markdown) <= MAX_CHARS_ON_THE_LOOP:
        return format_chunks(markdown)
    return await asyncio.to_thread(format_chunks, markdown)


def format_chunks(markdown: str) -> tuple[Chunk, ...]:
    """The parts of an answer, formatted where that is possible."""
    source = clean(markdown)
    try:
        return tuple(
            chunk
            for piece in pieces(source)
            for chunk in (
                (Chunk(piece.label, file=piece),)
                if isinstance(piece, File)
                else _text_chunks(piece)
            )
        )
    except BaseException as failure:  # a panic of the parser is no Exception
        if isinstance(failure, KeyboardInterrupt | SystemExit | asyncio.CancelledError):
            raise
        log.error("an answer is sent plain: %s", type(failure).__name__)  # noqa: TRY400 - a traceback may quote it
        return split(source)


def _text_chunks(source: str) -> tuple[Chunk, ...]:
    chunks = split(*formatted(source))
    if len(chunks) <= FEW_PARTS and not any(chunk.entities for chunk in chunks):
        return chunks
    plain = split(source)
    return (
        plain
        if len(chunks) > max(FEW_PARTS, (len(plain) > FEW_PARTS) * SCATTERED * len(plain))
        else chunks
    )


def formatted(markdown: str) -> tuple[str, tuple[MessageEntity, ...]]:
    """An answer as text and entities, of any length; as it was written where it cannot be
    formatted.
    """
    if len(markdown) > MAX_FORMATTED_CHARS:
        return markdown, ()
    try:
        text, entities = render(markdown)
    except TooMuch as reason:
        log.debug("an answer is shown as it was written: %s", reason)
        return markdown, ()
    is_bounded = len(text) <= 3 * len(markdown) + 200
    return (text, entities) if is_bounded and is_visible(text) else (markdown, ())
