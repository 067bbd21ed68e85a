"""The model's Markdown as Telegram shows it: plain text and entities, never MarkdownV2 or HTML.

The conversion is telegramify-markdown's. Added here: raw HTML that stands in the text is kept (the library drops it,
and with it the `<String>` of every `List<String>`), and so is a list of sources nobody refers to; links Telegram would
refuse or that mention people lose their entity and keep their text; an answer that converts to nothing is sent as it
was written. Formatting is a courtesy: where it would cost more than it is worth (a huge or hostile text), the plain
text goes out instead. What no phone can show as it is (`blocks`) takes another form.
"""

from __future__ import annotations

import asyncio
import re
from functools import cache
from itertools import accumulate, pairwise
from typing import Any
from urllib.parse import urlsplit

import pyromark
from telegram import MessageEntity
from telegramify_markdown import RenderConfig, convert, utf16_len

from bot.session import clean
from bot.telegram.blocks import OPTIONS, File, pieces, with_narrow_tables
from bot.telegram.formulas import readable
from bot.telegram.splitting import PART_UNITS, Chunk, is_visible, split

LONGEST_FORMATTED = 60_000
LONGEST_ON_THE_LOOP = 4_000
DEEPEST = 50
"""Lists and quotations inside each other; each item is indented as deep as it lies, so thousands would be a flood."""
ESCAPING_ROUNDS = 20
SCATTERED = 4
"""How many times more parts than the text alone would take are too many to pay for its formatting."""

LEFT_OUT = frozenset({MessageEntity.UNDERLINE, MessageEntity.CUSTOM_EMOJI})
"""Headings are underlined as well as bold, which looks like a link; a custom emoji needs rights the bot may lack."""

_HOST = re.compile(r"[\w.-]*\w\.[\w-]+|[\da-f:.]*:[\da-f:.]*")


async def chunks_of(markdown: str) -> tuple[Chunk, ...]:
    """The parts of an answer. A long one is converted in a thread, so that nobody else waits for it."""
    if len(markdown) <= LONGEST_ON_THE_LOOP:
        return format_chunks(markdown)
    return await asyncio.to_thread(format_chunks, markdown)


def format_chunks(markdown: str) -> tuple[Chunk, ...]:
    """The parts of an answer, formatted where that is possible."""
    return tuple(
        chunk
        for piece in pieces(clean(markdown))
        for chunk in ((Chunk(piece.label, file=piece),) if isinstance(piece, File) else _text_chunks(piece))
    )


def _text_chunks(source: str) -> tuple[Chunk, ...]:
    text, entities = formatted(source)
    chunks = split(text, entities)
    is_scattered = len(chunks) > SCATTERED * (utf16_len(text) // PART_UNITS + 1)
    return split(source) if is_scattered else chunks


def formatted(markdown: str) -> tuple[str, tuple[MessageEntity, ...]]:
    """An answer as text and entities, of any length; without entities where it cannot be formatted."""
    escaped = _escaped(markdown) if len(markdown) <= LONGEST_FORMATTED else None
    if escaped is None or _depth(escaped) > DEEPEST:
        return markdown, ()
    text, found = convert(with_narrow_tables(escaped), config=_config())
    if not is_visible(text):
        return markdown, ()
    text, moved = readable(text)
    entities = (
        MessageEntity(
            e.type, moved(e.offset), moved(e.offset + e.length) - moved(e.offset), url=e.url, language=e.language
        )
        for e in found
        if e.type not in LEFT_OUT and (e.type != MessageEntity.TEXT_LINK or is_safe_link(e.url or ""))
    )
    return text, tuple(entities)


def is_safe_link(url: str) -> bool:
    """Whether Telegram takes this address in a text link, and it mentions nobody."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        return False
    if any(sign.isspace() or not sign.isprintable() for sign in url):
        return False
    if parts.scheme == "tg":
        return host not in {"", "user"}
    return parts.scheme in {"http", "https"} and _HOST.fullmatch(host) is not None


@cache
def _config() -> RenderConfig:
    """Quiet symbols: the library's own are a pushpin, a pencil and books in front of headings."""
    config = RenderConfig.isolated()
    for level in range(1, 7):
        setattr(config.markdown_symbol, f"heading_level_{level}", "")
    config.markdown_symbol.unordered_list_item = "•"
    return config


def _escaped(markdown: str) -> str | None:
    """`markdown` with the start of everything escaped that would vanish; None where that does not come to an end.

    What was inside a block of HTML is parsed only when the block is none any more, hence the rounds.
    """
    source = markdown.encode()
    for _ in range(ESCAPING_ROUNDS):
        places = _vanishing(source)
        if not places:
            return source.decode()
        source = b"\\".join(source[a:b] for a, b in pairwise([0, *places, len(source)]))
    return None


def _vanishing(source: bytes) -> list[int]:
    """Where raw HTML opens, and where an address is defined that no link uses."""
    text = source.decode()
    html: set[int] = set()
    used: set[str] = set()
    for event, span in pyromark.events_with_range(text, options=OPTIONS):
        if not isinstance(event, dict):
            continue
        if "Html" in event or "InlineHtml" in event:
            html.update(at for at in range(span["start"], span["end"]) if source[at : at + 1] == b"<")
        used.add(_label(event.get("Start")))
    definitions = pyromark.reference_definitions(text, options=OPTIONS) if "]:" in text else {}
    unused = {found["span"]["start"] for label, found in definitions.items() if label.casefold() not in used}
    return sorted(html | unused)


def _depth(markdown: str) -> int:
    """How many elements of it lie inside each other."""
    events = (event for event in pyromark.events(markdown, options=OPTIONS) if isinstance(event, dict))
    return max(accumulate(("Start" in event) - ("End" in event) for event in events), default=0)


def _label(start: Any) -> str:
    """The label a link or an image refers to its address by."""
    tag = start if isinstance(start, dict) else {}
    return str((tag.get("Link") or tag.get("Image") or {}).get("id", "")).casefold()
