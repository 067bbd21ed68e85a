"""Entities of a text: offsets in UTF-16 units, what Telegram finds by itself, and how it mends what
it is given.

After `mended` the entities are sorted, properly nested, without duplicates and empties; code
swallows what lies inside it; links and mentions never overlap each other. Offsets that do not fit
the text are refused, never mended.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from bot.standins.telegram.rules import ENTITIES_SHOWN, Json, bad

STYLES = ("bold", "italic", "underline", "strikethrough", "spoiler")
CODES = ("code", "pre")
QUOTES = ("blockquote", "expandable_blockquote")
LINKS = ("text_link", "text_mention", "custom_emoji")
FOUND = ("mention", "hashtag", "cashtag", "bot_command", "url", "email", "phone_number")
RANK = {name: rank for rank, name in enumerate((*QUOTES, "pre", "code", *LINKS, *FOUND, *STYLES))}

_PATTERNS = (
    (
        "bot_command",
        re.compile(r"(?<![\w/<>])/[A-Za-z0-9_]{1,64}(?:@[A-Za-z0-9_]{3,32})?(?![\w/<>])"),
    ),
    (
        "email",
        re.compile(
            r"(?<![\w.@/-])[A-Za-z0-9_.+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}(?!\w)"
        ),
    ),
    (
        "url",
        re.compile(
            r"(?<![\w@/])(?:https?://[^\s<>\"»]+[^\s<>\"».,;:!?'()\]]|(?:t\.me|telegram\.me)/\w+)"
        ),
    ),
    ("mention", re.compile(r"(?<!\w)@[A-Za-z0-9_]{2,32}(?!\w)")),
    ("hashtag", re.compile(r"(?<![\w#])#(?=\w*[^\W\d_])\w{1,256}(?![\w#])")),
    ("cashtag", re.compile(r"(?<![\w$])\$[A-Z]{1,8}(?![\w$])")),
)


BMP = 0xFFFF
"""Above it a character takes two UTF-16 units."""


def units(text: str) -> int:
    """The length Telegram counts: UTF-16 code units."""
    return len(text) + sum(ord(char) > BMP for char in text)


def cut(text: str, offset: int, length: int) -> str:
    """The part of `text` an entity covers."""
    return text.encode("utf-16-le", "surrogatepass")[2 * offset : 2 * (offset + length)].decode(
        "utf-16-le", "replace"
    )


@dataclass(frozen=True, slots=True)
class Entity:
    """One piece of formatting."""

    type: str
    offset: int
    length: int
    url: str = ""
    language: str = ""
    custom_emoji_id: str = ""
    user_id: int = 0

    @property
    def end(self) -> int:
        """Where it ends, in UTF-16 units."""
        return self.offset + self.length

    def json(self) -> Json:
        """As the Bot API shows it."""
        found: Json = {"type": self.type, "offset": self.offset, "length": self.length}
        for name in ("url", "language", "custom_emoji_id"):
            if value := getattr(self, name):
                found[name] = value
        if self.user_id:
            found["user"] = {"id": self.user_id, "is_bot": False, "first_name": str(self.user_id)}
        return found


def detected(text: str) -> list[Entity]:
    """What Telegram finds in plain text by itself."""
    found: list[Entity] = []
    for kind, pattern in _PATTERNS:
        for match in pattern.finditer(text):
            entity = Entity(kind, units(text[: match.start()]), units(match.group()))
            if not any(overlap(entity, other) for other in found):
                found.append(entity)
    return sorted(found, key=_order)


def overlap(one: Entity, other: Entity) -> bool:
    """Whether they share a unit."""
    return one.offset < other.end and other.offset < one.end


def check_bounds(text: str, entities: Iterable[Entity]) -> None:
    """Refuse entities that leave the text or cut a character in two."""
    starts = _starts(text)
    end = units(text)
    for entity in entities:
        if entity.offset >= end:
            raise bad(f"entity begins after the end of the text at UTF-16 offset {entity.offset}")
        if entity.end > end:
            raise bad(
                f"entity beginning at UTF-16 offset {entity.offset} ends after the end of the "
                f"text at UTF-16 offset "
                f"{entity.end}"
            )
        if entity.offset not in starts:
            raise bad(
                f"entity begins in a middle of a UTF-16 symbol at byte offset "
                f"{_byte(text, entity.offset)}"
            )
        if entity.end not in starts:
            raise bad(
                f"entity beginning at UTF-16 offset {entity.offset} ends in a middle of a UTF-16 "
                f"symbol at byte offset "
                f"{_byte(text, entity.end)}"
            )


def _starts(text: str) -> set[int]:
    starts, at = {0}, 0
    for char in text:
        at += 1 + (ord(char) > BMP)
        starts.add(at)
    return starts


def _byte(text: str, unit: int) -> int:
    return len(cut(text, 0, unit - 1).encode())


def _order(entity: Entity) -> tuple[int, int, int]:
    return entity.offset, -entity.length, RANK[entity.type]


def mended(text: str, entities: Iterable[Entity]) -> list[Entity]:
    """Sorted, nested and without repetition, as a message shows them; those past the hundredth are
    forgotten.
    """
    given = [entity for entity in entities if entity.length > 0]
    quotes = _apart(entity for entity in given if entity.type in QUOTES)
    codes = [
        code
        for code in _apart(entity for entity in given if entity.type in CODES)
        if _fits(code, quotes)
    ]
    links = _apart(entity for entity in given if entity.type in LINKS)
    links = [link for link in links if not any(overlap(link, code) for code in codes)]
    solid = [*codes, *(link for link in links if _fits(link, quotes))]
    solid += [
        entity
        for entity in detected(text)
        if _fits(entity, quotes) and not any(overlap(entity, other) for other in solid)
    ]
    styles = [piece for style in STYLES for piece in _style(style, given, codes)]
    visible = [style for style in styles if cut(text, style.offset, style.length).strip()]
    return _nested([*quotes, *solid], visible)[:ENTITIES_SHOWN]


def _fits(entity: Entity, quotes: Sequence[Entity]) -> bool:
    """Whether a quotation holds it whole or not at all."""
    return all(
        not overlap(entity, quote) or quote.offset <= entity.offset <= entity.end <= quote.end
        for quote in quotes
    )


def _apart(entities: Iterable[Entity]) -> list[Entity]:
    """Of entities that cannot overlap their own kind, the first of each clash."""
    kept: list[Entity] = []
    for entity in sorted(entities, key=_order):
        if not kept or entity.offset >= kept[-1].end:
            kept.append(entity)
    return kept


def _style(style: str, given: Iterable[Entity], codes: Sequence[Entity]) -> list[Entity]:
    """The stretches of one style: joined where they overlap or touch, never inside code."""
    joined: list[Entity] = []
    for entity in sorted((entity for entity in given if entity.type == style), key=_order):
        if joined and entity.offset <= joined[-1].end:
            joined[-1] = _span(joined[-1], joined[-1].offset, max(joined[-1].end, entity.end))
        else:
            joined.append(entity)
    for code in codes:
        joined = [piece for entity in joined for piece in _without(entity, code)]
    return joined


def _span(entity: Entity, start: int, end: int) -> Entity:
    return replace(entity, offset=start, length=end - start)


def _without(entity: Entity, hole: Entity) -> list[Entity]:
    if not overlap(entity, hole):
        return [entity]
    around = (_span(entity, entity.offset, hole.offset), _span(entity, hole.end, entity.end))
    return [piece for piece in around if piece.length > 0]


def _nested(solid: Sequence[Entity], styles: Sequence[Entity]) -> list[Entity]:
    """Split styles where they would cross an edge of anything else."""
    result = sorted(solid, key=_order)
    for style in sorted(styles, key=_order):
        pieces = [style]
        for other in tuple(result):
            pieces = [part for piece in pieces for part in _split(piece, other)]
        result += pieces
    return sorted(result, key=_order)


def _split(style: Entity, other: Entity) -> list[Entity]:
    if style.offset < other.offset < style.end < other.end:
        return [_span(style, style.offset, other.offset), _span(style, other.offset, style.end)]
    if other.offset < style.offset < other.end < style.end:
        return [_span(style, style.offset, other.end), _span(style, other.end, style.end)]
    return [style]
