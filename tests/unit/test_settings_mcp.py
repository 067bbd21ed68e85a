"""MCP_SERVERS: a list in JSON, each fault of it one sentence that repeats nothing of it."""

from __future__ import annotations

import json

import pytest

from bot.agent.toolbox.mcp import mcp_toolsets
from tests.unit.test_settings import problem, read

WIKI = {
    "name": "wiki",
    "url": "https://mcp.example.org/planted-path",
    "authorization_token": "planted-token",
}
SHAPE = (
    'must be a JSON list of objects with "name" and "url", and perhaps "authorization_token" '
    'and "tools"'
)


def test_servers_are_read_and_their_secrets_known_to_the_log():
    settings = read(
        MCP_SERVERS=json.dumps([WIKI, {"name": "maps", "url": "https://maps.example.org"}])
    )
    assert [(server.name, server.tools) for server in settings.mcp_servers] == [
        ("wiki", ()),
        ("maps", ()),
    ]
    assert {"planted-token", WIKI["url"]} < set(settings.secrets)
    assert "planted" not in f"{settings!r} {settings} {settings.model_dump()}"


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("planted", SHAPE),
        ("[]", SHAPE),
        pytest.param("[" * 100_000, SHAPE, id="deep"),
        ("{}", SHAPE),
        ('["planted"]', SHAPE),
        (json.dumps([{"name": "wiki"}]), SHAPE),
        (json.dumps([{**WIKI, "planted": 1}]), SHAPE),
        (json.dumps([{**WIKI, "authorization_token": 7}]), SHAPE),
        (json.dumps([{**WIKI, "tools": []}]), SHAPE),
        (json.dumps([{**WIKI, "tools": [1]}]), SHAPE),
        (
            json.dumps([{**WIKI, "name": "planted name"}]),
            "holds a name that is not 1 to 64 letters, digits, _ and -",
        ),
        (
            json.dumps([{**WIKI, "url": "http://planted"}]),
            "holds an address that is not https://, all that the provider reaches",
        ),
        (json.dumps([WIKI, WIKI]), "names two servers alike"),
    ],
)
def test_a_wrong_list_is_one_sentence(value, said):
    assert problem(MCP_SERVERS=value) == f"MCP_SERVERS {said}"


def test_a_host_that_is_not_known_to_ask_them_is_refused():
    elsewhere = {"ANTHROPIC_BASE_URL": "http://localhost:8000", "MCP_SERVERS": json.dumps([WIKI])}
    assert "names a host that is not known to ask MCP servers" in problem(**elsewhere)
    assert read(**elsewhere, PROMPT_CACHE="on").mcp_servers


def test_of_a_server_all_tools_are_offered_or_those_that_are_named():
    settings = read(
        MCP_SERVERS=json.dumps(
            [WIKI, {"name": "maps", "url": "https://m.example", "tools": ["route"]}]
        )
    )
    assert mcp_toolsets(settings.mcp_servers) == (
        {"type": "mcp_toolset", "mcp_server_name": "wiki"},
        {
            "type": "mcp_toolset",
            "mcp_server_name": "maps",
            "default_config": {"enabled": False},
            "configs": {"route": {"enabled": True}},
        },
    )
