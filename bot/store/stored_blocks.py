"""Content blocks as MongoDB can hold them.

A tool's `input` is stored as JSON text, so that a key the model chose (``$where``, ``a.b``, an
empty one) is never a field name. Any other block that BSON or a later query could trip over (odd
keys, integers beyond 64 bits, deep nesting) is stored whole as JSON text beside its type. Both come
back as they were, but for what `clean` takes out of their texts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from bot.content import Block, as_block, clean

_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_MAX_INT = 2**63 - 1
_MAX_DEPTH = 16


def pack(block: Block) -> dict[str, object]:
    """The block as it is stored."""
    tidy: dict[str, object] = dict(clean(block))
    stored = (
        tidy | {"input": json.dumps(tidy["input"], ensure_ascii=False)} if "input" in tidy else tidy
    )
    if "json" not in tidy and _is_plain(stored, _MAX_DEPTH):
        return stored
    return {"type": tidy["type"], "json": json.dumps(tidy, ensure_ascii=False)}


def unpack(stored: Mapping[str, object]) -> Block:
    """The block as the Messages API knows it."""
    match stored:
        case {"json": str(whole)}:
            return as_block(json.loads(whole))
        case {"input": str(given)}:
            return as_block({**stored, "input": json.loads(given)})
    return as_block(dict(stored))


def weight(value: object) -> int:
    """About as many bytes as BSON needs for `value`: cheap, and within a tenth for what a dialogue
    holds.
    """
    if isinstance(value, str):
        return 5 + len(value.encode("utf-8", "replace"))
    if isinstance(value, Mapping):
        return 5 + sum(2 + len(key) + weight(inner) for key, inner in value.items())
    if isinstance(value, list | tuple):
        return 5 + sum(4 + weight(inner) for inner in value)
    return 8


def _is_plain(value: object, depth: int) -> bool:
    if depth == 0:
        return False
    if isinstance(value, dict):
        return all(
            _PLAIN_KEY.fullmatch(key) and _is_plain(inner, depth - 1)
            for key, inner in value.items()
        )
    if isinstance(value, list):
        return all(_is_plain(inner, depth - 1) for inner in value)
    return not isinstance(value, int) or abs(value) <= _MAX_INT
