"""Content blocks: what of a model's answer may be kept, and what must go before it is.

One invalid block makes every later call of a Session a refusal, so a turn is closed here and nowhere else: no thinking
(it is bound to the exact prefix it was made with), no empty text, no call without its result.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from bot.session import Block


def text_block(text: str) -> Block:
    return {"type": "text", "text": text}


def tool_calls(blocks: Iterable[Block]) -> tuple[Block, ...]:
    """The calls that are ours to answer; `server_tool_use` is the provider's own."""
    return tuple(block for block in blocks if block["type"] == "tool_use")


def holds_results(blocks: Iterable[Block]) -> bool:
    """Whether a user message carries tool results rather than a person's words."""
    return any(block["type"] == "tool_result" for block in blocks)


def settled(blocks: Sequence[Block], answered: frozenset[str]) -> tuple[Block, ...]:
    """`blocks` as they may be stored: without thinking, blank text and calls whose ids are not `answered`."""
    inside = {block["tool_use_id"] for block in blocks if "tool_use_id" in block}
    return tuple(block for block in blocks if _is_storable(block, answered | inside))


def _is_storable(block: Block, answered: frozenset[str]) -> bool:
    """Of kinds nobody knows nothing is kept: what one server made up, another may refuse for ever."""
    kind = block["type"]
    if kind == "text":
        return bool(block["text"].strip())
    return kind.endswith("tool_result") or (kind.endswith("tool_use") and block["id"] in answered)


def encodable(value: Any) -> Any:
    """`value` as it will come back from the store: no lone surrogates (no UTF-8 carries them), no NUL."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8").replace("\0", "")
    if isinstance(value, dict):
        return {encodable(key): encodable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(encodable(item) for item in value)
    return value
