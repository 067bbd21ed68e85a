"""What of a model's answer may be kept, and what must go before it is.

One invalid block makes every later call of a Session a refusal, so a turn is closed here and
nowhere else: no thinking (it is bound to the exact prefix it was made with), no empty text, no call
without its result.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from urllib.parse import quote, urlsplit

from bot.agent.echoes import without_echoes
from bot.agent.limits import Limits
from bot.content import (
    Block,
    McpToolResult,
    Role,
    WireMessage,
    call_id,
    cap,
    text_block,
    without_blanks,
    words,
)
from bot.own_tags import escape_tags

MAX_NAME_CHARS = 64
_THOUGHTS = frozenset({"thinking", "redacted_thinking"})
LOOKED_UP = "(looked something up)"
_HOST = re.compile(r"[\w.-]{1,253}")
_ODD_IN_A_NAME = re.compile(r"[^a-zA-Z0-9_-]")


def acceptable_name(name: str) -> str:
    """A tool's name that any server takes back: a model may make up one that none would."""
    return _ODD_IN_A_NAME.sub("_", name)[:MAX_NAME_CHARS] or "_"


def settled(messages: Sequence[WireMessage]) -> tuple[tuple[Role, tuple[Block, ...]], ...]:
    """The messages of a turn as they may be stored, each call with its result; what is left empty
    is left out.

    Tags of ours that the model repeated are gone. Of what the provider looked up by itself only the
    links stay, inside the text: results are large, readable for it alone, and refused once its
    tools are off. What an MCP server answered is plain text, and stays as a result does.
    """
    everything = [block for message in messages for block in message["content"]]
    pairs = _paired(everything, "tool_use", "tool_result")
    for message in (
        messages
    ):  # the provider answers its own calls beside them, or later than anybody will store
        pairs |= _paired(message["content"], "mcp_tool_use", "mcp_tool_result")
    kept = (
        (message["role"], without_blanks(map(without_echoes, message["content"])))
        for message in messages
    )
    storable = (
        (role, tuple(_stored(block) for block in content if _is_storable(block, pairs)))
        for role, content in kept
    )
    return tuple((role, content) for role, content in storable if content)


def _paired(blocks: Sequence[Block], call: str, result: str) -> set[str]:
    """The ids of the calls among these blocks whose results are among them."""
    asked = {call_id(block) for block in blocks if block["type"] == call}
    return asked & {call_id(block) for block in blocks if block["type"] == result}


def _is_storable(block: Block, pairs: AbstractSet[str]) -> bool:
    """Of kinds nobody knows nothing is kept: what one server made up, another may refuse for
    ever.
    """
    return block["type"] == "text" or call_id(block) in pairs


def _stored(block: Block) -> Block:
    if block["type"] != "mcp_tool_result":
        return linked(block)
    said = block["content"] if isinstance(block["content"], str) else words(block["content"])
    stored: McpToolResult = {
        **block,
        "content": [text_block(cap(escape_tags(said), Limits().tool_output_chars))],
    }
    return stored


def without_dropped_servers(
    messages: Sequence[WireMessage], servers: AbstractSet[str]
) -> list[WireMessage]:
    """The messages without the answers of MCP servers that are not among `servers` any more: they
    would be refused.
    """
    gone = {
        block["id"]
        for message in messages
        for block in message["content"]
        if block["type"] == "mcp_tool_use" and block["server_name"] not in servers
    }
    if not gone:
        return list(messages)
    return [
        {"role": message["role"], "content": _without(message["content"], gone)}
        for message in messages
    ]


def _without(content: Sequence[Block], gone: AbstractSet[str]) -> list[Block]:
    """An MCP call and its result stand in one message; where nothing else does, something has
    to.
    """
    kept = [block for block in content if call_id(block) not in gone]
    return kept or [text_block(LOOKED_UP)]


def linked(block: Block) -> Block:
    """Text with its citations as links that a person can follow."""
    if block["type"] != "text" or not (citations := block.get("citations")):
        return block
    urls = dict.fromkeys(str(citation.get("url") or "") for citation in citations)
    links = [f"[{host}]({_escaped(url)})" for url in urls if (host := _host(url))]
    return text_block(f"{block['text']} ({', '.join(links)})" if links else block["text"])


def _host(url: str) -> str:
    """Where a link leads; empty where a person should not be led."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    host = (parts.hostname or "").removeprefix("www.")
    return host if parts.scheme in {"http", "https"} and _HOST.fullmatch(host) else ""


def _escaped(url: str) -> str:
    """A URL that cannot end its own Markdown link."""
    return quote(url, safe=":/?#@!$&'*+,;=%~-._")


def without_thinking(messages: Sequence[WireMessage]) -> list[WireMessage]:
    """Messages as another model takes them: what one has thought is signed for itself alone."""
    kept: list[WireMessage] = [
        {
            "role": message["role"],
            "content": [block for block in message["content"] if block["type"] not in _THOUGHTS],
        }
        for message in messages
    ]
    return [message for message in kept if message["content"]]
