"""The MCP connector: servers that a request names, the toolsets that offer them, and the blocks
their answers leave.

A result stands beside its call in one message of the assistant, or, where the model has called
tools of ours as well, in a later one. One rule may be stricter than the real API's: blocks of a
server that the request does not name are refused, so that nobody relies on them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from bot.standins.claude.prompt import blocks_of
from bot.standins.claude.refusals import Refused

Json = Mapping[str, Any]

BETAS = {"mcp-client-2025-11-20", "mcp-client-2026-09-15"}


def check_connector(body: Json, betas: str) -> None:
    """Raise Refused for servers, toolsets and blocks that do not fit together; `betas` is the
    header's value.
    """
    servers = [server["name"] for server in body.get("mcp_servers") or ()]
    if servers and not BETAS & {beta.strip() for beta in betas.split(",")}:
        raise Refused("mcp_servers: Extra inputs are not permitted")
    offered = [
        tool["mcp_server_name"]
        for tool in body.get("tools") or ()
        if tool.get("type") == "mcp_toolset"
    ]
    if len(set(servers)) < len(servers):
        raise Refused("mcp_servers: server names must be unique")
    for name in sorted({*servers, *offered}):
        if name not in servers:
            raise Refused(f"tools: MCP server '{name}' not found in mcp_servers")
        if Counter(offered)[name] != 1:
            raise Refused(
                f"mcp_servers: server '{name}' must be referenced by exactly one mcp_toolset in "
                f"tools"
            )
    last, asked = len(body["messages"]) - 1, set[str]()
    for place, message in enumerate(body["messages"]):
        blocks = blocks_of(message["content"])
        waiting = _waiting(f"messages.{place}", blocks, servers, asked)
        if waiting and place < last and not any(block["type"] == "tool_use" for block in blocks):
            raise Refused(
                f"messages.{place}: `mcp_tool_use` blocks without `mcp_tool_result`: "
                f"{', '.join(waiting)}"
            )


def _waiting(
    where: str, blocks: list[dict[str, Any]], servers: list[str], asked: set[str]
) -> list[str]:
    """The calls of this message that have no result in it; `asked` are all that had none so far, in
    any message.
    """
    mine = []
    for index, block in enumerate(blocks):
        if block["type"] == "mcp_tool_use":
            if block["server_name"] not in servers:
                raise Refused(
                    f"{where}.content.{index}: MCP server '{block['server_name']}' not found in "
                    f"mcp_servers"
                )
            asked.add(block["id"])
            mine.append(block["id"])
        elif block["type"] == "mcp_tool_result":
            if block["tool_use_id"] not in asked:
                raise Refused(
                    f"{where}.content.{index}: unexpected `tool_use_id` in `mcp_tool_result`"
                )
            asked.discard(block["tool_use_id"])
    return [call for call in mine if call in asked]
