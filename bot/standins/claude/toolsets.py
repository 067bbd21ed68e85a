"""The shapes in which a request offers tools: ours, the server's own, and those of MCP servers."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag

from bot.standins.claude.shapes import Cacheable, Shape


class InputSchema(BaseModel):
    """The JSON schema of a tool's input: an object; the rest is free."""

    model_config = ConfigDict(extra="allow", strict=True)
    type: Literal["object"]
    properties: dict[str, Any] | None = None
    required: list[str] | None = None


class CustomTool(Cacheable):
    """A tool that we run."""

    type: Literal["custom"] | None = None
    name: Annotated[str, Field(pattern=r"^[a-zA-Z0-9_-]{1,128}$")]
    description: str = ""
    input_schema: InputSchema
    strict: bool = False
    eager_input_streaming: bool | None = None
    input_examples: list[dict[str, Any]] | None = None


class ServerTool(Cacheable):
    """A tool the server runs."""

    type: Annotated[str, Field(pattern=r"^(web_search|web_fetch|code_execution)_20\d{6}$")]
    name: Literal["web_search", "web_fetch", "code_execution"]
    max_uses: int | None = None
    allowed_domains: list[str] | None = None
    blocked_domains: list[str] | None = None
    user_location: dict[str, Any] | None = None


class McpToolConfig(Shape):
    """What holds for one tool of an MCP server, or for all of them."""

    enabled: bool = True
    defer_loading: bool = False


class McpToolset(Cacheable):
    """The tools of an MCP server, which the server asks for them and runs."""

    type: Literal["mcp_toolset"]
    mcp_server_name: str
    default_config: McpToolConfig | None = None
    configs: dict[str, McpToolConfig] | None = None
    tools: list[dict[str, Any]] | None = None


class McpServer(Shape):
    """An MCP server, for the server to ask."""

    type: Literal["url"]
    name: Annotated[str, Field(min_length=1)]
    url: Annotated[str, Field(pattern=r"^https://")]
    authorization_token: str | None = None


def _tool_kind(value: Any) -> str:
    kind = value.get("type") if isinstance(value, dict) else None
    return {None: "custom", "custom": "custom", "mcp_toolset": "mcp"}.get(kind, "server")


AnyTool = Annotated[
    Annotated[CustomTool, Tag("custom")]
    | Annotated[ServerTool, Tag("server")]
    | Annotated[McpToolset, Tag("mcp")],
    Discriminator(_tool_kind),
]
