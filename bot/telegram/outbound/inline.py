"""Words, emphasis, links, code and formulas as text and entities that grow in one pass."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import urlsplit

from telegram import MessageEntity

from bot.telegram.outbound.dialect import Prepared
from bot.telegram.outbound.formulas import readable
from bot.telegram.outbound.placeholders import RESERVED, SPOILER, SPOILER_END
from bot.telegram.utf16 import utf16_len

STYLES: Mapping[str, str] = {
    "Emphasis": "italic",
    "Strong": "bold",
    "Strikethrough": "strikethrough",
    "Heading": "bold",
    "BlockQuote": "blockquote",
}
REFERENCES = frozenset({"Reference", "Collapsed", "Shortcut"})

_HOST = re.compile(r"[\w.-]*\w\.[\w-]+|[\da-f:.]*:[\da-f:.]*")


def is_safe_link(url: str) -> bool:
    """Return whether Telegram takes this address behind other words, and it leads to the web."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        return False
    if any(sign.isspace() or not sign.isprintable() for sign in url):
        return False
    return parts.scheme in {"http", "https"} and _HOST.fullmatch(host) is not None


class Link(NamedTuple):
    """Where a link or an image leads, the label it names, and the parser's word for how."""

    url: str
    label: str
    kind: object


class Inline:
    """A text that grows, with its entities; of one kind inside itself only the outermost counts."""

    def __init__(self, prepared: Prepared) -> None:
        self.parts: list[str] = []
        self.entities: list[MessageEntity] = []
        self.indent = ""
        """What each further line of a paragraph begins with."""
        self.used: set[str] = set()
        """The labels that links have used."""
        self._prepared = prepared
        self._units = 0
        self._open: dict[str, list[int]] = {}
        self._links: list[tuple[Link, int, int]] = []
        self._shown: set[str] = set()

    def add(self, text: str) -> None:
        """Add words as they are."""
        self.parts.append(text)
        self._units += utf16_len(text)

    def add_entity(self, kind: str, text: str, language: str | None = None) -> None:
        """Add words that are one entity; inside a link, which cannot hold it, they are words."""
        start = self._units
        self.add(text)
        if start < self._units and not self._links:
            self.entities.append(MessageEntity(kind, start, self._units - start, language=language))

    def open(self, kind: str) -> None:
        """Begin an entity."""
        self._open.setdefault(kind, []).append(self._units)

    def close(self, kind: str) -> None:
        """End an entity; one that was not begun, or is empty, is none."""
        starts = self._open.get(kind)
        if starts and (start := starts.pop()) < self._units and not starts:
            self.entities.append(MessageEntity(kind, start, self._units - start))

    def write(self, text: str) -> None:
        """Add words of the source, with the formulas and spoilers in them."""
        at = 0
        for found in RESERVED.finditer(text):
            self.add(text[at : found.start()])
            self._write_sign(found[0])
            at = found.end()
        self.add(text[at:])

    def write_code(self, code: str) -> None:
        """Add code that stands between words."""
        self.add_entity("code", self._prepared.restore(code))

    def end_line(self) -> None:
        """Go on in the next line of a paragraph."""
        self.add(f"\n{self.indent}")

    def open_link(self, link: Link) -> None:
        """Begin a link or an image."""
        self._links.append((link, self._units, len(self.parts)))

    def close_link(self, source: str) -> None:
        """End a link.

        Where Telegram cannot open it, or should not, its address stands behind its words.
        """
        link, start, first = self._links.pop()
        url = self._prepared.restore(link.url)
        label = "".join(self.parts[first:]) if not self._links else "…"
        self.used.add(" ".join(link.label.split()).casefold())
        if not label.strip():
            self.add(self._prepared.restore(source))
        elif is_safe_link(url) and not self._links:
            self.entities.append(MessageEntity("text_link", start, self._units - start, url=url))
        elif url not in {label, f"mailto:{label}"} and not (
            link.kind in REFERENCES and url in self._shown
        ):
            self.add(f" ({url})")
            self._shown.add(url)

    def _write_sign(self, sign: str) -> None:
        formula = self._prepared.formula(sign)
        if sign == SPOILER:
            self.open("spoiler")
        elif sign == SPOILER_END:
            self.close("spoiler")
        elif formula is None:
            self.add(self._prepared.restore(sign))
        elif (latex := readable(formula.latex)) is None:
            self.add(formula.source)
        else:
            self.add_entity("pre" if formula.is_display else "code", latex)
