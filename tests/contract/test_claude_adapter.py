"""The real SDK against the strict stand-in: every way a model call can end, and what is sent."""

from __future__ import annotations

import asyncio
import json

import httpx2
import pytest

from bot.agent.claude import Claude, Endpoint, body
from bot.agent.model_failures import classify
from bot.agent.prompt import STOPPED
from bot.agent.tool_runner import NOT_WHOLE
from bot.errors import (
    EmptyAnswer,
    FilesRefused,
    ModelBusy,
    ModelError,
    ModelMisconfigured,
    ModelRefused,
    ModelUnknown,
    PromptTooLong,
)
from bot.ports import Request
from bot.session import number
from bot.settings import ANTHROPIC_URL
from bot.standins.claude.answers import Answer, Text, ToolCall, Whole, call, calls, think
from bot.standins.claude.faults import Fault, Reply
from bot.standins.claude.garbled import GARBLED
from bot.standins.claude.server import ClaudeServer
from bot.usage import Usage
from tests.agents import MODEL, StreamedText, results, run, tool
from tests.builders import NOON, dialogue, question, session, text

KEY = "sk-ant-planted-secret"
SILENCE = 1.5


@pytest.fixture
async def server():
    async with ClaudeServer(key=KEY) as server:
        yield server


@pytest.fixture
async def claude(server):
    made = Claude(Endpoint(server.url, KEY), silence_seconds=SILENCE)
    yield made
    await made.aclose()


def request(words="hello", **changes):
    plain = {
        "model": MODEL,
        "system": "Be kind.",
        "messages": [{"role": "user", "content": [text(words)]}],
    }
    return Request(**plain | changes)


async def ask(claude, **changes):
    pieces: list[str] = []
    return await claude.complete(request(**changes), pieces.append), "".join(pieces)


def coded(status, kind, code=None, **headers):
    """An error answer with a stable code."""
    error = {"type": kind, "message": f"do not quote {KEY}", "details": {"error_code": code}}
    wire = {name.replace("_", "-"): value for name, value in headers.items()}
    return Fault(kind, Reply(status, json.dumps({"type": "error", "error": error}), headers=wire))


# -------------------------------------------------------------------------------- the failure table

TRANSIENT = {
    "429": Fault.rate_limited(),
    "529": Fault.overloaded(),
    "500": Fault.server_error(),
    "502 with a web page": Fault.bad_gateway(),
    "503 while loading": coded(503, "unavailable_error"),
    "408": Fault.status(408),
    "an error as the first event": Fault.error_event(),
    "an error in mid-stream": Fault.error_event(after=2),
    "an unknown error in mid-stream": Fault.error_event("mystery_error", after=1),
    "no headers": Fault.silence(),
    "a dropped connection": Fault.dropped(),
    "a stall": Fault.stalled(),
    "pings and nothing else": Fault.pinging(),
    "an early end": Fault.ends_early(),
    "an empty stream": Fault.empty(),
    "a captive portal": Fault.portal(),
    "broken JSON in an event": Fault.bad_event_json(),
    "a wrong block index": Fault.wrong_index(),
    "a 400 that may be repeated": coded(400, "invalid_request_error", x_should_retry="true"),
}
TOO_LONG = {
    "400 prompt is too long": Fault.too_long(),
    "413": Fault.too_large(),
    "llama.cpp": coded(400, "exceed_context_size_error"),
    "in a stream": Fault.error_event("request_too_large"),
}
FATAL = {
    "400": Fault.status(400, "messages.0: something is odd"),
    "401": Fault.status(401, f"invalid key {KEY}"),
    "402": Fault.status(402),
    "403": Fault.status(403),
    "422": coded(422, "api_error"),
    "a spent ramp": coded(429, "rate_limit_error", "ramp_limit_exceeded", retry_after="5"),
    "a spent contract": coded(429, "rate_limit_error", "contract_spend_limit_reached"),
    "an enforced spend limit": coded(429, "rate_limit_error", "enforced_spend_limit_reached"),
    "an invalid request in a stream": Fault.error_event("invalid_request_error"),
}
OF_A_FILE = {
    "a broken picture": Fault.status(
        400, "messages.0.content.1.image.source.base64.data: Could not process image"
    ),
    "too many pages": Fault.status(400, "A maximum of 100 PDF pages may be provided."),
    "a protected PDF": Fault.status(400, "The PDF specified is password protected."),
    "too many of them": Fault.status(400, "too many images and documents: 104 + 1 > 100"),
    "llama.cpp without eyes": Fault.status(
        500, "image input is not supported - hint: you may need to provide the mmproj"
    ),
    "vLLM without eyes": Fault.status(400, "At most 0 image(s) may be provided in one request."),
}
TABLE = [
    *((name, fault, ModelBusy) for name, fault in TRANSIENT.items()),
    *((name, fault, PromptTooLong) for name, fault in TOO_LONG.items()),
    *((name, fault, ModelMisconfigured) for name, fault in FATAL.items()),
    ("404", Fault.status(404, "model: nosuch"), ModelUnknown),
    *((name, fault, FilesRefused) for name, fault in OF_A_FILE.items()),
]


@pytest.mark.parametrize(
    ("fault", "kind"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE]
)
async def test_every_failure_has_a_name_of_ours(server, claude, fault, kind):
    """C64, C67; no vendor text, which may quote a key or a person, gets into the message."""
    server.script("The capital of France is Paris.")
    server.faults.next(fault)
    with pytest.raises(ModelError) as failure:
        await ask(claude)
    assert type(failure.value) is kind
    assert KEY not in str(failure.value)
    assert "do not quote" not in str(failure.value)
    assert failure.value.__cause__ is None


async def test_a_stream_that_ends_inside_a_call_is_repeated(server, claude):
    """C67, C75"""
    server.script(call("echo", {"words": "a long enough argument"}), "Done.")
    server.faults.next(Fault.ends_in_call())
    answer = await run(claude, tool())
    assert results(answer) == [("echo: a long enough argument", False)]
    assert [exchange.state for exchange in server.journal.exchanges] == [
        "faulted",
        "answered",
        "answered",
    ]


@pytest.mark.parametrize("written", GARBLED.values(), ids=GARBLED)
async def test_arguments_that_are_not_one_whole_object_are_told_to_the_model_and_never_run(
    server, claude, written
):
    """C145: the call is not repeated by us, nothing is billed twice, and what is stored is
    legal.
    """
    ran = []

    async def note(context, given):
        ran.append(given)
        return "noted"

    server.script(call("note", {"words": "milk"}), "I could not note it.")
    server.faults.next(Fault.garbled(written))
    answer = await run(claude, tool("note", note))
    assert ran == []
    assert results(answer) == [(NOT_WHOLE, True)]
    assert [exchange.state for exchange in server.journal.exchanges] == ["answered", "answered"]
    assert answer.usage.output_tokens == sum(
        one.usage["output_tokens"] for one in server.journal.exchanges
    )
    await next_is_answered(server, claude, answer)


async def test_a_whole_call_beside_a_garbled_one_is_run(server, claude):
    """C145"""
    garbled = ToolCall("echo", partial='{"words": "mi')
    server.script(
        Answer((garbled, ToolCall("echo", {"words": "tea", "extra": None}), ToolCall("echo"))),
        "Half of it.",
    )
    answer = await run(claude, tool())
    assert [is_error for _, is_error in results(answer)] == [True, True, False]
    assert results(answer)[2] == ("echo: ", False)
    assert answer.exchange[0][1][1]["input"] == {"words": "tea", "extra": None}


async def test_a_model_that_garbles_every_call_comes_to_an_end(server, claude):
    server.script(*(Answer((ToolCall("echo", partial="{"),)) for _ in range(9)))
    answer = await run(claude, tool(), model_calls=4)
    assert (answer.ending, len(server.journal.exchanges)) == ("limit", 4)
    assert set(results(answer)) == {(NOT_WHOLE, True)}


async def test_a_connection_that_breaks_behind_the_stop_reason_costs_nothing_more(server, claude):
    server.script("The capital of France is Paris.")
    server.faults.next(Fault.dropped_at_the_end())
    assert (await run(claude)).text == "The capital of France is Paris."
    assert len(server.journal.exchanges) == 1


async def test_what_was_written_and_shown_to_nobody_is_told_as_it_comes(server, claude):
    """C149: it is paid for, also where the call breaks before the provider reports it."""
    server.script(call("echo", {"words": "a long enough argument to be cut somewhere"}))
    server.faults.next(Fault.dropped(after=6, inside="input_json_delta"))
    hidden: list[str] = []
    with pytest.raises(ModelBusy) as failure:
        await claude.complete(request(tools=(tool().spec,)), hidden.append, on_hidden=hidden.append)
    assert "".join(hidden).startswith('{"words": "a')
    assert (failure.value.usage or Usage()).input_tokens == server.journal.exchanges[0].prompt.total


@pytest.mark.parametrize("fault", TRANSIENT.values(), ids=TRANSIENT)
async def test_what_passes_is_repeated_and_the_person_sees_one_answer(server, claude, fault):
    """C18, C69, C73"""
    server.script("The capital of France is Paris.")
    server.faults.next(fault)
    streamed = StreamedText()
    answer = await run(claude, streamed=streamed)
    assert answer.text == streamed.shown == "The capital of France is Paris."
    assert len(server.journal.exchanges) == 2
    first, second = (exchange.raw for exchange in server.journal.exchanges)
    assert first == second


@pytest.mark.parametrize("fault", [*TOO_LONG.values(), *FATAL.values()], ids=[*TOO_LONG, *FATAL])
async def test_what_does_not_pass_is_asked_once(server, claude, fault):
    """C65: the turn leaves no trace, and the next one is answered."""
    server.faults.next(fault)
    streamed = StreamedText()
    with pytest.raises(ModelError):
        await run(claude, streamed=streamed)
    assert (len(server.journal.exchanges), streamed.shown) == (1, "")
    server.script("Yes.")
    assert (await run(claude)).text == "Yes."


@pytest.mark.parametrize(
    ("header", "seconds"), [("7", 7), ("0.5", 0.5), ("soon", None), ("-3", None), ("nan", None)]
)
async def test_the_wait_a_provider_asks_for_is_passed_on(server, claude, header, seconds):
    server.faults.next(Fault.status(429, retry_after=header))
    with pytest.raises(ModelBusy) as failure:
        await ask(claude)
    assert failure.value.retry_after == seconds


async def test_milliseconds_are_more_precise(server, claude):
    server.faults.next(Fault.status(529, retry_after_ms="250", retry_after="1"))
    with pytest.raises(ModelBusy) as failure:
        await ask(claude)
    assert failure.value.retry_after == 0.25


async def test_a_server_that_is_not_there_is_busy():
    claude = Claude(Endpoint("http://127.0.0.1:9", KEY))
    with pytest.raises(ModelBusy):
        await ask(claude)
    await claude.aclose()


async def test_a_torn_stream_says_what_it_cost(server, claude):
    """C78"""
    server.faults.next(Fault.dropped())
    with pytest.raises(ModelBusy) as failure:
        await ask(claude)
    assert (failure.value.usage or Usage()).input_tokens == server.journal.exchanges[0].prompt.total


@pytest.mark.parametrize(
    "error", [httpx2.ReadTimeout("x"), httpx2.RemoteProtocolError("x"), IndexError(), ValueError()]
)
def test_what_the_sdk_lets_through_passes_by_waiting(error):
    assert type(classify(error)) is ModelBusy


# ----------------------------------------------------------------------------- how a call ends well


async def test_words_come_in_pieces_and_add_up(server, claude):
    server.script("The capital of France is Paris.")
    completion, shown = await ask(claude)
    assert completion.text == shown == "The capital of France is Paris."
    assert completion.content == (text("The capital of France is Paris."),)


async def test_the_whole_prompt_is_in_the_usage(server, claude):
    completion, _ = await ask(claude)
    assert completion.usage.prompt_tokens == server.journal.exchanges[0].prompt.total
    assert completion.usage.output_tokens == server.journal.exchanges[0].usage["output_tokens"]


async def test_a_missing_message_stop_is_forgiven(server, claude):
    """C68"""
    server.faults.next(Fault.no_message_stop())
    server.script("Yes.")
    assert (await run(claude)).text == "Yes."
    assert len(server.journal.exchanges) == 1


async def test_a_slow_answer_is_not_cut_as_long_as_it_goes_on(server, claude):
    """C70"""
    server.faults.slow(SILENCE / 5)
    server.script("one two three four five six seven eight nine ten eleven twelve")
    began = asyncio.get_running_loop().time()
    completion, _ = await ask(claude)
    assert completion.text.endswith("twelve")
    assert asyncio.get_running_loop().time() - began > SILENCE


async def test_calls_and_thinking_come_back_as_they_were_sent(server, claude):
    """The stand-in checks each thinking block's signature against the prefix it was thought in."""
    server.script(
        think("hm", calls(call("echo", {"words": "one"}), call("echo", {"words": "two"}))), "Both."
    )
    answer = await run(claude, tool())
    assert results(answer) == [("echo: one", False), ("echo: two", False)]
    assert server.journal.refusals == ()


MADE_UP = {
    "no name": ToolCall("", {"words": "heron"}),
    "a name with spaces": ToolCall("echo the heron\n", {"words": "heron"}),
    "a name too long": ToolCall("echo" * 1000, {"words": "heron"}),
    "a list": ToolCall("echo", partial='["heron"]'),
    "too large a number": ToolCall("echo", partial='{"words": 1e999}'),
    "no number": ToolCall("echo", partial='{"words": [NaN, -Infinity]}'),
}


@pytest.mark.parametrize("made_up", MADE_UP)
async def test_a_call_no_server_would_take_back_fails_no_turn_and_is_not_printed(
    server, claude, made_up, caplog
):
    server.script(Answer((MADE_UP[made_up],)), "Sorry.")
    answer = await run(claude, tool())
    assert answer.text == "Sorry."
    assert len(results(answer)) == 1
    assert server.journal.refusals == ()
    assert "heron" not in caplog.text


async def test_an_unknown_block_is_survived_and_not_stored(server, claude):
    server.faults.next(Fault.unknown_block())
    server.script("Yes.")
    answer = await run(claude)
    assert answer.exchange == (("assistant", (text("Yes."),)),)


async def test_fields_that_say_nothing_are_not_stored(server, claude):
    server.script(Answer((Whole({"type": "text", "text": "Yes.", "citations": None}),)))
    completion, _ = await ask(claude)
    assert completion.content == (text("Yes."),)


ENDINGS = {
    "end_turn": (None, "Half a sentence", "", 1),
    "stop_sequence": (Fault.stopping("stop_sequence"), "Half a sentence", "", 1),
    "unknown": (Fault.stopping("brand_new"), "Half a sentence", "", 1),
    "max_tokens": (Fault.stopping("max_tokens"), "Half a sentence", "cut", 1),
    "max_tokens in a call": (Fault.cut_in_call(), "Half a sentence", "cut", 1),
    "window exceeded": (Fault.window_exceeded(), "Half a sentence", "cut", 1),
    "pause_turn": (Fault.paused(), "Half a sentence and the rest", "", 2),
}


@pytest.mark.parametrize(("fault", "words", "ending", "asked"), ENDINGS.values(), ids=ENDINGS)
async def test_every_stop_reason_ends_the_turn_in_words(
    server, claude, fault, words, ending, asked
):
    """C66; what is stored is accepted with the next question."""
    server.script("Half a sentence", *([" and the rest"] if asked == 2 else []))
    server.faults.next(*([fault] if fault else []))
    answer = await run(claude, tool())
    assert (answer.text, answer.ending, len(server.journal.exchanges)) == (words, ending, asked)
    await next_is_answered(server, claude, answer)


async def next_is_answered(server, claude, answer):
    of = session()
    asked = [
        ("user", (text("hello"),), 1),
        *((role, content, 1) for role, content in answer.exchange),
    ]
    of.messages += number(of, 1, asked, NOON)
    server.script("The next answer.")
    assert (await run(claude, tool(), of=of, asked="And now?")).text == "The next answer."
    assert server.journal.refusals == ()


async def test_a_refusal_is_raised_and_taken_back(server, claude):
    server.script("Surely, first you")
    server.faults.next(Fault.refusal())
    streamed = StreamedText()
    with pytest.raises(ModelRefused):
        await run(claude, streamed=streamed)
    assert streamed.shown == ""


async def test_no_word_at_all_is_an_empty_answer(server, claude):
    server.faults.next(Fault.wordless())
    with pytest.raises(EmptyAnswer):
        await run(claude)


async def test_a_turn_stopped_at_its_limit_is_accepted_with_the_next_question(server, claude):
    """C71"""
    server.script(*(call("echo", {"words": "same"}) for _ in range(4)))
    answer = await run(claude, tool(), model_calls=4)
    assert answer.exchange[-1] == ("assistant", (text(STOPPED),))
    await next_is_answered(server, claude, answer)


async def test_only_a_call_that_reached_nobody_is_known_to_be_free():
    """A server that hangs up may have read the question, and bills it."""

    async def hang_up(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.close()

    usages = []
    listener = await asyncio.start_server(hang_up, "127.0.0.1", 0)
    port = listener.sockets[0].getsockname()[1]
    for _ in range(2):
        model = Claude(Endpoint(f"http://127.0.0.1:{port}", KEY))
        with pytest.raises(ModelBusy) as failed:
            await model.complete(request(), lambda _: None)
        usages.append(failed.value.usage)
        await model.aclose()
        listener.close()
    assert usages == [None, Usage()]


async def test_cancelling_leaves_no_open_connection(server, claude):
    server.script("Once upon a time")
    server.faults.next(Fault.stalled())
    streamed = StreamedText()
    running = asyncio.ensure_future(run(claude, streamed=streamed))
    await server.until(lambda exchanges: bool(exchanges) and exchanges[0].prompt is not None)
    async with asyncio.timeout(60):
        while not streamed.shown:  # noqa: ASYNC110 - a plain value of a fake
            await asyncio.sleep(0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    async with asyncio.timeout(60):
        while server.connections:  # noqa: ASYNC110 - the kernel tells when it is closed
            await asyncio.sleep(0.01)


# ------------------------------------------------------------------------------------- what is sent


async def test_our_key_is_used_whatever_the_environment_holds(server, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "another")
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "yet another")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    claude = Claude(Endpoint(server.url, KEY))
    await ask(claude)
    await claude.aclose()
    assert server.journal.refusals == ()


async def test_exactly_one_kind_of_credential_is_sent(server):
    """C122: the stand-in names what it got; with both headers it would say so."""
    claude = Claude(Endpoint(server.url, KEY, credential="x-api-key"))
    with pytest.raises(ModelMisconfigured, match="401"):
        await ask(claude)
    await claude.aclose()
    assert [refused.reason for refused in server.journal.refusals] == ["invalid x-api-key"]


async def test_a_server_without_a_key_is_asked_all_the_same(server):
    claude = Claude(Endpoint(server.url, ""))
    with pytest.raises(ModelMisconfigured, match="authentication_error"):
        await ask(claude)
    await claude.aclose()


@pytest.mark.parametrize(
    ("url", "caching"),
    [(ANTHROPIC_URL, True), (f"{ANTHROPIC_URL}/", True), ("http://gpu:8080", False)],
)
def test_an_unknown_server_gets_plain_requests(url, caching):
    """C75"""
    sent = body(request(), Endpoint.at(url, KEY))
    assert ("cache_control" in json.dumps(sent)) is caching
    assert sent.keys().isdisjoint({"thinking", "output_config"})


@pytest.mark.parametrize("url", [ANTHROPIC_URL, "http://gpu:8080"])
def test_an_operator_decides_whether_the_cache_is_marked(url):
    for caching in ("on", "off"):
        sent = body(request(), Endpoint.at(url, KEY, caching=caching))
        assert ("cache_control" in json.dumps(sent)) is (caching == "on")


def test_a_request_that_is_made_once_is_not_written_to_the_cache():
    """A write costs more than plain input: the transcript of a summary is never read again."""
    sent = body(request(once=True), Endpoint.at(ANTHROPIC_URL, KEY))
    assert "cache_control" not in json.dumps(sent)


async def test_thinking_and_effort_are_asked_for_as_set(server, claude):
    """The stand-in refuses what the model does not know."""
    await ask(claude, thinking="between_tools", effort="low")
    sent = server.journal.exchanges[0].body
    assert (sent["thinking"], sent["output_config"]) == (
        {"type": "between_tools"},
        {"effort": "low"},
    )


async def test_a_request_without_tools_says_nothing_of_tools(server, claude):
    await ask(claude)
    assert set(server.journal.exchanges[0].body) == {
        "model",
        "max_tokens",
        "messages",
        "system",
        "stream",
    }


async def test_the_person_is_named_opaquely(server, claude):
    await run(claude)
    named = server.journal.exchanges[0].body["metadata"]["user_id"]
    assert len(named) == 64
    assert "1001" not in named


async def test_the_next_turn_reads_what_the_last_one_wrote_to_the_cache(server):
    claude = Claude(Endpoint(server.url, KEY, caching=True))
    words = "A long and winding story about tea. " * 300
    of = session(messages=dialogue(2, words=words))
    answer = await run(claude, tool(), of=of)
    asked = [
        ("user", (text("hello"),), 1),
        *((role, content, 1) for role, content in answer.exchange),
    ]
    of.messages += number(of, 9, asked, question().at)
    later = await run(claude, tool(), of=of, asked="And now?")
    await claude.aclose()
    assert answer.usage.cache_write_tokens > 1000
    assert later.usage.cache_read_tokens >= answer.usage.cache_write_tokens
    assert later.usage.input_tokens + later.usage.cache_write_tokens < 200
    assert server.journal.refusals == ()


async def test_usage_of_a_turn_is_the_sum_the_server_billed(server, claude):
    """C78, C81"""
    server.script(call("echo", {"words": "tea"}), "Done.")
    server.faults.next(Fault.overloaded())
    answer = await run(claude, tool())
    billed = [exchange.usage for exchange in server.journal.exchanges if exchange.usage]
    assert answer.usage == Usage(
        input_tokens=sum(usage["input_tokens"] for usage in billed),
        output_tokens=sum(usage["output_tokens"] for usage in billed),
    )


async def test_what_the_provider_runs_by_itself_is_told_while_it_runs(server, claude):
    """In its place among the words, so that a person sees what the silence is."""
    search = {
        "type": "server_tool_use",
        "id": "srvtoolu_1",
        "name": "web_search",
        "input": {"query": "herons"},
    }
    found = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
    server.script(Answer((Text("Let me look."), Whole(search), Whole(found), Text("They fish."))))
    heard: list[str] = []
    tools = ({"type": "web_search_20250305", "name": "web_search"},)
    await claude.complete(
        request(tools=tools), heard.append, lambda _: None, lambda name: heard.append(f"({name})")
    )
    assert "".join(heard) == "Let me look.(web_search)They fish."


@pytest.mark.parametrize(("model", "lines"), [("claude-opus-4-5", 1), ("claude-sonnet-5-5", 0)])
async def test_a_model_that_will_be_retired_is_told_of_at_the_start(
    server, claude, caplog, model, lines
):
    card, offer = await claude.card(model), server.offers[model]
    assert (card.window, card.max_tokens) == (offer.window, offer.max_answer_tokens)
    assert caplog.text.count("ends on 2027-01-22: choose another MODEL") == lines
