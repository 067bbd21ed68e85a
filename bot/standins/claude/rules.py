"""Checks a request beyond its shape: roles, texts, order, sources, pairs, tools, thinking.

The pairs of tool calls and results are what most often poisons a real dialogue, hence the
strictness: results stand first in the very next message, all of them, each once. One rule is
stricter than today's API, which knows `system` messages: other servers behind the same protocol do
not, and our bot must run on them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bot.standins.claude.cache import BREAKPOINTS, breakpoints
from bot.standins.claude.media import nested, sources_allowed
from bot.standins.claude.models import Offer
from bot.standins.claude.prompt import Item, blocks_of
from bot.standins.claude.refusals import Refused
from bot.standins.claude.thinking import check_thinking
from bot.standins.claude.tools import check_tools

Json = Mapping[str, Any]

USER_ONLY = {"tool_result", "document", "image", "search_result"}
ASSISTANT_ONLY = {
    "tool_use",
    "thinking",
    "redacted_thinking",
    "server_tool_use",
    "web_search_tool_result",
    "mcp_tool_use",
    "mcp_tool_result",
    "mcp_tool_listing",
}
EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.\w+")


def check(body: Json, offer: Offer) -> None:
    """Raise Refused for the first rule the request breaks."""
    for rule in (_roles, _words, _places, sources_allowed, _pairs, check_tools, _limits):
        rule(body)
    check_thinking(body, offer)


def roles_known(body: Json) -> None:
    """Refuse a system message in the words the API has for it; to be asked before the shape is."""
    messages = body.get("messages")
    if not isinstance(messages, list):
        return
    for message in messages:
        if isinstance(message, dict) and message.get("role") == "system":
            raise Refused(
                'messages: Unexpected role "system". The Messages API accepts a top-level '
                "`system` parameter, "
                'not "system" as an input message role.'
            )


def _roles(body: Json) -> None:
    messages = body["messages"]
    if not messages:
        raise Refused("messages: at least one message is required")
    if messages[0]["role"] != "user":
        raise Refused('messages: first message must use the "user" role')
    for place, message in enumerate(messages):
        if not message["content"]:
            raise Refused(f"messages.{place}: all messages must have non-empty content")
    last = messages[-1]
    if last["role"] == "assistant" and not _paused(last):
        raise Refused(
            "This model does not support assistant message prefill. The conversation must end "
            "with a user message."
        )


def _paused(message: Json) -> bool:
    """A turn the server itself interrupted is sent back as it is."""
    return any(
        block["type"] in {"server_tool_use", "mcp_tool_use"}
        for block in blocks_of(message["content"])
    )


def _words(body: Json) -> None:
    for where, content in (("system", body.get("system") or ()), *_contents(body)):
        for block in nested(blocks_of(content)):
            if block["type"] != "text":
                continue
            if not block["text"]:
                raise Refused(f"{where}: text content blocks must be non-empty")
            if not block["text"].strip():
                raise Refused(f"{where}: text content blocks must contain non-whitespace text")


def _contents(body: Json) -> Iterable[tuple[str, Any]]:
    return (("messages", message["content"]) for message in body["messages"])


def _places(body: Json) -> None:
    for place, message in enumerate(body["messages"]):
        wrong, other = (
            (USER_ONLY, "user") if message["role"] == "assistant" else (ASSISTANT_ONLY, "assistant")
        )
        for index, block in enumerate(blocks_of(message["content"])):
            where = f"messages.{place}.content.{index}"
            if block["type"] in wrong:
                raise Refused(
                    f"{where}: `{block['type']}` blocks may only appear in `{other}` messages"
                )
            if message["role"] == "user" and block["type"] == "text" and block.get("citations"):
                raise Refused(
                    f"{where}.text.citations: citations may not be set on text blocks of `user` "
                    f"messages"
                )


def _pairs(body: Json) -> None:
    asked: list[str] = []
    seen: set[str] = set()
    for place, message in enumerate(body["messages"]):
        blocks = blocks_of(message["content"])
        _answered(place, asked, blocks)
        asked = [block["id"] for block in blocks if block["type"] == "tool_use"]
        if seen & set(asked) or len(set(asked)) < len(asked):
            raise Refused("messages: `tool_use` ids must be unique")
        seen |= set(asked)
    if asked:
        _missing(len(body["messages"]) - 1, asked)


def _answered(place: int, asked: list[str], blocks: list[dict[str, Any]]) -> None:
    leading = [block["type"] == "tool_result" for block in blocks]
    first_other = leading.index(False) if False in leading else len(blocks)
    answered = [block["tool_use_id"] for block in blocks[:first_other]]
    if missing := [call for call in asked if call not in answered]:
        _missing(place - 1, missing)
    for index, block in enumerate(blocks):
        if block["type"] != "tool_result":
            continue
        where = f"messages.{place}.content.{index}"
        if block["tool_use_id"] not in asked:
            raise Refused(
                f"{where}: unexpected `tool_use_id` found in `tool_result` blocks: "
                f"{block['tool_use_id']}. "
                "Each `tool_result` block must have a corresponding `tool_use` block in the "
                "previous message."
            )
        if block.get("is_error") and not block.get("content"):
            raise Refused(f"{where}.tool_result: content cannot be empty if `is_error` is true")
    if twice := [call for call, times in Counter(answered).items() if times > 1]:
        raise Refused(
            f"messages.{place}: each tool_use must have a single result. "
            f"Found multiple `tool_result` blocks with id: {twice[0]}"
        )
    if any(block["type"] == "tool_result" for block in blocks[first_other:]):
        raise Refused(
            f"messages.{place}: `tool_result` blocks must come first in the content of a message"
        )


def _missing(place: int, ids: list[str]) -> None:
    raise Refused(
        f"messages.{place}: `tool_use` ids were found without `tool_result` blocks immediately "
        f"after: "
        f"{', '.join(ids)}. Each `tool_use` block must have a corresponding `tool_result` block "
        f"in the next message."
    )


def _limits(body: Json) -> None:
    if any(not sequence.strip() for sequence in body.get("stop_sequences") or ()):
        raise Refused("stop_sequences: each stop sequence must contain non-whitespace")
    if EMAIL.search((body.get("metadata") or {}).get("user_id") or ""):
        raise Refused("metadata.user_id: user_id appears to contain an email address")


def marks_allowed(body: Json, items: Sequence[Item]) -> None:
    """Refuse more cache breakpoints than the API has."""
    if (found := breakpoints(body, items)) > BREAKPOINTS:
        raise Refused(
            f"A maximum of {BREAKPOINTS} blocks with cache_control may be provided. Found {found}."
        )
