"""The Messages stand-in refuses each thing the real API refuses: one rule, one test, sent by the
real SDK.
"""

from __future__ import annotations

import base64
import copy

import aiohttp
import pytest
import pytest_asyncio
from anthropic import APIStatusError, AsyncAnthropic

from bot.standins.claude.exchange import BODY_BYTES
from bot.standins.claude.models import Offer
from bot.standins.claude.server import ClaudeServer
from tests.samples import pdf, png

pytestmark = pytest.mark.asyncio(loop_scope="module")

TOOL = {
    "name": "look",
    "description": "Looks.",
    "input_schema": {"type": "object", "properties": {}},
}
CALL = {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "seen"}
HI = {"type": "text", "text": "hi"}
PNG = base64.b64encode(png()).decode()
MARK = {"cache_control": {"type": "ephemeral"}}
OFFERS = {
    "claude-sonnet-5-5": Offer(
        2000, 1000, thinking=("adaptive", "between_tools"), forced_calls=False
    ),
    "claude-haiku-5-5": Offer(2000, 1000, thinking=("adaptive", "disabled")),
    "claude-opus-4-5": Offer(2000, 1000, thinking=("disabled", "enabled")),
}
OLD = {"model": "claude-opus-4-5"}
LOOKED = [
    {"role": "user", "content": "look"},
    {"role": "assistant", "content": [CALL]},
    {"role": "user", "content": [RESULT]},
]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server():
    async with ClaudeServer(offers=OFFERS) as running:
        yield running


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def client(server):
    async with AsyncAnthropic(api_key=server.key, base_url=server.url, max_retries=0) as running:
        yield running


def body(**fields):
    return {
        "model": "claude-sonnet-5-5",
        "max_tokens": 100,
        "messages": [{"role": "user", "content": "hi"}],
        **fields,
    }


def talk(*messages, **fields):
    return body(
        messages=[{"role": role, "content": content} for role, content in messages], **fields
    )


def looked(index, content, **fields):
    """The lawful dialogue around a call, with one message changed."""
    messages = copy.deepcopy(LOOKED)
    messages[index]["content"] = content
    return body(messages=messages, tools=[TOOL], **fields)


def strict(property_schema):
    """A request with a strict tool of one property."""
    schema = {"type": "object", "properties": {"a": property_schema}, "additionalProperties": False}
    return body(tools=[{**TOOL, "strict": True, "input_schema": schema}])


def without(field):
    return {key: value for key, value in body().items() if key != field}


def shown(raw, kind="image", media_type="image/png"):
    return {
        "type": kind,
        "source": {
            "type": "base64",
            "media_type": media_type,
            "data": base64.b64encode(raw).decode(),
        },
    }


def paper(raw):
    return shown(raw, "document", "application/pdf")


def image(**source):
    return talk(
        (
            "user",
            [{"type": "image", "source": {"type": "base64", "media_type": "image/png", **source}}],
        )
    )


SHAPES = {
    "temperature": (body(temperature=1.0), "temperature: Extra inputs are not permitted"),
    "top_p": (body(top_p=0.5), "top_p: Extra inputs are not permitted"),
    "a field inside a block": (
        talk(("user", [{**HI, "parsed_output": None}])),
        "messages.0.content.0.text.parsed_output: Extra inputs are not permitted",
    ),
    "a field inside a message": (
        body(messages=[{"role": "user", "content": "hi", "seq": 1}]),
        "messages.0.seq: Extra inputs are not permitted",
    ),
    "a field inside a tool": (
        body(tools=[{**TOOL, "owner": 1}]),
        "tools.0.custom.owner: Extra inputs are not",
    ),
    "no max_tokens": (without("max_tokens"), "max_tokens: Field required"),
    "no messages": (without("messages"), "messages: Field required"),
    "no model": (without("model"), "model: Field required"),
    "max_tokens as text": (body(max_tokens="100"), "max_tokens: Input should be a valid integer"),
    "a longer answer than the model writes": (
        body(max_tokens=1001),
        "max_tokens: 1001 > 1000, which is the maximum",
    ),
    "a tool's role": (
        talk(("tool", "x")),
        "messages.0.role: Input should be 'user' or 'assistant'",
    ),
    "a system message": (
        talk(("system", "x"), ("user", "hi")),
        'messages: Unexpected role "system"',
    ),
    "an unknown block": (
        talk(("user", [{"type": "hologram"}])),
        "messages.0.content.0: Input tag 'hologram'",
    ),
    "a block without its text": (
        talk(("user", [{"type": "text"}])),
        "messages.0.content.0.text.text: Field required",
    ),
    "a tool input that is text": (
        looked(1, [{**CALL, "input": "{}"}]),
        "messages.1.content.0.tool_use.input: Input should be a valid dictionary",
    ),
    "a tool id with odd characters": (
        looked(1, [{**CALL, "id": "a b"}]),
        "messages.1.content.0.tool_use.id: String should match pattern",
    ),
    "an unknown media type": (
        image(media_type="image/tiff", data=PNG),
        "messages.0.content.0.image.source.base64.media_type: Input should be",
    ),
    "an image without data": (
        image(),
        "messages.0.content.0.image.source.base64.data: Field required",
    ),
    "a document without source": (
        talk(("user", [{"type": "document"}])),
        "document.source: Field required",
    ),
    "an unknown cache type": (
        body(cache_control={"type": "eternal"}),
        "cache_control.type: Input should be 'ephemeral'",
    ),
}

ROLES = {
    "no message at all": (body(messages=[]), "messages: at least one message is required"),
    "the assistant first": (
        talk(("assistant", "hi"), ("user", "hi")),
        'first message must use the "user" role',
    ),
    "a prefill": (
        talk(("user", "hi"), ("assistant", "The")),
        "does not support assistant message prefill",
    ),
    "a document from the assistant": (
        talk(
            ("user", "hi"),
            ("assistant", [{"type": "document", "source": {"type": "file", "file_id": "f"}}]),
            ("user", "?"),
        ),
        "messages.1.content.0: `document` blocks may only appear in `user` messages",
    ),
    "a call from the user": (
        talk(("user", [CALL]), tools=[TOOL]),
        "messages.0.content.0: `tool_use` blocks may only appear in `assistant` messages",
    ),
    "thinking from the user": (
        talk(("user", [{"type": "thinking", "thinking": "", "signature": ""}])),
        "messages.0.content.0: `thinking` blocks may only appear",
    ),
    "citations from the user": (
        talk(("user", [{**HI, "citations": [{"type": "char_location"}]}])),
        "messages.0.content.0.text.citations: citations may not be set",
    ),
}

WORDS = {
    "empty content": (talk(("user", "")), "messages.0: all messages must have non-empty content"),
    "no blocks": (talk(("user", [])), "messages.0: all messages must have non-empty content"),
    "an empty text block": (
        talk(("user", [{**HI, "text": ""}])),
        "messages: text content blocks must be non-empty",
    ),
    "only white space": (
        talk(("user", [{**HI, "text": " \n"}])),
        "messages: text content blocks must contain non-whitespace text",
    ),
    "an empty answer in the past": (
        talk(("user", "hi"), ("assistant", [{**HI, "text": ""}]), ("user", "hi")),
        "messages: text content blocks must be non-empty",
    ),
    "an empty text in a result": (
        looked(2, [{**RESULT, "content": [{**HI, "text": ""}]}]),
        "messages: text content blocks must be non-empty",
    ),
    "an empty system block": (
        body(system=[{**HI, "text": ""}]),
        "system: text content blocks must be non-empty",
    ),
}

PAIRS = {
    "a call without result": (
        looked(2, "hello?"),
        (
            "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: "
            "toolu_1"
        ),
    ),
    "words between call and result": (
        body(messages=[*LOOKED[:2], {"role": "user", "content": "x"}, LOOKED[2]], tools=[TOOL]),
        "messages.1: `tool_use` ids were found without",
    ),
    "one of two results missing": (
        looked(1, [CALL, {**CALL, "id": "toolu_2"}]),
        (
            "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: "
            "toolu_2"
        ),
    ),
    "a result without call": (
        talk(("user", [RESULT]), tools=[TOOL]),
        "messages.0.content.0: unexpected `tool_use_id` found in `tool_result` blocks: toolu_1",
    ),
    "a result for another call": (
        looked(2, [RESULT, {**RESULT, "tool_use_id": "toolu_9"}]),
        "messages.2.content.1: unexpected `tool_use_id` found in `tool_result` blocks: toolu_9",
    ),
    "words before the result": (
        looked(2, [HI, RESULT]),
        "messages.1: `tool_use` ids were found without",
    ),
    "words between the results": (
        looked(2, [RESULT, HI, RESULT]),
        "messages.2: `tool_result` blocks must come first",
    ),
    "two results for one call": (
        looked(2, [RESULT, RESULT]),
        "each tool_use must have a single result",
    ),
    "two calls of one id": (looked(1, [CALL, CALL]), "messages: `tool_use` ids must be unique"),
    "an error without words": (
        looked(2, [{**RESULT, "content": "", "is_error": True}]),
        "messages.2.content.0.tool_result: content cannot be empty if `is_error` is true",
    ),
}

TOOLS = {
    "a bad tool name": (
        body(tools=[{**TOOL, "name": "look at"}]),
        "tools.0.custom.name: String should match pattern",
    ),
    "two tools of one name": (body(tools=[TOOL, TOOL]), "tools: Tool names must be unique."),
    "a schema that is no object": (
        body(tools=[{**TOOL, "input_schema": {"type": "string"}}]),
        "tools.0.custom.input_schema.type: Input should be 'object'",
    ),
    "a schema without type": (
        body(tools=[{**TOOL, "input_schema": {}}]),
        "tools.0.custom.input_schema.type: Field required",
    ),
    "alternatives at the top of a schema": (
        body(tools=[{**TOOL, "input_schema": {"type": "object", "anyOf": []}}]),
        "tools.0.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf",
    ),
    "a property that is no schema": (
        body(
            tools=[
                {**TOOL, "input_schema": {"type": "object", "properties": {"a": {"type": "text"}}}}
            ]
        ),
        (
            "tools.0.custom.input_schema: JSON schema is invalid. It must match JSON Schema draft "
            "2020-12"
        ),
    ),
    "an open object in a strict tool": (
        body(tools=[{**TOOL, "strict": True}]),
        "tools.0.custom: For 'object' type, 'additionalProperties' must be explicitly set to false",
    ),
    "bounds of a number in a strict tool": (
        strict({"type": "integer", "minimum": 1, "maximum": 9}),
        "tools.0.custom: For 'integer' type, properties maximum, minimum are not supported",
    ),
    "the length of a string in a strict tool": (
        strict({"anyOf": [{"type": "string", "minLength": 1}, {"type": "null"}]}),
        "tools.0.custom: For 'string' type, property 'minLength' is not supported",
    ),
    "a long list in a strict tool": (
        strict({"type": "array", "items": {"type": "string"}, "minItems": 2}),
        "tools.0.custom: For 'array' type, 'minItems' values other than 0 or 1 are not supported",
    ),
    "a choice without tools": (
        body(tool_choice={"type": "auto"}),
        "tool_choice may only be specified while providing tools",
    ),
    "the choice of an unknown tool": (
        body(tools=[TOOL], tool_choice={"type": "tool", "name": "fly"}),
        "Tool 'fly' not found in provided tools",
    ),
    "tool blocks without tools": (
        body(messages=LOOKED),
        "Requests which include `tool_use` or `tool_result` blocks must define tools",
    ),
}

LIMITS = {
    "a prompt beyond the window": (
        talk(("user", "word " * 5000)),
        "prompt is too long: 8138 tokens > 2000 maximum",
    ),
    "five cache breakpoints": (
        talk(("user", [{**HI, **MARK}] * 5)),
        "A maximum of 4 blocks with cache_control may be provided. Found 5.",
    ),
    "four breakpoints and the automatic one": (
        talk(("user", [{**HI, **MARK}] * 4 + [HI]), **MARK),
        "A maximum of 4 blocks with cache_control may be provided. Found 5.",
    ),
    "too small a thinking budget": (
        body(**OLD, thinking={"type": "enabled", "budget_tokens": 10}),
        "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024",
    ),
    "a thinking budget beyond the answer": (
        body(**OLD, thinking={"type": "enabled", "budget_tokens": 1024}),
        "`max_tokens` must be greater than `thinking.budget_tokens`.",
    ),
    "thinking before a forced call": (
        body(
            model="claude-haiku-5-5",
            tools=[TOOL],
            tool_choice={"type": "any"},
            thinking={"type": "adaptive"},
        ),
        "Thinking may not be enabled when tool_choice forces tool use.",
    ),
    "a forced call of a model that decides itself": (
        body(tools=[TOOL], tool_choice={"type": "any"}),
        "tool_choice: forced tool use is not supported for claude-sonnet-5-5",
    ),
    "a thinking budget for a newer model": (
        body(thinking={"type": "enabled", "budget_tokens": 1024}),
        '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive"',
    ),
    "no thinking of a model that always thinks": (
        body(thinking={"type": "disabled"}),
        '"thinking.type.disabled" is not supported for this model.',
    ),
    "an image over 10 MB": (
        image(data="A" * 10_485_764),
        (
            "messages.0.content.0.image.source.base64: image exceeds 10 MB maximum: 10485764 "
            "bytes > "
            "10485760 bytes"
        ),
    ),
    "broken base64": (
        image(data="%%%"),
        "messages.0.content.0.image.source.base64.data: invalid base64 data",
    ),
    "a picture that is none": (
        image(data="aGVsbG8="),
        "source.base64.data: Could not process image",
    ),
    "a picture under a false name": (
        image(media_type="image/jpeg", data=PNG),
        "was specified using the image/jpeg media type, but appears to be a image/png file",
    ),
    "a torn picture": (
        image(data=base64.b64encode(png()[:15]).decode()),
        "source.base64.data: Could not process image",
    ),
    "a picture of too many pixels": (
        image(data=base64.b64encode(png(8001, 1)).decode()),
        "At least one of the image dimensions exceed max allowed size: 8000 pixels",
    ),
    "a large picture among many": (
        talk(("user", [shown(png(2001, 1)), *[shown(png())] * 20])),
        (
            "At least one of the image dimensions exceed max allowed size for many-image requests: "
            "2000 pixels"
        ),
    ),
    "too many pictures": (
        talk(("user", [shown(png())] * 100 + [paper(pdf())])),
        "too many images and documents: 100 + 1 > 100",
    ),
    "too many pages": (
        talk(("user", [paper(pdf(60)), paper(pdf(41))])),
        "A maximum of 100 PDF pages may be provided.",
    ),
    "a document of the model": (
        talk(("user", "hi"), ("assistant", [paper(pdf())]), ("user", "hi")),
        "`document` blocks may only appear in `user` messages",
    ),
    "a blank stop sequence": (
        body(stop_sequences=[" "]),
        "each stop sequence must contain non-whitespace",
    ),
    "an address for a user": (
        body(metadata={"user_id": "anna@example.com"}),
        "metadata.user_id: user_id appears to contain an email address",
    ),
}


def cases(table):
    return [pytest.param(request, words, id=name) for name, (request, words) in table.items()]


async def send(client, request, path="/v1/messages"):
    """Anything at all, through the SDK's own transport."""
    return await client.post(path, body=request, cast_to=object)


async def check_refused(client, request, words):
    with pytest.raises(APIStatusError) as refused:
        await send(client, request)
    assert (refused.value.status_code, refused.value.type) == (400, "invalid_request_error")
    assert words in str(refused.value.api_message)
    assert f"'request_id': '{refused.value.request_id}'" in str(refused.value.body)


@pytest.mark.parametrize(("request_body", "words"), cases(SHAPES))
async def test_a_request_of_another_shape_is_refused(client, request_body, words):
    await check_refused(client, request_body, words)


@pytest.mark.parametrize(("request_body", "words"), cases(ROLES))
async def test_a_block_or_message_in_a_wrong_role_is_refused(client, request_body, words):
    await check_refused(client, request_body, words)


@pytest.mark.parametrize(("request_body", "words"), cases(WORDS))
async def test_a_message_without_words_is_refused(client, request_body, words):
    await check_refused(client, request_body, words)


@pytest.mark.parametrize(("request_body", "words"), cases(PAIRS))
async def test_a_broken_pair_of_call_and_result_is_refused(client, request_body, words):
    """The poisoned Session: one such message would make every later call fail."""
    await check_refused(client, request_body, words)


@pytest.mark.parametrize(("request_body", "words"), cases(TOOLS))
async def test_a_wrong_tool_is_refused(client, request_body, words):
    await check_refused(client, request_body, words)


@pytest.mark.parametrize(("request_body", "words"), cases(LIMITS))
async def test_what_goes_beyond_a_limit_is_refused(client, request_body, words):
    await check_refused(client, request_body, words)


LAWFUL = {
    "plain": body(),
    "call and result": body(messages=LOOKED, tools=[TOOL]),
    "result, then words": looked(2, [RESULT, HI]),
    "a result without content": looked(2, [{"type": "tool_result", "tool_use_id": "toolu_1"}]),
    "an old call of a tool that is gone": body(messages=LOOKED, tools=[{**TOOL, "name": "other"}]),
    "two user messages in a row": talk(("user", "one"), ("user", "two")),
    "an image": image(data=PNG),
    "no system": body(system=""),
    "a strict tool": strict({"type": "array", "items": {"type": "string"}, "minItems": 1}),
    "bounds in a tool that is not strict": body(
        tools=[
            {
                **TOOL,
                "input_schema": {
                    "type": "object",
                    "properties": {"a": {"type": "string", "minLength": 1}},
                },
            }
        ]
    ),
    "no thinking up front": body(thinking={"type": "between_tools"}),
    "no thinking at all": body(model="claude-haiku-5-5", thinking={"type": "disabled"}),
    "four breakpoints": talk(("user", [{**HI, **MARK}] * 4)),
    "a paused turn sent back": talk(
        ("user", "hi"),
        (
            "assistant",
            [{"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}],
        ),
        tools=[{"type": "web_search_20260318", "name": "web_search"}],
    ),
}


@pytest.mark.parametrize("request_body", LAWFUL.values(), ids=LAWFUL.keys())
async def test_what_is_lawful_passes(client, request_body):
    assert (await send(client, request_body))["type"] == "message"


async def test_counting_keeps_the_same_rules(client):
    lawful = {"model": "claude-sonnet-5-5", "messages": LOOKED, "tools": [TOOL]}
    assert (await client.messages.count_tokens(**lawful)).input_tokens > 346
    with pytest.raises(APIStatusError, match="unexpected `tool_use_id`"):
        await client.messages.count_tokens(**lawful | {"messages": LOOKED[2:]})


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        pytest.param(b"{", "not valid JSON", id="broken"),
        pytest.param(b"[]", "valid dictionary", id="a list"),
        pytest.param(b'{"max_tokens": NaN}', "unexpected NaN", id="not a number"),
        pytest.param(b'{"model": "\\ud83d"}', "no low surrogate", id="half a character"),
    ],
)
async def test_a_body_that_is_no_json_object_is_refused(server, raw, words):
    headers = {"authorization": f"Bearer {server.key}", "anthropic-version": "2026-10-21"}
    async with (
        aiohttp.ClientSession(server.url, headers=headers) as http,
        http.post("/v1/messages", data=raw) as answer,
    ):
        assert answer.status == 400
        assert words in (await answer.json())["error"]["message"]


async def test_a_body_over_32_megabytes_is_413(client):
    with pytest.raises(APIStatusError) as refused:
        await send(client, talk(("user", "x" * BODY_BYTES)))
    assert (refused.value.status_code, refused.value.type) == (413, "request_too_large")


async def test_an_unknown_model_or_path_is_404(client):
    for request, path in ((body(model="claude-nope"), "/v1/messages"), (body(), "/v1/nothing")):
        with pytest.raises(APIStatusError) as refused:
            await send(client, request, path)
        assert (refused.value.status_code, refused.value.type) == (404, "not_found_error")


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        pytest.param({"anthropic-version": "1"}, 401, id="no key"),
        pytest.param(
            {"anthropic-version": "1", "authorization": "Bearer no"}, 401, id="a wrong key"
        ),
        pytest.param({"anthropic-version": "1", "x-api-key": "test-key"}, 401, id="the old header"),
        pytest.param(
            {"anthropic-version": "1", "x-api-key": "test-key", "authorization": "Bearer test-key"},
            401,
            id="both",
        ),
        pytest.param({"authorization": "Bearer test-key"}, 400, id="no version"),
    ],
)
async def test_a_request_without_proper_headers_is_refused(server, headers, status):
    async with (
        aiohttp.ClientSession(server.url, headers=headers) as http,
        http.post("/v1/messages", json=body()) as answer,
    ):
        assert answer.status == status
        assert (await answer.json())["request_id"] == answer.headers["request-id"]
