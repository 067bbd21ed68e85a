"""The shapes a Messages request may have: strict, closed models, so that every unknown field is an
error.

These models check each field and block alone; `rules` checks what concerns several messages. Errors
are worded as the real API words them: `messages.0.content.0.text.text: Field required`.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag

LIST_TAG = "list"
STRING_TAG = "string"


def string_or_list(value: object) -> str:
    return STRING_TAG if isinstance(value, str) else LIST_TAG


class Shape(BaseModel):
    """A closed object: no field beyond those named, no conversion of types."""

    model_config = ConfigDict(extra="forbid", strict=True)


class CacheControl(Shape):
    """A cache breakpoint."""

    type: Literal["ephemeral"]
    ttl: Literal["5m", "1h"] = "5m"


class Cacheable(Shape):
    """Whatever may carry a cache breakpoint."""

    cache_control: CacheControl | None = None


class Citations(Shape):
    """Whether a source may be cited."""

    enabled: bool = False


class TextBlock(Cacheable):
    """Words."""

    type: Literal["text"]
    text: str
    citations: list[dict[str, Any]] | None = None


class Base64Image(Shape):
    """An image inside the request."""

    type: Literal["base64"]
    media_type: Literal["image/jpeg", "image/png", "image/gif", "image/webp"]
    data: Annotated[str, Field(min_length=1)]


class UrlSource(Shape):
    """A source the server fetches itself."""

    type: Literal["url"]
    url: Annotated[str, Field(pattern=r"^https?://")]


class FileSource(Shape):
    """A file uploaded before."""

    type: Literal["file"]
    file_id: Annotated[str, Field(min_length=1)]


class ImageBlock(Cacheable):
    """A picture."""

    type: Literal["image"]
    source: Annotated[Base64Image | UrlSource | FileSource, Field(discriminator="type")]
    transformations: dict[str, Any] | None = None


class Base64Pdf(Shape):
    """A PDF inside the request."""

    type: Literal["base64"]
    media_type: Literal["application/pdf"]
    data: Annotated[str, Field(min_length=1)]


class PlainText(Shape):
    """A text file inside the request."""

    type: Literal["text"]
    media_type: Literal["text/plain"]
    data: Annotated[str, Field(min_length=1)]


class ContentSource(Shape):
    """A document made of blocks."""

    type: Literal["content"]
    content: str | list[dict[str, Any]]


class DocumentBlock(Cacheable):
    """A document."""

    type: Literal["document"]
    source: Annotated[
        Base64Pdf | PlainText | ContentSource | UrlSource | FileSource, Field(discriminator="type")
    ]
    citations: Citations | None = None
    context: str | None = None
    title: str | None = None


class SearchResultBlock(Cacheable):
    """A passage with its source."""

    type: Literal["search_result"]
    content: list[TextBlock]
    source: str
    title: str
    citations: Citations | None = None


class ToolUseBlock(Cacheable):
    """The model's call of a tool."""

    type: Literal["tool_use"]
    id: Annotated[str, Field(pattern=r"^[a-zA-Z0-9_-]+$")]
    name: Annotated[str, Field(pattern=r"^[a-zA-Z0-9_-]{1,200}$")]
    input: dict[str, Any]
    caller: dict[str, Any] | None = None
    toolset_name: str | None = None


ResultBlock = Annotated[
    TextBlock | ImageBlock | DocumentBlock | SearchResultBlock, Field(discriminator="type")
]


class ToolResultBlock(Cacheable):
    """Our answer to a call."""

    type: Literal["tool_result"]
    tool_use_id: Annotated[str, Field(pattern=r"^[a-zA-Z0-9_-]+$")]
    content: (
        Annotated[
            Annotated[str, Tag(STRING_TAG)] | Annotated[list[ResultBlock], Tag(LIST_TAG)],
            Discriminator(string_or_list),
        ]
        | None
    ) = None
    is_error: bool = False


class ThinkingBlock(Shape):
    """Thinking, bound to its prefix by the signature."""

    type: Literal["thinking"]
    thinking: str
    signature: str


class RedactedThinkingBlock(Shape):
    """Thinking nobody may read."""

    type: Literal["redacted_thinking"]
    data: str


class ServerToolUseBlock(Cacheable):
    """A call the server answers itself."""

    type: Literal["server_tool_use"]
    id: Annotated[str, Field(pattern=r"^srvtoolu_[a-zA-Z0-9_]+$")]
    name: str
    input: dict[str, Any]
    caller: dict[str, Any] | None = None


class WebSearchResultBlock(Cacheable):
    """The server's own answer to such a call."""

    type: Literal["web_search_tool_result"]
    tool_use_id: str
    content: list[dict[str, Any]] | dict[str, Any]
    caller: dict[str, Any] | None = None


class McpToolUseBlock(Cacheable):
    """A call that the server had an MCP server answer."""

    type: Literal["mcp_tool_use"]
    id: Annotated[str, Field(pattern=r"^mcptoolu_[a-zA-Z0-9_]+$")]
    name: str
    server_name: str
    input: dict[str, Any]


class McpToolResultBlock(Cacheable):
    """What the MCP server answered."""

    type: Literal["mcp_tool_result"]
    tool_use_id: str
    content: Annotated[
        Annotated[str, Tag(STRING_TAG)] | Annotated[list[TextBlock], Tag(LIST_TAG)],
        Discriminator(string_or_list),
    ] = ""
    is_error: bool = False


class McpToolListingBlock(Shape):
    """The tools that an MCP server was found to have."""

    type: Literal["mcp_tool_listing"]
    mcp_server_name: str
    tools: list[dict[str, Any]]


AnyBlock = Annotated[
    TextBlock
    | ImageBlock
    | DocumentBlock
    | SearchResultBlock
    | ToolUseBlock
    | ToolResultBlock
    | ThinkingBlock
    | RedactedThinkingBlock
    | ServerToolUseBlock
    | WebSearchResultBlock
    | McpToolUseBlock
    | McpToolResultBlock
    | McpToolListingBlock,
    Field(discriminator="type"),
]


class MessageShape(Shape):
    """One message of the dialogue."""

    role: Literal["user", "assistant"]
    content: Annotated[
        Annotated[str, Tag(STRING_TAG)] | Annotated[list[AnyBlock], Tag(LIST_TAG)],
        Discriminator(string_or_list),
    ]
