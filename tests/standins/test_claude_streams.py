"""What the Messages stand-in sends: all kinds of events, whole answers, honest usage, signed
thinking, model cards.
"""

from __future__ import annotations

import aiohttp
import pytest
from anthropic import AsyncAnthropic, BadRequestError, NotFoundError

from bot.standins.claude.answers import call, calls, think
from bot.standins.claude.essay import essay
from bot.standins.claude.models import Offer, standard_offers
from bot.standins.claude.server import ClaudeServer

HI = [{"role": "user", "content": "hi"}]
LOOK = {"name": "look", "description": "Looks.", "input_schema": {"type": "object"}}
SHOWN = {"type": "adaptive", "display": "summarized"}
OFFERS = {
    **standard_offers(),
    "claude-sonnet-5-5": Offer(window=2000, thinking=("adaptive", "between_tools")),
    "claude-older": Offer(thinking=("disabled", "enabled")),
}


@pytest.fixture
async def server():
    async with ClaudeServer(offers=OFFERS) as running:
        yield running


@pytest.fixture
async def client(server):
    async with AsyncAnthropic(api_key=server.key, base_url=server.url, max_retries=0) as running:
        yield running


async def ask(client, messages=HI, **fields):
    fields = {"model": "claude-sonnet-5-5", "max_tokens": 500, "tools": [LOOK], **fields}
    async with client.messages.stream(messages=messages, **fields) as stream:
        return await stream.get_final_message()


async def raw_events(client, **fields):
    stream = await client.messages.create(
        model="claude-sonnet-5-5", max_tokens=500, messages=HI, tools=[LOOK], stream=True, **fields
    )
    return [event async for event in stream]


async def test_a_stream_has_all_its_events_in_order(server, client):
    server.script(think("Hm.", call("look", {"at": "it"}, text="I look.")))
    events = await raw_events(client, thinking=SHOWN)
    kinds = [getattr(getattr(event, "delta", None), "type", None) or event.type for event in events]
    assert list(dict.fromkeys(kinds)) == [
        "message_start",
        "content_block_start",
        "thinking_delta",
        "signature_delta",
        "content_block_stop",
        "text_delta",
        "input_json_delta",
        "message_delta",
        "message_stop",
    ]
    assert [event.index for event in events if event.type == "content_block_start"] == [0, 1, 2]


async def test_pings_are_sent(server):
    headers = {"authorization": f"Bearer {server.key}", "anthropic-version": "2026-10-21"}
    body = {"model": "claude-sonnet-5-5", "max_tokens": 50, "messages": HI, "stream": True}
    async with (
        aiohttp.ClientSession(server.url, headers=headers) as http,
        http.post("/v1/messages", json=body) as answer,
    ):
        assert answer.headers["content-type"].startswith("text/event-stream")
        assert 'event: ping\ndata: {"type": "ping"}\n\n' in await answer.text()


async def test_tool_input_comes_in_odd_pieces_and_arrives_whole(server, client):
    """The pieces break inside words, numbers and escapes."""
    arguments = {"text": 'строка "in quotes" 👩‍👩‍👧', "number": 12345678, "list": [1, {"a": None}]}
    server.script(call("look", arguments), call("look", arguments))
    pieces = [
        event.delta.partial_json
        for event in await raw_events(client)
        if event.type == "content_block_delta" and event.delta.type == "input_json_delta"
    ]
    assert {1, 3, 7, 2, 11} <= set(map(len, pieces))
    assert (await ask(client)).content[0].input == arguments


async def test_long_text_arrives_whole(server, client):
    """C90: the first pieces are very small."""
    text = essay(3000)
    server.script(text, text)
    first = next(
        event.delta.text
        for event in await raw_events(client)
        if event.type == "content_block_delta"
    )
    assert len(first) == 2
    assert (await ask(client, model="claude-haiku-5-5", max_tokens=9000)).content[0].text == text


async def test_streamed_or_not_the_answer_is_the_same(server, client):
    """C81."""
    server.script(*[calls(call("look", {"at": "a"}), call("look", {"at": "b"}))] * 2)
    streamed = await ask(client)
    whole = await client.messages.create(
        model="claude-sonnet-5-5", max_tokens=500, messages=HI, tools=[LOOK]
    )
    assert streamed.stop_reason == whole.stop_reason == "tool_use"
    assert [block.input for block in streamed.content] == [block.input for block in whole.content]
    assert streamed.usage == whole.usage


async def test_output_is_cut_at_max_tokens(server, client):
    server.script("word " * 400)
    message = await ask(client, max_tokens=50)
    assert message.stop_reason == "max_tokens"
    assert 40 <= message.usage.output_tokens <= 50


async def test_output_is_cut_where_the_window_ends(server, client):
    server.script("word " * 4000)
    message = await ask(client, max_tokens=5000)
    assert message.stop_reason == "model_context_window_exceeded"
    assert message.usage.input_tokens + message.usage.output_tokens <= 2000


async def test_a_stop_sequence_ends_the_answer(server, client):
    server.script("one, two, STOP, three")
    message = await ask(client, stop_sequences=["STOP"])
    assert (message.stop_reason, message.stop_sequence) == ("stop_sequence", "STOP")
    assert message.content[0].text == "one, two, "


async def test_no_tokens_at_all_only_warm_the_cache(client):
    message = await ask(client, max_tokens=0)
    assert (message.stop_reason, message.content) == ("max_tokens", [])


# ----------------------------------------------------------------------------------------- thinking


async def thought(server, client, **fields):
    """The dialogue up to the results of a call that was thought about."""
    server.script(think("I should look.", call("look")))
    answer = await ask(client, **fields)
    result = {"type": "tool_result", "tool_use_id": answer.content[-1].id, "content": "seen"}
    return [
        *HI,
        {"role": "assistant", "content": [block.to_dict() for block in answer.content]},
        {"role": "user", "content": [result]},
    ]


async def test_thinking_sent_back_as_it_came_is_accepted(server, client):
    messages = await thought(server, client)
    assert (await ask(client, messages)).stop_reason == "end_turn"


async def test_a_cache_mark_that_moves_does_not_break_thinking(server, client):
    messages = await thought(server, client, cache_control={"type": "ephemeral"})
    marked = [
        {
            "role": "user",
            "content": [{"type": "text", "text": "hi", "cache_control": {"type": "ephemeral"}}],
        }
    ]
    assert (await ask(client, [*marked, *messages[1:]])).stop_reason == "end_turn"


PREFIXES = {
    "another system prompt": lambda messages: (messages, {"system": "Be brief."}),
    "another tool list": lambda messages: (messages, {"tools": [{**LOOK, "name": "other"}]}),
    "a changed earlier message": lambda messages: (
        [{"role": "user", "content": "hello"}, *messages[1:]],
        {},
    ),
    "a message more before it": lambda messages: ([*HI, *messages], {}),
    "changed thinking": lambda messages: (_rethought(messages, thinking="Never mind."), {}),
    "a made-up signature": lambda messages: (_rethought(messages, signature="abc"), {}),
}


def _rethought(messages, **changes):
    content = messages[1]["content"]
    return [
        messages[0],
        {"role": "assistant", "content": [{**content[0], **changes}, *content[1:]]},
        messages[2],
    ]


@pytest.mark.parametrize("change", PREFIXES.values(), ids=PREFIXES.keys())
async def test_thinking_after_another_prefix_is_refused(server, client, change):
    messages, fields = change(await thought(server, client))
    with pytest.raises(
        BadRequestError, match=r"content.0: Invalid `signature` in `thinking` block"
    ):
        await ask(client, messages, **fields)


async def test_thinking_of_another_family_is_ignored(server, client):
    messages = await thought(server, client)
    assert (await ask(client, messages, model="claude-haiku-5-5")).stop_reason == "end_turn"


LOST = "The block is bound to a different conversation"


async def test_a_lost_prefix_is_told_from_a_broken_signature(server, client):
    messages = await thought(server, client)
    with pytest.raises(BadRequestError, match=LOST):
        await ask(client, messages, system="Be brief.")
    with pytest.raises(BadRequestError) as broken:
        await ask(client, _rethought(messages, signature="abc"))
    assert LOST not in broken.value.message


async def test_thinking_is_billed_but_not_shown_unless_asked_for(server, client):
    server.script(*[think("A long thought. " * 20, "Yes")] * 2)
    hidden, shown = await ask(client), await ask(client, thinking=SHOWN)
    assert hidden.content[0].thinking == ""
    assert shown.content[0].thinking.startswith("A long thought.")
    assert hidden.usage.output_tokens == shown.usage.output_tokens > 80


REMEMBER = {"name": "remember", "input_schema": {"type": "object", "properties": {}}}
KINDS = {
    "by itself before a call": ("claude-sonnet-5-5", {}, ["thinking", "tool_use"]),
    "when asked to": (
        "claude-sonnet-5-5",
        {"thinking": {"type": "adaptive"}},
        ["thinking", "tool_use"],
    ),
    "not up front": ("claude-sonnet-5-5", {"thinking": {"type": "between_tools"}}, ["tool_use"]),
    "not when told so": ("claude-haiku-5-5", {"thinking": {"type": "disabled"}}, ["tool_use"]),
    "not an older model": ("claude-older", {}, ["tool_use"]),
}


@pytest.mark.parametrize(("model", "fields", "blocks"), KINDS.values(), ids=KINDS.keys())
async def test_whether_a_model_thinks_depends_on_model_and_request(client, model, fields, blocks):
    asked = [{"role": "user", "content": "remember that I like tea"}]
    message = await ask(client, asked, model=model, tools=[REMEMBER], **fields)
    assert [block.type for block in message.content] == blocks


# ------------------------------------------------------------------------------------------- models


async def test_a_model_card_tells_limits_and_end_of_life(client):
    active, old = [
        await client.models.retrieve(name) for name in ("claude-sonnet-5-5", "claude-opus-4-5")
    ]
    assert (active.max_input_tokens, active.max_tokens, active.lifecycle) == (
        2000,
        128_000,
        "active",
    )
    assert active.capabilities.structured_outputs.supported
    assert not active.capabilities.thinking.types.disabled.supported
    assert (old.lifecycle, old.retires_at.year) == ("deprecated", 2027)


async def test_an_unknown_model_has_no_card(client):
    with pytest.raises(NotFoundError):
        await client.models.retrieve("claude-nope")


async def test_counting_tokens_agrees_with_the_bill(client):
    counted = await client.messages.count_tokens(
        model="claude-sonnet-5-5", messages=HI, tools=[LOOK]
    )
    assert counted.input_tokens == (await ask(client)).usage.input_tokens
