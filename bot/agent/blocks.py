"""Content blocks: what of a model's answer may be kept, and what must go before it is.

One invalid block makes every later call of a Session a refusal, so a turn is closed here and nowhere else: no thinking
(it is bound to the exact prefix it was made with), no empty text, no call without its result.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from bot.session import Block, Role

LONGEST_NAME = 64
_ODD_IN_A_NAME = re.compile(r"[^a-zA-Z0-9_-]")


def tool_calls(blocks: Iterable[Block]) -> tuple[Block, ...]:
    """The calls that are ours to answer; `server_tool_use` is the provider's own."""
    return tuple(block for block in blocks if block["type"] == "tool_use")


def acceptable(call: Block) -> Block:
    """A call that any server takes back: a model may make up a name, or numbers and shapes that JSON does not have."""
    name = _ODD_IN_A_NAME.sub("_", call["name"])[:LONGEST_NAME] or "_"
    given = json.loads(json.dumps(call["input"]), parse_constant=str)
    return {**call, "name": name, "input": given if isinstance(given, dict) else {}}


def holds_results(blocks: Iterable[Block]) -> bool:
    """Whether a user message carries tool results rather than a person's words."""
    return any(block["type"] == "tool_result" for block in blocks)


def without_blanks(blocks: Iterable[Block]) -> list[Block]:
    """A model may return blank text; the same API refuses to read it."""
    return [block for block in blocks if block["type"] != "text" or block["text"].strip()]


def settled(messages: Sequence[Mapping[str, Any]]) -> tuple[tuple[Role, tuple[Block, ...]], ...]:
    """The messages of a turn as they may be stored, each call with its result; what is left empty is left out."""
    everything = [block for message in messages for block in message["content"]]
    asked = {block["id"] for block in everything if block["type"].endswith("tool_use")}
    answered = {block["tool_use_id"] for block in everything if block["type"].endswith("tool_result")}
    pairs = asked & answered
    kept = ((message["role"], without_blanks(message["content"])) for message in messages)
    storable = ((role, tuple(block for block in content if _is_storable(block, pairs))) for role, content in kept)
    return tuple((role, content) for role, content in storable if content)


def _is_storable(block: Block, pairs: AbstractSet[str]) -> bool:
    """Of kinds nobody knows nothing is kept: what one server made up, another may refuse for ever."""
    kind = block["type"]
    if kind.endswith("tool_use"):
        return block["id"] in pairs
    return kind == "text" or (kind.endswith("tool_result") and block["tool_use_id"] in pairs)
