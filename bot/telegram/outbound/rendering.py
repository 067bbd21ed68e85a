"""Markdown as text and entities: one walk over the events of a CommonMark parser.

Linear by construction: each event writes its own text once, nothing is written per level. A text
that would need more (elements too deep inside each other, cells nobody wrote) raises TooMuch, and
is shown as it was written. Nothing is lost: what Telegram cannot link keeps its address in sight,
an empty link stays as written, and so does a definition that nothing uses.
"""

from __future__ import annotations

import re

import pyromark
from pyromark.event import Event, Range
from telegram import MessageEntity

from bot.telegram.outbound.dialect import prepare
from bot.telegram.outbound.events import (
    finish_inline,
    first_number,
    parsed,
    start_inline,
    tag_of,
    text_of,
    write_leaf,
)
from bot.telegram.outbound.inline import Inline
from bot.telegram.outbound.placeholders import RESERVED
from bot.telegram.outbound.tables import Table

OPTIONS = (
    pyromark.Options.ENABLE_TABLES
    | pyromark.Options.ENABLE_STRIKETHROUGH
    | pyromark.Options.ENABLE_TASKLISTS
)
MAX_DEPTH = 50
"""Lists, quotations and emphasis inside each other."""
MAX_INDENT = 8
RULE = "—" * 8
BULLET = "• "
OPEN, DONE = "☐ ", "☑ "
OWN_LINE = frozenset(
    {"Paragraph", "Heading", "BlockQuote", "Item", "HtmlBlock", "CodeBlock", "Table"}
)
BLOCKS = OWN_LINE | {"List"}
LEVELS = {"Item": 1, "Paragraph": 0, "Heading": 0}
"""How much less than the lists around it a block is indented; all others are not."""

_LANGUAGE = re.compile(r"[\w+#./-]{1,30}")
_MARKER = re.compile(rb"(\d{1,9})([.)])")


class TooMuch(ValueError):
    """The text would need more than its length is worth."""


def render(markdown: str) -> tuple[str, tuple[MessageEntity, ...]]:
    """Return the text and its entities, in UTF-16 units. Raises TooMuch."""
    if RESERVED.search(markdown):
        raise TooMuch("it has characters that stand for others here")
    return _Walk(markdown).run()


def _indent(level: int) -> str:
    return "  " * min(max(level, 0), MAX_INDENT)


class _Numbers:
    """The numbers of a list: as they were written; one that repeats the first is counted on."""

    def __init__(self, first: int) -> None:
        self._first = first
        self._next = first

    def shown(self, written: int) -> int:
        """Return the number of the next item."""
        number = self._next if written == self._first else written
        self._next = number + 1
        return number


class _Walk:
    """Goes once over the events and writes."""

    def __init__(self, markdown: str) -> None:
        self._prepared = prepare(markdown)
        self._source = self._prepared.text.encode()
        self._inline = Inline(self._prepared)
        self._depth = 0
        self._end = 0
        """Where in the source the last word that was written ends."""
        self._is_fresh = True
        """Nothing stands yet in the text, the item or the quotation: no line has to end first."""
        self._is_block_over = False
        self._lists: list[_Numbers | None] = []
        self._code: list[str] | None = None
        self._table: Table | None = None

    def run(self) -> tuple[str, tuple[MessageEntity, ...]]:
        """Return all that was written."""
        budget = 3 * len(self._source) + 200
        for event, span in pyromark.events_with_range(self._prepared.text, options=OPTIONS):
            budget -= 1
            if budget < 0:
                raise TooMuch("it has more elements than signs")
            self._take(event, span)
        self._add_unused()
        return "".join(self._inline.parts), tuple(self._inline.entities)

    def _take(self, event: Event, span: Range) -> None:
        """Handle one event. What lies in a table waits until the width of the table is known."""
        name, value = parsed(event)
        tag = tag_of(value)
        self._count_depth(name)
        if self._table is not None and (name, tag) != ("End", "Table"):
            self._table.take(name, tag, event, span)
        elif name == "Start":
            self._end_block(span, is_inline=tag not in BLOCKS)
            self._start(tag, value, span)
        elif name == "End":
            self._finish(tag, span)
        elif name == "Rule":
            self._begin(span)
            self._inline.add(RULE)
            self._end = span["start"] + 1
        else:
            self._end_block(span, is_inline=self._code is None)
            self._write(name, value)
            self._end = span["end"]

    def _end_block(self, span: Range, *, is_inline: bool) -> None:
        """Begin a line for words right behind a block, as in an item without blank lines."""
        if is_inline and self._is_block_over:
            self._begin(span, len(self._lists))
        self._is_block_over = False

    def _count_depth(self, name: str) -> None:
        self._depth += (name == "Start") - (name == "End")
        if self._depth > MAX_DEPTH:
            raise TooMuch("it is too deep")

    def _write(self, name: str, value: object) -> None:
        """Write a leaf: words, code, the end of a line."""
        if self._code is not None:
            self._code.append(text_of(value))
        elif name == "TaskListMarker":
            self._mark_task(DONE if value else OPEN)
        else:
            self._is_fresh = False
            write_leaf(self._inline, name, value)

    def _begin(self, span: Range, level: int = 0) -> None:
        """End the line before a block; a blank line stands where one was written."""
        if not self._is_fresh:
            is_apart = self._source.count(b"\n", self._end, span["start"]) > 1
            self._inline.add(("\n\n" if is_apart else "\n") + _indent(level))
        self._is_fresh = False

    def _start(self, tag: str, value: object, span: Range) -> None:
        if tag in OWN_LINE:
            self._begin(span, len(self._lists) - LEVELS.get(tag, len(self._lists)))
        if tag == "Item":
            self._start_item(span)
        elif tag == "List":
            first = first_number(value)
            self._lists.append(None if first is None else _Numbers(first))
        elif tag == "CodeBlock":
            self._code = []
        elif tag == "Table":
            self._table = Table(self._raw)
        else:
            start_inline(self._inline, tag, value)
            self._is_fresh = self._is_fresh or tag == "BlockQuote"
        self._inline.indent = _indent(len(self._lists))

    def _start_item(self, span: Range) -> None:
        numbers = self._lists[-1]
        marker = _MARKER.match(self._source, span["start"])
        if numbers is None or marker is None:
            self._inline.add(BULLET)
        else:
            self._inline.add(f"{numbers.shown(int(marker[1]))}{marker[2].decode()} ")
        self._is_fresh = True

    def _mark_task(self, sign: str) -> None:
        if self._inline.parts[-1:] == [BULLET]:
            self._inline.parts[-1] = sign
        else:
            self._inline.add(sign)

    def _finish(self, tag: str, span: Range) -> None:
        self._is_block_over = tag in BLOCKS
        if tag == "List":
            self._lists.pop()
        elif tag == "CodeBlock":
            self._write_code(self._raw(span))
        elif tag == "Table" and self._table is not None:
            table, self._table = self._table, None
            table.write(self._inline, self._prepared, self._raw(span))
            self._end = span["end"] - 1
        else:
            self._is_fresh = self._is_fresh and tag not in {"Item", "BlockQuote"}
            finish_inline(self._inline, tag, lambda: self._raw(span))

    def _raw(self, span: Range) -> str:
        return self._source[span["start"] : span["end"]].decode()

    def _write_code(self, source: str) -> None:
        """Write a block of code. What stands behind its language, or is no language, is text."""
        code = self._prepared.restore("".join(self._code or ())).rstrip("\n")
        self._code = None
        head = source.split("\n", 1)[0].lstrip(" >")
        info = self._prepared.restore(head).strip("`~ \t\r") if head[:1] in {"`", "~"} else ""
        language = info if _LANGUAGE.fullmatch(info) and code else ""
        if info and not language:
            self._inline.add(f"{info}\n" if code else info)
        self._inline.add_entity("pre", code, language or None)

    def _add_unused(self) -> None:
        """Show the definitions that no link has used, behind everything else."""
        if "]:" not in self._prepared.text:
            return
        for label, found in pyromark.reference_definitions(
            self._prepared.text, options=OPTIONS
        ).items():
            if " ".join(label.split()).casefold() not in self._inline.used:
                self._begin(found["span"])
                self._inline.add(self._prepared.restore(self._raw(found["span"])).strip())
                self._end = found["span"]["end"]
