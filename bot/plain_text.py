"""A message as a reader sees it, and a summariser: words as they are, everything else in brackets;
and a title.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence

import regex

from bot.session import Block

MAX_TITLE = 60
"""Grapheme clusters: what a reader takes for one character."""
MAX_TITLE_CODE_POINTS = 600

FORWARDED = "[forwarded from "
"""So opens the text that says whom what follows comes from."""


def plain_text(content: Sequence[Block]) -> str:
    return "\n".join(_LEGIBLE.get(block["type"], _placeholder)(block) for block in content)


def _placeholder(block: Block) -> str:
    return f"[{block['type']}]"


def _tool_use(block: Block) -> str:
    return (
        f"[tool {block['name']} {json.dumps(block['input'], ensure_ascii=False, sort_keys=True)}]"
    )


def _tool_result(block: Block) -> str:
    result = block.get("content", "")
    return f"[result {result if isinstance(result, str) else plain_text(result)}]"


def _file(block: Block) -> str:
    return f"[{named(block)}]"


def named(file: Block) -> str:
    """A file as it is spoken of: what it is, and its name where it has one."""
    return f"{file['kind']} {file['name']}".strip()


_LEGIBLE: Mapping[str, Callable[[Block], str]] = {
    "text": lambda block: str(block["text"]),
    "tool_use": _tool_use,
    "tool_result": _tool_result,
    "mcp_tool_use": _tool_use,
    "mcp_tool_result": _tool_result,
    "file": _file,
}


def title(text: str) -> str:
    """Name a Session after its first words, in any script; cut between words where there are
    any.

    A cut never leaves half a character, and never nothing: a word, or a link, that is too long is
    cut itself.
    """
    line = " ".join(text.split())
    start = line[:MAX_TITLE_CODE_POINTS]
    clusters: list[str] = regex.findall(r"\X", start)
    if len(clusters) <= MAX_TITLE and start == line:
        return line
    head = "".join(clusters[: MAX_TITLE - 1])
    at_word = head if line[len(head) :].startswith(" ") else head.rpartition(" ")[0]
    return (at_word if len(at_word) * 2 > len(head) else head).rstrip() + "…"
