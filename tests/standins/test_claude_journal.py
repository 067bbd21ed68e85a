"""What a test can see of the Messages stand-in, and how it tells the stand-in what to say."""

from __future__ import annotations

import asyncio
import dataclasses

import pytest
from anthropic import AsyncAnthropic, BadRequestError

from bot.standins.claude.answers import call, say
from bot.standins.claude.faults import Fault
from bot.standins.claude.script import is_summary
from bot.standins.claude.server import ClaudeServer

HI = [{"role": "user", "content": "hi"}]
SUMMARY = [{"role": "user", "content": "<transcript>\nuser: hi\n</transcript>"}]


@pytest.fixture
async def server():
    async with ClaudeServer(key="sk-planted-secret") as running:
        yield running


@pytest.fixture
async def client(server):
    async with AsyncAnthropic(api_key=server.key, base_url=server.url, max_retries=0) as running:
        yield running


async def ask(client, messages=HI):
    answer = await client.messages.create(
        model="claude-sonnet-5-5", max_tokens=300, messages=messages
    )
    return answer.content[-1].text


async def test_the_journal_holds_what_was_asked_and_answered(server, client):
    server.script("Hello")
    await ask(client)
    (exchange,) = server.journal.exchanges
    assert exchange.path == "/v1/messages"
    assert exchange.body["messages"] == HI
    assert b'"hi"' in exchange.raw
    assert exchange.headers["anthropic-version"] == "2026-10-21"
    assert exchange.answer["content"] == [{"type": "text", "text": "Hello"}]
    assert exchange.usage["input_tokens"] == exchange.prompt.total
    assert exchange.state == "answered"


async def test_a_key_never_gets_into_the_journal(server, client):
    await ask(client)
    assert server.key not in repr(server.journal.exchanges)


async def test_entries_are_frozen_and_in_order(server, client):
    for number in range(3):
        await ask(client, [{"role": "user", "content": f"echo {number}"}])
    exchanges = server.journal.exchanges
    assert [exchange.number for exchange in exchanges] == [0, 1, 2]
    with pytest.raises(dataclasses.FrozenInstanceError):
        exchanges[0].state = "left"


async def test_a_refusal_is_noted_with_its_reason(server, client):
    with pytest.raises(BadRequestError):
        await ask(client, [{"role": "assistant", "content": "hi"}])
    (refusal,) = server.journal.refusals
    assert "first message" in refusal.reason
    assert refusal.usage == {}


async def test_a_failed_stream_still_cost_its_prompt(server, client):
    server.faults.next(Fault.ends_early())
    async with client.messages.stream(
        model="claude-sonnet-5-5", max_tokens=9, messages=HI
    ) as stream:
        await stream.get_final_message()
    (exchange,) = server.journal.exchanges
    assert (exchange.state, exchange.reason, exchange.prompt.total > 0) == (
        "faulted",
        "ends early",
        True,
    )


async def test_a_test_can_wait_for_a_request(server, client):
    waiting = asyncio.create_task(server.until(lambda exchanges: len(exchanges) == 2))
    await ask(client)
    assert not waiting.done()
    await ask(client)
    assert len(await waiting) == 2


async def test_waiting_has_a_limit(server):
    with pytest.raises(TimeoutError):
        await server.until(bool, seconds=0.01)


async def test_a_script_is_said_in_order_and_then_the_mind_goes_on(server, client):
    server.script("one", say("two"), lambda body: say(f"{len(body['messages'])} message"))
    assert [await ask(client) for _ in range(3)] == ["one", "two", "1 message"]
    assert "listening" in await ask(client)


async def test_a_script_leaves_summaries_to_the_mind_unless_told_otherwise(server, client):
    server.script("for the chat")
    assert "The user and the assistant" in await ask(client, SUMMARY)
    server.script("for the summary", when=is_summary)
    assert await ask(client, SUMMARY) == "for the summary"
    assert await ask(client) == "for the chat"


async def test_what_was_not_asked_for_is_counted(server, client):
    server.script("one", call("look"))
    await ask(client)
    assert server.unsaid == 1


async def test_closing_ends_what_still_hangs(client, server):
    server.faults.next(Fault.silence())
    hanging = asyncio.create_task(ask(client))
    await server.until(lambda exchanges: exchanges[-1].reason == "silence" if exchanges else False)
    async with asyncio.timeout(60):
        await server.__aexit__(None, None, None)
    with pytest.raises(Exception, match=r"503|onnection"):
        await hanging
