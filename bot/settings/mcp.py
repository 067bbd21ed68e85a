"""MCP servers, whose tools an operator offers to people through the model's provider: a JSON
list.

    [{"name": "wiki", "url": "https://mcp.example.org/v1", "authorization_token": "…", "tools":
    ["search"]}]

Without `tools`, all of a server's tools are offered. An address may hold a key, so it is kept like
one.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Annotated

from pydantic import BeforeValidator, SecretStr

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}", re.ASCII)
_URL = re.compile(r"https://[^\s/]+\S*", re.ASCII)
_WANTED = {"name", "url"}
_POSSIBLE = {*_WANTED, "authorization_token", "tools"}
_SHAPE = (
    'must be a JSON list of objects with "name" and "url", and perhaps '
    '"authorization_token" and "tools"'
)


@dataclass(frozen=True, slots=True)
class McpServer:
    """A server, as the provider reaches it. `tools`: only those of its tools; empty: all."""

    name: str
    url: SecretStr
    token: SecretStr | None = None
    tools: tuple[str, ...] = ()

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must never be printed."""
        return tuple(one.get_secret_value() for one in (self.url, self.token) if one is not None)


def _servers(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        listed = json.loads(value)
    except (ValueError, RecursionError):
        listed = None
    if not isinstance(listed, list) or not listed:
        raise ValueError(_SHAPE)
    servers = tuple(map(_server, listed))
    if len({server.name for server in servers}) < len(servers):
        raise ValueError("names two servers alike")
    return servers


def _server(told: object) -> McpServer:
    if (
        not isinstance(told, dict)
        or not _WANTED <= told.keys() <= _POSSIBLE
        or not all(map(_is_text, told.items()))
    ):
        raise ValueError(_SHAPE)
    if not _NAME.fullmatch(told["name"]):
        raise ValueError("holds a name that is not 1 to 64 letters, digits, _ and -")
    if not _URL.fullmatch(told["url"]):
        raise ValueError("holds an address that is not https://, all that the provider reaches")
    token = SecretStr(told["authorization_token"]) if "authorization_token" in told else None
    return McpServer(told["name"], SecretStr(told["url"]), token, tuple(told.get("tools", ())))


def _is_text(field: tuple[str, object]) -> bool:
    name, value = field
    texts = value if name == "tools" and isinstance(value, list) else [value]
    return bool(texts) and all(isinstance(text, str) and text.strip() for text in texts)


McpServers = Annotated[tuple[McpServer, ...], BeforeValidator(_servers)]
