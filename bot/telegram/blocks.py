"""Blocks of Markdown that no phone can show as they are: very long code becomes a file, a wide table becomes lines.

Only blocks of the answer itself are touched, none that lies in a list or a quotation. No word is lost, none is added.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import pyromark
from telegramify_markdown import utf16_len

LONGEST_CODE = 12_000
"""UTF-16 units of code that are still read in messages: three of them."""
WIDEST_TABLE = 36
"""Characters of a fixed width in a line on a phone."""
BETWEEN_CELLS = 3

OPTIONS = (
    pyromark.Options.ENABLE_TABLES
    | pyromark.Options.ENABLE_STRIKETHROUGH
    | pyromark.Options.ENABLE_TASKLISTS
    | pyromark.Options.ENABLE_MATH
)
"""What the formatting library parses with; another set would see HTML where the library sees none."""

ENDINGS = MappingProxyType(
    {
        "bash": "sh", "c++": "cpp", "csharp": "cs", "golang": "go", "javascript": "js", "kotlin": "kt",
        "markdown": "md", "python": "py", "ruby": "rb", "rust": "rs", "shell": "sh", "typescript": "ts", "yml": "yaml",
    }
)  # fmt: skip
LONGEST_ENDING = 5


@dataclass(frozen=True, slots=True)
class File:
    """A text that is sent as a file."""

    name: str
    content: str

    @property
    def label(self) -> str:
        """What stands under it."""
        return f"{self.name} ({max(len(self.content.encode()) // 1024, 1)} KB)"


@dataclass(frozen=True, slots=True)
class _Block:
    """A block of the answer itself, by its place in the UTF-8 source, with all that was parsed in it."""

    start: int
    end: int
    tag: Any
    events: Sequence[tuple[Any, Any]]


def pieces(markdown: str) -> Iterator[str | File]:
    """The answer in order, each very long block of code as a file of its own."""
    source, at, number = markdown.encode(), 0, 0
    for block in _blocks(markdown) if utf16_len(markdown) > LONGEST_CODE else ():
        code = "".join(event["Text"] for event, _ in block.events if isinstance(event, dict) and "Text" in event)
        if "CodeBlock" not in block.tag or utf16_len(code) <= LONGEST_CODE:
            continue
        number += 1
        yield source[at : block.start].decode()
        yield File(f"code-{number}.{_ending(block.tag['CodeBlock'])}", code)
        at = block.end
    yield source[at:].decode()


def with_narrow_tables(markdown: str) -> str:
    """The answer with a line for each row of a table that is too wide for a phone."""
    source, parts, at = markdown.encode(), [], 0
    for block in _blocks(markdown) if "|" in markdown else ():
        if "Table" not in block.tag:
            continue
        rows = _rows(source, block)
        if _width(rows) > WIDEST_TABLE:
            parts += [source[at : block.start].decode(), _lines(rows)]
            at = block.end
    return "".join((*parts, source[at:].decode()))


def _blocks(markdown: str) -> Iterator[_Block]:
    depth, begun = 0, 0
    events: list[tuple[Any, Any]] = list(pyromark.events_with_range(markdown, options=OPTIONS))
    for number, (event, span) in enumerate(events):
        if not isinstance(event, dict):
            continue
        if "Start" in event:
            begun = begun if depth else number
            depth += 1
        elif "End" in event:
            depth -= 1
            tag = events[begun][0]["Start"]
            if not depth and isinstance(tag, dict):
                yield _Block(span["start"], span["end"], tag, events[begun : number + 1])


def _rows(source: bytes, block: _Block) -> list[list[str]]:
    """The cells of each row, as they are written."""
    rows: list[list[str]] = []
    for event, span in block.events:
        if event in ({"Start": "TableHead"}, {"Start": "TableRow"}):
            rows.append([])
        elif event == {"Start": "TableCell"}:
            rows[-1].append(source[span["start"] : span["end"]].decode().strip())
    return rows


def _width(rows: Sequence[Sequence[str]]) -> int:
    columns = max(len(row) for row in rows)
    widest = [max((len(row[at]) for row in rows if at < len(row)), default=0) for at in range(columns)]
    return sum(widest) + BETWEEN_CELLS * (columns - 1)


def _lines(rows: Sequence[Sequence[str]]) -> str:
    head, *body = (" · ".join(cell for cell in row if cell) for row in rows)
    return "\n".join((f"**{head}**" if head and "*" not in head else head, "", *(f"- {row}" for row in body), "", ""))


def _ending(code: Any) -> str:
    language = code["Fenced"].split()[0].lower() if isinstance(code, dict) and code["Fenced"].split() else ""
    ending = ENDINGS.get(language, language)
    return ending if ending.isalnum() and ending.isascii() and len(ending) <= LONGEST_ENDING else "txt"
