"""Tables: narrow ones in a fixed width, wide ones as a list in which each cell stands with its
head.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from unicodedata import combining, east_asian_width

from pyromark.event import Event, Range

from bot.telegram.outbound.dialect import Prepared
from bot.telegram.outbound.events import (
    LINKS,
    finish_inline,
    parsed,
    start_inline,
    tag_of,
    write_leaf,
)
from bot.telegram.outbound.formulas import readable
from bot.telegram.outbound.inline import Inline
from bot.telegram.outbound.placeholders import RESERVED, SPOILER, SPOILER_END

MAX_WIDTH = 36
"""Characters of a fixed width in a line on a phone."""
MAX_ROWS_WITH_CUT_HEADS = 50
"""A longer table shows heads that are too long to be repeated once, above its rows."""
BETWEEN = " | "

Row = Sequence[str]
Cell = list[tuple[Event, Range]]


class Table:
    """Collects the cells of one table until it is known how wide they are."""

    def __init__(self, raw: Callable[[Range], str]) -> None:
        """`raw` returns what was written at a place of the source."""
        self._raw = raw
        self._rows: list[list[Cell]] = []

    def take(self, name: str, tag: str, event: Event, span: Range) -> None:
        """Keep one event."""
        if name == "Start" and tag in {"TableHead", "TableRow"}:
            self._rows.append([])
        elif name == "Start" and tag == "TableCell":
            self._rows[-1].append([])
        elif tag not in {"TableHead", "TableRow", "TableCell"}:
            self._rows[-1][-1].append((event, span))

    def write(self, inline: Inline, prepared: Prepared, source: str) -> None:
        """Write the table. The length of its source bounds what may be added."""
        rows = [[_plain(cell, prepared) for cell in row] for row in self._rows]
        has_links = any(
            tag_of(parsed(event)[1]) in LINKS
            for row in self._rows
            for cell in row
            for event, _ in cell
        )
        if not has_links and _is_narrow(rows, len(source)):
            inline.add_entity("pre", _aligned(rows))
        else:
            self._write_rows(inline, list(_labels(rows, _heads(rows, len(source)))))

    def _write_rows(self, inline: Inline, labels: list[tuple[int, list[tuple[int, str]]]]) -> None:
        for at, (number, columns) in enumerate(labels):
            inline.add(f"\n{inline.indent}• " if at else "• ")
            for place, (column, label) in enumerate(columns):
                has_heads = any(label for _, label in columns)
                inline.add((f"\n{inline.indent}  " if has_heads else " · ") if place else "")
                inline.write(label)
                for event, span in self._rows[number][column]:
                    self._write(inline, event, span)

    def _write(self, inline: Inline, event: Event, span: Range) -> None:
        name, value = parsed(event)
        if name == "Start":
            start_inline(inline, tag_of(value), value)
        elif name == "End":
            finish_inline(inline, tag_of(value), lambda: self._raw(span))
        else:
            write_leaf(inline, name, value)


def _labels(
    rows: Sequence[Row], heads: Sequence[str]
) -> Iterator[tuple[int, list[tuple[int, str]]]]:
    """Yield each row's number, with the column of each cell that says something and what stands
    before it.
    """
    head, *body = rows
    if not body or list(heads) != list(head):
        yield 0, [(column, "") for column, cell in enumerate(head) if cell]
    for number, row in enumerate(body, start=1):
        named = [
            (column, f"{heads[column]}: " if heads[column] else "")
            for column, cell in enumerate(row)
            if cell
        ]
        if named:
            yield number, named


def _heads(rows: Sequence[Row], length: int) -> list[str]:
    """Return the heads as each row repeats them: cut where they are longer than all that was
    written.
    """
    if _fit(rows, length):
        return list(rows[0])
    room = 2 * length // len(rows) // len(rows[0]) - 5
    return [_cut(head, room if len(rows) <= MAX_ROWS_WITH_CUT_HEADS else 0) for head in rows[0]]


def _fit(rows: Sequence[Row], length: int) -> bool:
    return (sum(map(len, rows[0])) + 5 * len(rows[0])) * len(rows) <= 2 * length


def _cut(head: str, room: int) -> str:
    if len(head) <= room:
        return head
    return f"{head[: room - 1].rstrip()}…" if room > 1 else ""


def _plain(cell: Cell, prepared: Prepared) -> str:
    """Return the words of a cell without their formatting."""
    words = (
        str(value)
        for name, value in (parsed(event) for event, _ in cell)
        if name in {"Text", "Code"}
    )
    return "".join(
        RESERVED.sub(lambda found: _plain_sign(found[0], prepared), text) for text in words
    ).strip()


def _plain_sign(sign: str, prepared: Prepared) -> str:
    formula = prepared.formula(sign)
    if sign in {SPOILER, SPOILER_END}:
        return ""
    return (formula and readable(formula.latex)) or prepared.restore(sign)


def _is_narrow(rows: Sequence[Row], length: int) -> bool:
    """Return whether the rows fit side by side on a phone, without more padding than text was
    written.
    """
    width = sum(_widths(rows)) + len(BETWEEN) * (len(rows[0]) - 1)
    return width <= MAX_WIDTH and (width + 1) * (len(rows) + 1) <= 3 * length


def _aligned(rows: Sequence[Row]) -> str:
    """Return the rows under each other, in a fixed width."""
    widths = _widths(rows)
    lines = [
        BETWEEN.join(_padded(cell, width) for cell, width in zip(row, widths, strict=True))
        for row in rows
    ]
    rule = "-+-".join("-" * width for width in widths)
    return "\n".join(line.rstrip() for line in (lines[0], rule, *lines[1:]))


def _widths(rows: Sequence[Row]) -> list[int]:
    return [max(map(_width, column)) for column in zip(*rows, strict=True)]


def _padded(cell: str, width: int) -> str:
    return cell + " " * (width - _width(cell))


def _width(cell: str) -> int:
    return sum(0 if combining(sign) else 1 + (east_asian_width(sign) in "WF") for sign in cell)
