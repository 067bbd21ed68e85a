"""Content blocks, in the shapes of the Messages API: what a message of a dialogue is made of.

Of a file only what it was and Telegram's name for it are kept, never the bytes. `file_id` is that
name, as the update of an authenticated sender had it, and means nothing to another bot;
`unique_id` is the same wherever the file turns up again. Blocks are never changed in place.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NotRequired, TypedDict, TypeVar, cast

Role = Literal["user", "assistant"]
Json = Mapping[str, object]
T = TypeVar("T")

FORWARDED = "[forwarded from "
"""So opens the text that says whom what follows comes from."""
LEFT_OUT = "\n[… {} characters and more left out …]\n"


class TextBlock(TypedDict):
    """Words; `citations` are the provider's, and become links before they are stored."""

    type: Literal["text"]
    text: str
    citations: NotRequired[Sequence[Mapping[str, object]] | None]


class FileBlock(TypedDict):
    """A file that a person sent, as it is stored. For a request its content takes its place."""

    type: Literal["file"]
    kind: str
    """picture, pdf, text, voice or audio."""
    file_id: str
    unique_id: str
    name: str
    """A harmless one, or empty."""
    bytes: int
    tokens: NotRequired[int]
    """An estimate, once it was opened."""
    seconds: NotRequired[float]
    album: NotRequired[str]


class MediaBlock(TypedDict):
    """A picture or a document inside a request; never stored."""

    type: Literal["image", "document"]
    source: Mapping[str, str]
    title: NotRequired[str]


class ToolUse(TypedDict):
    """A call of one of our tools."""

    type: Literal["tool_use"]
    id: str
    name: str
    input: Json


class ToolResult(TypedDict):
    """What came of a call of ours; stands in the next user message."""

    type: Literal["tool_result"]
    tool_use_id: str
    content: str
    is_error: NotRequired[bool]


class ServerToolUse(TypedDict):
    """A call that the provider makes by itself; never stored."""

    type: Literal["server_tool_use"]
    id: str
    name: str
    input: Json


class McpToolUse(TypedDict):
    """A call that the provider makes of an MCP server."""

    type: Literal["mcp_tool_use"]
    id: str
    name: str
    server_name: str
    input: Json


class McpToolResult(TypedDict):
    """What the MCP server answered; stands beside its call."""

    type: Literal["mcp_tool_result"]
    tool_use_id: str
    content: str | Sequence[TextBlock]
    is_error: NotRequired[bool]


class ThinkingBlock(TypedDict):
    """Bound to the exact prefix it was made with; never stored."""

    type: Literal["thinking"]
    thinking: str
    signature: str


Block = (
    TextBlock
    | FileBlock
    | MediaBlock
    | ToolUse
    | ToolResult
    | ServerToolUse
    | McpToolUse
    | McpToolResult
    | ThinkingBlock
)
"""A block of a kind that nobody knows is passed on as it came, and never stored."""


class WireMessage(TypedDict):
    """A message as a request carries it."""

    role: Role
    content: Sequence[Block]


def as_block(block: Mapping[str, object]) -> Block:
    """What came from the wire or from the store, taken for the block that its `type` says."""
    return cast("Block", block)


# ------------------------------------------------------------------------------------------ words


def text_block(text: str) -> TextBlock:
    return {"type": "text", "text": text}


def words(content: Iterable[Block]) -> str:
    """What a person reads of a message: its text blocks, joined."""
    return "".join(block["text"] for block in content if block["type"] == "text")


def spoken(entries: Iterable[tuple[Role, Sequence[Block]]]) -> str:
    """What a person reads of a turn: the assistant's words, also those it said before it used a
    tool.
    """
    said = (words(content).strip() for role, content in entries if role == "assistant")
    return "\n\n".join(filter(None, said))


def without_blanks(blocks: Iterable[Block]) -> list[Block]:
    """A model may return blank text; the same API refuses to read it."""
    return [block for block in blocks if block["type"] != "text" or block["text"].strip()]


def clean(value: T) -> T:
    """`value` as any store gives it back: no NUL, no half of a surrogate pair, which UTF-8 cannot
    carry.

    All that comes in passes here, or the model would read one text now and another once it was
    stored.
    """
    return cast("T", _clean(value))


def _clean(value: object) -> object:
    if isinstance(value, str):
        return value.replace("\0", "").encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, Mapping):
        return {_clean(key): _clean(inner) for key, inner in value.items()}
    return [_clean(inner) for inner in value] if isinstance(value, list | tuple) else value


def cap(text: str, limit: int) -> str:
    """`text`, or its head and tail around a marker that says how much is missing; never longer than
    `limit`.
    """
    text = clean(text) if text.strip() else "(no output)"
    if len(text) <= limit:
        return text
    marker = LEFT_OUT.format(len(text) - limit)
    room = max(limit - len(marker), 0)
    head = room * 2 // 3
    return (text[:head] + marker + text[len(text) - (room - head) :])[:limit]


# ------------------------------------------------------------------------------- files and tools


def files_of(content: Iterable[Block]) -> list[FileBlock]:
    return [block for block in content if block["type"] == "file"]


def named(file: FileBlock) -> str:
    """A file as it is spoken of: what it is, and its name where it has one."""
    return f"{file['kind']} {file['name']}".strip()


def tool_calls(blocks: Iterable[Block]) -> tuple[ToolUse, ...]:
    """The calls that are ours to answer; `server_tool_use` is the provider's own."""
    return tuple(block for block in blocks if block["type"] == "tool_use")


def call_id(block: Block) -> str:
    """What a call and its result are matched by; empty for any other block."""
    if block["type"] == "tool_use" or block["type"] == "mcp_tool_use":
        return block["id"]
    if block["type"] == "tool_result" or block["type"] == "mcp_tool_result":
        return block["tool_use_id"]
    return ""


def holds_results(blocks: Iterable[Block]) -> bool:
    """Whether a user message carries tool results rather than a person's words."""
    return any(block["type"] == "tool_result" for block in blocks)


def has_results(entries: Iterable[tuple[Role, Sequence[Block]]]) -> bool:
    """Whether a tool has run in this part of a dialogue."""
    kinds = {block["type"] for _, content in entries for block in content}
    return not kinds.isdisjoint({"tool_result", "mcp_tool_result"})


def ends_in_words(blocks: Sequence[Block]) -> bool:
    """Whether words follow the last tool in a message: those before it only say what is about to be
    done.
    """
    tools = [place for place, block in enumerate(blocks) if "tool" in block["type"]]
    return bool(words(blocks[max(tools, default=0) :]).strip())


# ------------------------------------------------------------------------------------- as a text


def plain_text(content: Iterable[Block]) -> str:
    """A message as a reader sees it, and a summariser: words as they are, everything else in
    brackets.
    """
    return "\n".join(map(_plain, content))


def _plain(block: Block) -> str:
    if block["type"] == "text":
        return block["text"]
    if block["type"] == "tool_use" or block["type"] == "mcp_tool_use":
        given = json.dumps(block["input"], ensure_ascii=False, sort_keys=True)
        return f"[tool {block['name']} {given}]"
    if block["type"] == "tool_result" or block["type"] == "mcp_tool_result":
        result = block.get("content", "")
        return f"[result {result if isinstance(result, str) else plain_text(result)}]"
    return f"[{named(block)}]" if block["type"] == "file" else f"[{block['type']}]"
