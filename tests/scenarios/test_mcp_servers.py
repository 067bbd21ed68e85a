"""MCP_SERVERS: the provider asks them; what they answered stays in the Session, and nothing of it
is refused later.
"""

from __future__ import annotations

import json

import pytest

from bot.standins.claude.answers import Answer, Text, Whole
from bot.standins.claude.faults import Fault
from bot.standins.claude.script import is_summary
from bot.texts import text

TOKEN, KEY = "planted-mcp-token", "planted-key-in-the-address"
WIKI = {
    "name": "wiki",
    "url": f"https://mcp.example.org/?key={KEY}",
    "authorization_token": TOKEN,
    "tools": ["look"],
}
ON = {"PROMPT_CACHE": "on", "MCP_SERVERS": json.dumps([WIKI])}
LISTING = {"type": "mcp_tool_listing", "mcp_server_name": "wiki", "tools": [{"name": "look"}]}


def asked(number, words="herons"):
    call = {
        "type": "mcp_tool_use",
        "id": f"mcptoolu_{number}",
        "name": "look",
        "server_name": "wiki",
    }
    return Whole({**call, "input": {"words": words}})


def answered(number, text="Herons fish."):
    result = {"type": "mcp_tool_result", "tool_use_id": f"mcptoolu_{number}", "is_error": False}
    return Whole({**result, "content": [{"type": "text", "text": text}]})


@pytest.fixture
def looked_up():
    """An answer that holds a call of the server, what it said, and a call that was never
    answered.
    """
    long = "Herons fish. " + "And so on. " * 2_000
    return Answer(
        (
            Whole(LISTING),
            Text("Let me see."),
            asked(1),
            answered(1, long),
            Text(" They fish."),
            asked(2),
        )
    )


def kinds(message):
    return [block["type"] for block in message["content"]]


async def test_a_server_is_asked_by_the_provider_and_its_answer_stays(
    state, anna, looked_up, caplog
):
    state.claude.script(looked_up)
    async with state.bot(**ON):
        shown = await state.ask(anna, "What do herons do?", answers=2)
        await state.ask(anna, "Thank you.")

    assert shown == f"Let me see. They fish.\n{text('ending_nothing', 'en')}"
    first, second = state.requests
    [server] = first["mcp_servers"]
    [toolset] = [tool for tool in first["tools"] if tool.get("type") == "mcp_toolset"]
    assert (server["name"], server["authorization_token"]) == ("wiki", TOKEN)
    assert toolset["configs"] == {"look": {"enabled": True}}
    assert "mcp-client" in state.claude.journal.exchanges[-1].headers["anthropic-beta"]
    assert kinds(second["messages"][1]) == ["text", "mcp_tool_use", "mcp_tool_result", "text"]
    [said] = second["messages"][1]["content"][2]["content"]
    assert said["text"].startswith("Herons fish.")
    assert len(said["text"]) <= 8_000
    stored = state.session(anna.id)["messages"]
    assert [secret for secret in (TOKEN, KEY) if secret in f"{caplog.text} {stored}"] == []


async def test_once_a_server_is_taken_away_its_answers_are_left_out(state, anna, looked_up):
    """The provider would refuse them, and with them every message of the Session."""
    state.claude.script(looked_up)
    async with state.bot(**ON):
        await state.ask(anna, "What do herons do?", answers=2)
    async with state.bot():
        await state.ask(anna, "Thank you.")
    assert "mcp_servers" not in state.requests[-1]
    assert kinds(state.requests[-1]["messages"][1]) == ["text", "text"]


async def test_a_paused_call_is_resumed_and_a_torn_one_repeated(state, anna):
    """C66: also between a call of the server and its answer."""
    state.claude.script(Answer((Text("Let me see."), asked(1)), stop="pause_turn"))
    state.claude.script(Answer((answered(1), Text(" They fish."))))
    state.claude.faults.next(Fault.dropped())
    async with state.bot(**ON):
        assert await state.ask(anna, "What do herons do?") == "Let me see. They fish."
        await state.ask(anna, "Thank you.")
    assert kinds(state.requests[2]["messages"][-1]) == ["text", "mcp_tool_use"]
    assert kinds(state.requests[3]["messages"][1]) == [
        "text",
        "mcp_tool_use",
        "mcp_tool_result",
        "text",
    ]


async def test_a_summary_reads_what_a_server_answered(state, anna, looked_up):
    state.claude.script(looked_up)
    async with state.bot(**ON, CONTEXT_TRIGGER_MESSAGES="4", CONTEXT_KEEP_MESSAGES="2"):
        await state.ask(anna, "What do herons do?", answers=2)  # the second says nothing more came
        for words in ("Thank you.", "How are you?"):
            await state.ask(anna, words)
        await state.eventually(lambda: state.session(anna.id)["summary"])
        await state.ask(anna, "And now?")
    [summary] = [one.body for one in state.claude.journal.exchanges if is_summary(one.body)]
    assert "Herons fish." in str(summary["messages"])
    assert "mcp_servers" not in summary
