"""MCP servers, which the model's provider asks by itself, inside a call of the model.

Nothing of ours is run, so neither our limits hold nor our record of what has an effect: a call that
is repeated after a failure may act twice. What an operator should know of it stands in
deploy/TOOLS.md.
"""

from __future__ import annotations

from collections.abc import Iterable

from bot.ports import Json
from bot.settings.mcp import McpServer


def mcp_toolsets(servers: Iterable[McpServer]) -> tuple[Json, ...]:
    """The tools of these servers, in the shape of the Messages API; their addresses and tokens are
    not part of it.
    """
    return tuple(
        {"type": "mcp_toolset", "mcp_server_name": server.name, **_chosen(server)}
        for server in servers
    )


def _chosen(server: McpServer) -> dict[str, object]:
    if not server.tools:
        return {}
    return {
        "default_config": {"enabled": False},
        "configs": {name: {"enabled": True} for name in server.tools},
    }
