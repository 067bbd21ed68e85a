"""A request's prompt as one sequence of items in the order the model reads them: tools, system,
blocks of messages.

Size, cache and thinking signature are all questions about a prefix of this sequence, so they share
it. A cache breakpoint is a mark on an item and no part of it: moving one changes neither the size
nor the prefix.
"""

from __future__ import annotations

import hashlib
import json
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from bot.standins.claude.pixels import pixels

Json = Mapping[str, Any]
CountText = Callable[[str], int]

FIXED_TOKENS = 9
TOOLS_TOKENS = 346
BLOCK_TOKENS = 4
IMAGE_TOKENS = 1600
PIXELS_OF_A_TOKEN = 750
HEAD_CHARS = 65_536
"""Of a picture as base64, with its size in it."""
PAGE_TOKENS = 2000
PAGE_CHARS = 70_000
CLAUDE_RATIO = 1.3
"""Newer Claude models use about 30 % more tokens than o200k for the same text."""


def rough_count(text: str) -> int:
    """A cheap stand-in for a tokenizer."""
    return -(-len(text) // 4)


@dataclass(frozen=True, slots=True)
class Item:
    """A piece of the prompt.

    `section`: tools, system or messages; `ttl`: set where a cache breakpoint ends.
    """

    section: str
    key: str
    tokens: int
    ttl: str | None = None


class Meter:
    """Sizes in tokens, remembered per text so that a long dialogue is not counted again with every
    request.
    """

    def __init__(self, count: CountText = rough_count) -> None:
        self._count = lru_cache(maxsize=16_384)(count)

    def text(self, text: str) -> int:
        """What Claude would take for `text`."""
        return round(self._count(text) * CLAUDE_RATIO)

    def prompt(self, items: list[Item]) -> int:
        """The whole prompt."""
        tools = TOOLS_TOKENS if any(item.section == "tools" for item in items) else 0
        return FIXED_TOKENS + tools + sum(item.tokens for item in items)

    def items(self, body: Json) -> list[Item]:
        """The prompt of a request."""
        return [
            Item(section, key, self._block(block), _ttl(block))
            for section, key, block in _walk(body)
        ]

    def _block(self, block: Json) -> int:
        special = {"image": _image_tokens, "document": _document_tokens}.get(block["type"])
        if special is not None:
            return special(block)
        text = block["text"] if block["type"] == "text" else canonical(block)
        return self.text(text) + BLOCK_TOKENS


def _image_tokens(block: Json) -> int:
    source = block["source"]
    head = b64decode(source["data"][:HEAD_CHARS]) if source.get("type") == "base64" else b""
    size = pixels(source.get("media_type", ""), head)
    return (
        min(size[0] * size[1] // PIXELS_OF_A_TOKEN, IMAGE_TOKENS)
        if size and all(size)
        else IMAGE_TOKENS
    )


def _document_tokens(block: Json) -> int:
    return PAGE_TOKENS * max(1, len(block["source"].get("data", "")) // PAGE_CHARS)


def _ttl(block: Json) -> str | None:
    mark = block.get("cache_control")
    return mark.get("ttl", "5m") if mark else None


def _walk(body: Json) -> Iterator[tuple[str, str, Json]]:
    for tool in body.get("tools") or ():
        yield "tools", canonical(tool), {"type": "tool", **tool}
    for block in blocks_of(body.get("system") or ()):
        yield "system", canonical(block), block
    for message in body["messages"]:
        for block in blocks_of(message["content"]):
            yield "messages", message["role"] + canonical(block), block


def blocks_of(content: Any) -> list[dict[str, Any]]:
    """Content as blocks, whichever way it was written."""
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def canonical(block: Json) -> str:
    """One spelling for equal blocks, without the cache mark."""
    bare = {
        key: value for key, value in block.items() if key != "cache_control" and value is not None
    }
    return json.dumps(bare, ensure_ascii=False, sort_keys=True)


def family(model: str) -> str:
    """The line a model belongs to: thinking is readable inside one family only."""
    return model.split("-")[1] if model.count("-") else model


def sign(body: Json, message: int, before: list[dict[str, Any]], thought: str) -> str:
    """The signature of thinking that follows `message` whole messages and `before` blocks: a hash
    of all of it.
    """
    digest = hashlib.sha256()
    start = {
        **body,
        "messages": [*body["messages"][:message], {"role": "assistant", "content": before}],
    }
    for _, key, _ in _walk(start):
        digest.update(key.encode() + b"\0")
    digest.update(thought.encode())
    return f"{family(body['model'])}.{digest.hexdigest()}"
