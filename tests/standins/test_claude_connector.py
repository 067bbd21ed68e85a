"""The Messages stand-in holds the MCP connector to its rules: servers, toolsets, and the blocks
their answers leave.
"""

from __future__ import annotations

import pytest
import pytest_asyncio
from anthropic import APIStatusError, AsyncAnthropic

from bot.standins.claude.answers import Answer, Text, Whole
from bot.standins.claude.server import ClaudeServer

pytestmark = pytest.mark.asyncio(loop_scope="module")

BETA = "mcp-client-2026-09-15"
SERVER = {"type": "url", "name": "wiki", "url": "https://mcp.example.org"}
TOOLSET = {"type": "mcp_toolset", "mcp_server_name": "wiki"}
CALL = {
    "type": "mcp_tool_use",
    "id": "mcptoolu_1",
    "name": "look",
    "server_name": "wiki",
    "input": {},
}
RESULT = {"type": "mcp_tool_result", "tool_use_id": "mcptoolu_1", "content": "seen"}
QUESTION, AGAIN = {"role": "user", "content": "look"}, {"role": "user", "content": "again"}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server():
    async with ClaudeServer() as running:
        yield running


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def client(server):
    async with AsyncAnthropic(api_key=server.key, base_url=server.url, max_retries=0) as running:
        yield running


def body(*content, role="assistant", servers=(SERVER,), tools=(TOOLSET,), then=(AGAIN,)):
    said = [{"role": role, "content": list(content)}] if content else []
    messages = [QUESTION, *said, *then] if said else [QUESTION]
    return {
        "model": "claude-sonnet-5-5",
        "max_tokens": 100,
        "messages": messages,
        "mcp_servers": list(servers),
        "tools": list(tools),
    }


async def send(client, request, beta=BETA):
    options = {"headers": {"anthropic-beta": beta}} if beta else {}
    return await client.post("/v1/messages", body=request, cast_to=object, options=options)


REFUSED = {
    "a server without toolset": (
        body(tools=()),
        "'wiki' must be referenced by exactly one mcp_toolset",
    ),
    "a toolset without server": (body(servers=()), "MCP server 'wiki' not found in mcp_servers"),
    "two toolsets": (
        body(tools=(TOOLSET, TOOLSET)),
        "must be referenced by exactly one mcp_toolset",
    ),
    "two servers of one name": (body(servers=(SERVER, SERVER)), "server names must be unique"),
    "an open address": (
        body(servers=({**SERVER, "url": "http://mcp.example.org"},)),
        "mcp_servers.0.url",
    ),
    "an unknown field": (
        body(servers=({**SERVER, "owner": 1},)),
        "mcp_servers.0.owner: Extra inputs",
    ),
    "a call from the user": (
        body(CALL, role="user"),
        "`mcp_tool_use` blocks may only appear in `assistant`",
    ),
    "a call without result": (
        body(CALL),
        "`mcp_tool_use` blocks without `mcp_tool_result`: mcptoolu_1",
    ),
    "a result without call": (body(RESULT), "unexpected `tool_use_id` in `mcp_tool_result`"),
    "a result before its call": (
        body(RESULT, CALL),
        "unexpected `tool_use_id` in `mcp_tool_result`",
    ),
    "a call of another server": (
        body({**CALL, "server_name": "maps"}, RESULT),
        "MCP server 'maps' not found",
    ),
}


@pytest.mark.parametrize(("request_body", "words"), REFUSED.values(), ids=REFUSED)
async def test_what_does_not_fit_together_is_refused(client, request_body, words):
    with pytest.raises(APIStatusError) as refused:
        await send(client, request_body)
    assert (refused.value.status_code, refused.value.type) == (400, "invalid_request_error")
    assert words in str(refused.value.api_message)


async def test_without_the_beta_header_it_is_an_unknown_field(client):
    with pytest.raises(APIStatusError, match="mcp_servers: Extra inputs are not permitted"):
        await send(client, body(), beta="")


async def test_a_call_with_its_result_is_taken_back(client):
    assert await send(client, body(CALL, RESULT, {"type": "text", "text": "Seen."}))


async def test_a_call_inside_a_paused_message_waits_for_its_result(client):
    assert await send(client, body(CALL, then=()))


async def test_the_sdk_streams_such_an_answer(server, client):
    server.script(Answer((Whole(CALL), Whole(RESULT), Text("Seen."))))
    wanted = {name: value for name, value in body().items() if name != "stream"}
    async with client.beta.messages.stream(**wanted, betas=[BETA]) as stream:
        message = await stream.get_final_message()
    assert [block.type for block in message.content] == ["mcp_tool_use", "mcp_tool_result", "text"]
