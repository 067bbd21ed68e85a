"""Every way a model call fails, on demand, and the exception the real SDK makes of it: several are
no APIError.
"""

from __future__ import annotations

import asyncio
import json

import anthropic
import httpx2
import pytest
from anthropic import APIStatusError, AsyncAnthropic

from bot.standins.claude.answers import call, say
from bot.standins.claude.faults import Fault
from bot.standins.claude.script import is_summary
from bot.standins.claude.server import ClaudeServer

HI = [{"role": "user", "content": "hi"}]
PAY = {"name": "pay", "input_schema": {"type": "object"}}
LONG = "A rather long answer, long enough to come in several pieces of text."


@pytest.fixture
async def server():
    async with ClaudeServer() as running:
        running.script(call("pay", {"amount": 1000, "to": "bob"}, text=LONG))
        yield running


@pytest.fixture
async def client(server):
    async with AsyncAnthropic(
        api_key=server.key, base_url=server.url, max_retries=0, timeout=5
    ) as running:
        yield running


async def ask(client, messages=HI, **fields):
    async with client.messages.stream(
        model="claude-sonnet-5-5", max_tokens=500, messages=messages, tools=[PAY], **fields
    ) as stream:
        return await stream.get_final_message()


STATUSES = {
    "429": (Fault.rate_limited(), anthropic.RateLimitError, "rate_limit_error"),
    "529": (Fault.overloaded(), anthropic.OverloadedError, "overloaded_error"),
    "500": (Fault.server_error(), anthropic.InternalServerError, "api_error"),
    "502 html": (Fault.bad_gateway(), anthropic.InternalServerError, None),
    "400 too long": (Fault.too_long(), anthropic.BadRequestError, "invalid_request_error"),
    "413": (Fault.too_large(), anthropic.ContentTooLargeError, "request_too_large"),
    "401": (Fault.status(401), anthropic.AuthenticationError, "authentication_error"),
    "402": (Fault.status(402), APIStatusError, "billing_error"),
    "403": (Fault.status(403), anthropic.PermissionDeniedError, "permission_error"),
    "404": (Fault.status(404), anthropic.NotFoundError, "not_found_error"),
}


@pytest.mark.parametrize(("fault", "raised", "kind"), STATUSES.values(), ids=STATUSES.keys())
async def test_an_error_status_arrives_as_its_own_class(server, client, fault, raised, kind):
    server.faults.next(fault)
    with pytest.raises(raised) as failure:
        await ask(client)
    assert failure.value.type == kind


async def test_a_rate_limit_says_when_to_come_back(server, client):
    server.faults.next(Fault.rate_limited(171))
    with pytest.raises(anthropic.RateLimitError) as failure:
        await ask(client)
    assert failure.value.response.headers["retry-after"] == "171"


async def test_a_spent_limit_has_a_code_of_its_own(server, client):
    server.faults.next(Fault.spent("contract_spend_limit_reached"))
    with pytest.raises(anthropic.RateLimitError) as failure:
        await ask(client)
    assert failure.value.error_code == "contract_spend_limit_reached"


@pytest.mark.parametrize(
    ("fault", "status", "kind"),
    [
        (Fault.local_overflow(), 400, "exceed_context_size_error"),
        (Fault.local_loading(), 503, "unavailable_error"),
    ],
    ids=["overflow", "loading"],
)
async def test_another_servers_errors_keep_their_own_type(server, client, fault, status, kind):
    """C75: llama.cpp behind the same protocol."""
    server.faults.next(fault)
    with pytest.raises(APIStatusError) as failure:
        await ask(client)
    assert (failure.value.status_code, failure.value.type) == (status, kind)


STREAMS = {
    "dropped connection": (Fault.dropped(), httpx2.RemoteProtocolError),
    "empty stream": (Fault.empty(), AssertionError),
    "a portal's page": (Fault.portal(), AssertionError),
    "bad event json": (Fault.bad_event_json(), json.JSONDecodeError),
    "bad tool json": (Fault.garbled("{'words': 'milk'}"), ValueError),
    "wrong index": (Fault.wrong_index(), IndexError),
}


@pytest.mark.parametrize(("fault", "raised"), STREAMS.values(), ids=STREAMS.keys())
async def test_a_broken_stream_arrives_as_no_api_error(server, client, fault, raised):
    server.faults.next(fault)
    with pytest.raises(raised) as failure:
        await ask(client)
    assert not isinstance(failure.value, anthropic.APIError)


@pytest.mark.parametrize("after", [0, 2], ids=["as the first event", "after some text"])
async def test_an_error_event_inside_a_200_has_status_200(server, client, after):
    server.faults.next(Fault.error_event("overloaded_error", after=after))
    with pytest.raises(APIStatusError) as failure:
        await ask(client)
    assert (failure.value.status_code, failure.value.type) == (200, "overloaded_error")
    assert not isinstance(failure.value, anthropic.InternalServerError)


async def test_silence_before_the_headers_is_a_timeout(server, client):
    server.faults.next(Fault.silence())
    with pytest.raises(anthropic.APITimeoutError):
        await ask(client, timeout=0.1)
    server.faults.next(Fault.silence())
    with pytest.raises(anthropic.APITimeoutError):
        await client.messages.create(
            model="claude-sonnet-5-5", max_tokens=9, messages=HI, timeout=0.1
        )


async def test_a_stall_is_a_raw_read_timeout(server, client):
    server.faults.next(Fault.stalled())
    with pytest.raises(httpx2.ReadTimeout):
        await ask(client, timeout=0.1)


async def test_pings_keep_a_stall_alive_past_the_read_timeout(server, client):
    """A ping resets the read timeout although nothing comes, so a caller needs its own idle
    limit.
    """
    server.faults.next(Fault.pinging(every=0.01))
    async with client.messages.stream(
        model="claude-sonnet-5-5", max_tokens=9, messages=HI, timeout=0.2
    ) as stream:
        with pytest.raises(TimeoutError):
            await _drain(stream, seconds=0.5)
    await server.until(lambda exchanges: exchanges[0].reason == "pinging")


async def _drain(stream, seconds):
    async with asyncio.timeout(seconds):
        async for _ in stream:
            pass


@pytest.mark.parametrize(
    "fault", [Fault.ends_early(), Fault.ends_in_call()], ids=["in the text", "in a call"]
)
async def test_a_stream_that_merely_ends_raises_nothing(server, client, fault):
    """C67: success is a stop reason, not the absence of an exception."""
    server.faults.next(fault)
    message = await ask(client)
    assert message.stop_reason is None
    assert message.content


async def test_a_missing_message_stop_is_still_a_whole_answer(server, client):
    server.faults.next(Fault.no_message_stop())
    message = await ask(client)
    assert (message.stop_reason, message.content[0].text) == ("tool_use", LONG)


async def test_a_call_cut_at_max_tokens_looks_whole_and_is_not(server, client):
    server.faults.next(Fault.cut_in_call())
    message = await ask(client)
    assert (message.stop_reason, message.content[-1].input) == ("max_tokens", {"amount": 1000})


async def test_the_sdk_makes_a_shorter_call_of_one_that_is_cut(server, client):
    """Hence our own adapter reads the events itself."""
    server.faults.next(Fault.garbled('{"amount": 1000, "to": "bo'))
    message = await ask(client)
    assert (message.stop_reason, message.content[-1].input) == ("tool_use", {"amount": 1000})


async def test_a_refusal_names_its_category(server, client):
    server.faults.next(Fault.refusal("bio"))
    message = await ask(client)
    assert (message.stop_reason, message.stop_details.category) == ("refusal", "bio")


async def test_a_paused_turn_goes_on_when_it_is_sent_back(server, client):
    server.faults.next(Fault.paused())
    server.script("There.", when=lambda body: len(body["messages"]) == 2)
    paused = await ask(client, [{"role": "user", "content": "search"}])
    assert paused.stop_reason == "pause_turn"
    content = [block.to_dict() for block in paused.content if block.type != "tool_use"]
    after = await ask(client, [*HI, {"role": "assistant", "content": content}])
    assert after.content[0].text == "There."


ODD = {
    "a full window": (Fault.window_exceeded(), "model_context_window_exceeded", 2),
    "no words": (Fault.wordless(), "end_turn", 0),
    "an unknown reason": (Fault.stopping("cosmic_ray"), "cosmic_ray", 2),
    "an unknown block": (Fault.unknown_block(), "tool_use", 3),
}


@pytest.mark.parametrize(("fault", "reason", "blocks"), ODD.values(), ids=ODD.keys())
@pytest.mark.parametrize("streamed", [True, False], ids=["streamed", "whole"])
async def test_an_odd_end_is_no_exception(server, client, fault, reason, blocks, streamed):
    server.faults.next(fault)
    create = client.messages.create
    whole = {"model": "claude-sonnet-5-5", "max_tokens": 500, "messages": HI, "tools": [PAY]}
    message = await ask(client) if streamed else await create(**whole)
    assert (message.stop_reason, len(message.content)) == (reason, blocks)


async def test_the_retry_after_a_failure_gets_the_scripted_answer(server, client):
    server.faults.next(Fault.overloaded(), Fault.ends_early())
    with pytest.raises(anthropic.OverloadedError):
        await ask(client)
    assert (await ask(client)).stop_reason is None
    assert (await ask(client)).content[0].text == LONG
    assert server.unsaid == 0


async def test_ids_of_a_retried_call_are_new(server, client):
    """Hence a tool with outside effects cannot rely on them to act once."""
    server.faults.next(Fault.ends_in_call())
    torn, whole = await ask(client), await ask(client)
    assert torn.content[-1].id != whole.content[-1].id


async def test_a_fault_hits_only_the_requests_meant(server, client):
    server.faults.next(Fault.overloaded(), when=is_summary, times=2)
    assert (await ask(client)).stop_reason == "tool_use"
    for _ in range(2):
        with pytest.raises(anthropic.OverloadedError):
            await summarise(client)
    assert (await summarise(client)).stop_reason == "end_turn"


async def summarise(client):
    transcript = [{"role": "user", "content": '<transcript seq="0..1">\nuser: hi\n</transcript>'}]
    return await client.messages.create(
        model="claude-haiku-5-5", max_tokens=900, messages=transcript
    )


async def test_a_fault_can_last_until_it_is_cleared(server, client):
    server.faults.next(Fault.server_error(), times=None)
    for _ in range(3):
        with pytest.raises(anthropic.InternalServerError):
            await ask(client)
    server.faults.clear()
    assert (await ask(client)).stop_reason == "tool_use"


async def test_an_invalid_request_is_refused_even_while_a_fault_waits(server, client):
    server.faults.next(Fault.overloaded())
    with pytest.raises(anthropic.BadRequestError):
        await ask(client, [{"role": "user", "content": ""}])


async def test_a_slow_answer_can_be_left_at_once(server, client):
    """The journal says that the client went away; the next request is served."""
    server.script(say("word " * 200))
    await ask(client)
    server.faults.slow(5)
    async with client.messages.stream(
        model="claude-sonnet-5-5", max_tokens=500, messages=HI
    ) as stream:
        await anext(aiter(stream))
    exchanges = await server.until(lambda seen: seen[-1].state == "left")
    assert [exchange.state for exchange in exchanges] == ["answered", "left"]
    server.faults.clear()
    assert (await ask(client)).stop_reason == "end_turn"
