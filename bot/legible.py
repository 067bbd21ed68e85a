"""A message as a reader sees it, and a summariser: words as they are, everything else in brackets."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence

from bot.session import Block

FORWARDED = "[forwarded from "
"""So opens the text that says whom what follows comes from."""


def legible(content: Sequence[Block]) -> str:
    return "\n".join(_LEGIBLE.get(block["type"], _placeholder)(block) for block in content)


def _placeholder(block: Block) -> str:
    return f"[{block['type']}]"


def _tool_use(block: Block) -> str:
    return f"[tool {block['name']} {json.dumps(block['input'], ensure_ascii=False, sort_keys=True)}]"


def _tool_result(block: Block) -> str:
    result = block.get("content", "")
    return f"[result {result if isinstance(result, str) else legible(result)}]"


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
