"""The MCP connector: servers that a request names, the toolsets that offer them, and the blocks their answers leave.

A call and its result stand in one message of the assistant, as the provider put them there. One rule may be stricter
than the real API's: blocks of a server that the request does not name are refused, so that nobody relies on them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from bot.demo.claude.prompt import blocks_of
from bot.demo.claude.refusals import Refused

Json = Mapping[str, Any]

BETAS = {"mcp-client-2025-11-20", "mcp-client-2026-09-15"}


def check_connector(body: Json, betas: str) -> None:
    """Raise Refused for servers, toolsets and blocks that do not fit together; `betas` is the header's value."""
    servers = [server["name"] for server in body.get("mcp_servers") or ()]
    if servers and not BETAS & {beta.strip() for beta in betas.split(",")}:
        raise Refused("mcp_servers: Extra inputs are not permitted")
    offered = [tool["mcp_server_name"] for tool in body.get("tools") or () if tool.get("type") == "mcp_toolset"]
    if len(set(servers)) < len(servers):
        raise Refused("mcp_servers: server names must be unique")
    for name in sorted({*servers, *offered}):
        if name not in servers:
            raise Refused(f"tools: MCP server '{name}' not found in mcp_servers")
        if Counter(offered)[name] != 1:
            raise Refused(f"mcp_servers: server '{name}' must be referenced by exactly one mcp_toolset in tools")
    last = len(body["messages"]) - 1
    for place, message in enumerate(body["messages"]):
        _check_blocks(f"messages.{place}", blocks_of(message["content"]), servers, may_wait=place == last)


def _check_blocks(where: str, blocks: list[dict[str, Any]], servers: list[str], *, may_wait: bool) -> None:
    """`may_wait`: the server itself has paused inside this message, and will finish its calls."""
    asked: set[str] = set()
    for index, block in enumerate(blocks):
        if block["type"] == "mcp_tool_use":
            if block["server_name"] not in servers:
                raise Refused(f"{where}.content.{index}: MCP server '{block['server_name']}' not found in mcp_servers")
            asked.add(block["id"])
        elif block["type"] == "mcp_tool_result":
            if block["tool_use_id"] not in asked:
                raise Refused(f"{where}.content.{index}: unexpected `tool_use_id` in `mcp_tool_result`")
            asked.discard(block["tool_use_id"])
    if asked and not may_wait:
        raise Refused(f"{where}: `mcp_tool_use` blocks without `mcp_tool_result`: {', '.join(sorted(asked))}")
