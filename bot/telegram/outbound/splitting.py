"""Cutting a formatted text into parts that Telegram takes: nothing lost, entities whole or clipped,
order kept.

A part has at most 4096 UTF-16 units and 100 entities (the server ignores the rest without a word).
A cut stands after a blank line, or else a line, a sentence, a space, as late as possible; inside an
unbroken run it falls anywhere but between the code points of one visible character. An entity that
is cut goes on in the next part, so a code block is opened again with its language. Whitespace at a
cut is dropped, and so is a part without anything visible in it, which Telegram would refuse.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from telegram import MessageEntity

from bot.telegram.outbound.markdown_blocks import File

PART_UNITS = 4096
PART_ENTITIES = 100

BREAKS = (("\n\n",), ("\n",), (". ", "! ", "? ", "… ", "。", "\uff01", "\uff1f"), (" ",))
"""Where to cut, best first."""
MAX_CHARACTER_UNITS = 64
"""Code points of one visible character; a longer "character" is an attack on whoever looks for its
end.
"""

_JOINER = "\u200d"
_BLANK = frozenset("\u2800\u3164\u115f\u1160\uffa0\ufffc")
"""Characters that count as printable and show nothing."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """A text with its entities, short enough to be sent as one message.

    Offsets are in UTF-16 units.
    """

    text: str
    entities: tuple[MessageEntity, ...] = ()
    file: File | None = None
    """Sent with it; the text is then its caption."""


def split(
    text: str,
    entities: Sequence[MessageEntity] = (),
    *,
    units: int = PART_UNITS,
    maximum: int = PART_ENTITIES,
) -> tuple[Chunk, ...]:
    """Cut `text` into parts of at most `units` UTF-16 units and `maximum` entities each."""
    offsets = [0, *accumulate(2 if sign > "\uffff" else 1 for sign in text)]
    ordered = sorted(entities, key=lambda entity: (entity.offset, -entity.length))
    source = _Source(text, _Window(ordered, maximum), offsets, units, maximum)
    chunks = (source.chunk(start, end) for start, end in source.spans())
    return tuple(chunk for chunk in chunks if is_visible(chunk.text))


def is_visible(text: str) -> bool:
    """Whether a person would see anything of `text`."""
    return any(sign.isprintable() and not sign.isspace() and sign not in _BLANK for sign in text)


class _Window:
    """The entities near the part that is being cut; each is looked at only while the parts pass
    it.
    """

    def __init__(self, ordered: Sequence[MessageEntity], maximum: int) -> None:
        self._ordered = ordered
        self._maximum = maximum
        self._next = 0
        self._near: list[MessageEntity] = []

    def between(self, low: int, high: int) -> list[MessageEntity]:
        """Return those that reach into this span, one too many at most; `low` never falls."""
        self._near = [entity for entity in self._near if entity.offset + entity.length > low]
        while len(self._near) <= self._maximum and self._next < len(self._ordered):
            entity = self._ordered[self._next]
            if entity.offset >= high:
                break
            self._next += 1
            if entity.offset + entity.length > low:
                self._near.append(entity)
        return [entity for entity in self._near if entity.offset < high]


@dataclass(frozen=True, slots=True)
class _Source:
    """A text to be cut. `offsets` has the UTF-16 offset of each character and of the end."""

    text: str
    entities: _Window
    offsets: Sequence[int]
    units: int
    maximum: int

    def spans(self) -> Iterator[tuple[int, int]]:
        """Where each part begins and ends."""
        start = 0
        while start < len(self.text):
            end = bisect_right(self.offsets, self.offsets[start] + self.units) - 1
            end = self._before_too_many(start, end)
            cut = end if end == len(self.text) else _cut(self.text, start, end)
            yield start, cut
            start = cut

    def chunk(self, start: int, end: int) -> Chunk:
        """The part of this span, without the whitespace at its ends (spaces that indent its first
        line stay).
        """
        piece = self.text[start:end].rstrip()
        start += len(piece) - len(piece.lstrip("\n"))
        piece = piece.lstrip("\n")
        low, high = self.offsets[start], self.offsets[start + len(piece)]
        clipped = (_clip(entity, low, high) for entity in self.entities.between(low, high))
        return Chunk(
            piece, tuple(entity for entity in clipped if entity is not None)[: self.maximum]
        )

    def _before_too_many(self, start: int, end: int) -> int:
        """`end`, or the place before it where one entity too many begins."""
        low, high = self.offsets[start], self.offsets[end]
        within = [entity.offset for entity in self.entities.between(low, high)]
        if len(within) <= self.maximum:
            return end
        limit = bisect_right(self.offsets, within[self.maximum]) - 1
        return limit if limit > start else end


def _cut(text: str, start: int, end: int) -> int:
    """The best place to cut after `start` and not after `end`; a part is at least half full."""
    middle = start + (end - start) // 2
    for signs in BREAKS:
        places = [at + len(sign) for sign in signs if (at := text.rfind(sign, middle, end)) >= 0]
        if places:
            return max(places)
    return _between_characters(text, start, end)


def _between_characters(text: str, start: int, end: int) -> int:
    """`end`, or the nearest place before it that does not tear a visible character."""
    for cut in range(end, max(start, end - MAX_CHARACTER_UNITS), -1):
        if not _tears(text, cut):
            return cut
    return end


def _tears(text: str, cut: int) -> bool:
    before, after = text[cut - 1], text[cut]
    if _JOINER in {before, after} or _extends(after):
        return True
    if not (_is_flag_half(before) and _is_flag_half(after)):
        return False
    halves = 0
    while halves < MAX_CHARACTER_UNITS and halves < cut and _is_flag_half(text[cut - 1 - halves]):
        halves += 1
    return halves % 2 == 1


def _extends(sign: str) -> bool:
    """Accents, variation selectors, skin tones and tags belong to the sign before them."""
    return (
        unicodedata.category(sign) in {"Mn", "Me", "Mc"}
        or "\U0001f3fb" <= sign <= "\U0001f3ff"
        or _is_tag(sign)
    )


def _is_tag(sign: str) -> bool:
    return "\U000e0020" <= sign <= "\U000e007f"


def _is_flag_half(sign: str) -> bool:
    return "\U0001f1e6" <= sign <= "\U0001f1ff"


def _clip(entity: MessageEntity, low: int, high: int) -> MessageEntity | None:
    start, end = max(entity.offset, low), min(entity.offset + entity.length, high)
    if start >= end:
        return None
    return MessageEntity(
        entity.type, start - low, end - start, url=entity.url, language=entity.language
    )
