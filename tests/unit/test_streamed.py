"""What the events of a stream add up to, piece by piece, and what arguments of a tool are whole."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.agent.streamed import MAX_DEPTH, StreamedMessage, parse_arguments
from bot.ports import Completion
from bot.standins.claude.garbled import GARBLED
from bot.usage import Usage

START = {"type": "message_start", "message": {"usage": {"input_tokens": 7, "output_tokens": 1}}}


def block(index, opening, *deltas):
    yield {"type": "content_block_start", "index": index, "content_block": opening}
    for delta in deltas:
        yield {"type": "content_block_delta", "index": index, "delta": delta}
    yield {"type": "content_block_stop", "index": index}


def call(*pieces, kind="tool_use", **more):
    opening = {"type": kind, "id": "toolu_1", "name": "echo", "input": {}, **more}
    return block(
        0, opening, *({"type": "input_json_delta", "partial_json": piece} for piece in pieces)
    )


def stop(reason="end_turn", **usage):
    return {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage}


class Heard:
    """What the callbacks were told, in order."""

    def __init__(self):
        self.told: list[tuple[str, object]] = []
        self.message = StreamedMessage(
            lambda piece: self.told.append(("text", piece)),
            lambda usage: self.told.append(("start", usage)),
            lambda name: self.told.append(("tool", name)),
            lambda piece: self.told.append(("hidden", piece)),
        )

    def read(self, *events):
        for event in events:
            self.message.add(event)
        return self.message.completion()


def content(*events):
    return Heard().read(START, *events, stop()).content


def test_thinking_and_its_signature_come_back_byte_for_byte():
    thought = " I wonder…\n\u2028 \t"
    deltas = [{"type": "thinking_delta", "thinking": piece} for piece in (thought[:4], thought[4:])]
    signed = {"type": "signature_delta", "signature": "EqQB=="}
    assert content(
        *block(0, {"type": "thinking", "thinking": "", "signature": ""}, *deltas, signed)
    ) == ({"type": "thinking", "thinking": thought, "signature": "EqQB=="},)


WHOLE = {
    "redacted thinking": {"type": "redacted_thinking", "data": "EmwKAhgB"},
    "a result of the provider's": {
        "type": "web_search_tool_result",
        "tool_use_id": "srvtoolu_1",
        "content": [{"type": "web_search_result", "url": "https://example.org", "page_age": None}],
    },
    "an unknown block": {"type": "hologram", "shape": None, "input": [1]},
}


@pytest.mark.parametrize("opening", WHOLE.values(), ids=WHOLE)
def test_a_block_that_comes_whole_stays_as_it_came(opening):
    assert content(*block(0, opening)) == (opening,)


def test_citations_are_gathered_and_nulls_left_out():
    opening = {"type": "text", "text": "", "citations": None}
    cited = [{"url": "https://example.org", "title": None}, {"url": "https://example.net"}]
    deltas = [{"type": "citations_delta", "citation": citation} for citation in cited]
    (found,) = content(*block(0, opening, {"type": "text_delta", "text": "Yes."}, *deltas))
    assert found == {
        "type": "text",
        "text": "Yes.",
        "citations": [{"url": "https://example.org"}, {"url": "https://example.net"}],
    }


def test_a_null_among_arguments_is_an_argument():
    (found,) = content(*call('{"words": ', "null}", caller=None))
    assert found == {"type": "tool_use", "id": "toolu_1", "name": "echo", "input": {"words": None}}


@pytest.mark.parametrize(
    "pieces", [(), ("",), ("{}",)], ids=["nothing", "an empty piece", "an empty object"]
)
def test_a_call_without_arguments_is_whole(pieces):
    completion = Heard().read(START, *call(*pieces), stop("tool_use"))
    assert (completion.content[0]["input"], completion.malformed) == ({}, frozenset())


def test_arguments_that_come_with_the_opening_are_read_from_there():
    completion = Heard().read(START, *call(input={"words": "tea"}), stop("tool_use"))
    assert (completion.content[0]["input"], completion.malformed) == ({"words": "tea"}, frozenset())


@pytest.mark.parametrize("opening", [["tea"], "tea", {"words": float("nan")}, None], ids=repr)
def test_odd_arguments_in_the_opening_are_malformed(opening):
    completion = Heard().read(START, *call(input=opening), stop("tool_use"))
    assert (completion.content[0]["input"], completion.malformed) == ({}, {"toolu_1"})


@pytest.mark.parametrize("written", GARBLED.values(), ids=GARBLED)
def test_what_is_not_one_whole_object_is_malformed_and_leaves_an_empty_one(written):
    """C145, whatever the pieces it came in."""
    for size in (1, 7, len(written)):
        pieces = [written[start : start + size] for start in range(0, len(written), size)]
        completion = Heard().read(START, *call(*pieces), stop("tool_use"))
        assert (completion.content[0]["input"], completion.malformed) == ({}, {"toolu_1"})


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(), JSON, max_size=4), st.data())
def test_any_object_is_read_whole_and_no_beginning_of_it_is(arguments, data):
    written = json.dumps(arguments, ensure_ascii=data.draw(st.booleans()))
    assert parse_arguments(written) == arguments
    end = data.draw(st.integers(0, len(written) - 1))
    assert parse_arguments(written[:end]) is None


def test_arguments_have_a_depth():
    for depth, is_whole in ((MAX_DEPTH - 2, True), (MAX_DEPTH, False)):
        assert (parse_arguments('{"a": ' + "[" * depth + "]" * depth + "}") is not None) is is_whole


def test_pieces_are_told_as_they_come():
    heard = Heard()
    heard.read(
        START,
        *block(
            0, {"type": "thinking", "thinking": ""}, {"type": "thinking_delta", "thinking": "hm"}
        ),
        *block(
            1, {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
        ),
        *block(2, {"type": "text", "text": ""}, {"type": "text_delta", "text": "Yes."}),
        {
            "type": "content_block_start",
            "content_block": {"type": "tool_use", "id": "t", "name": "echo"},
        },
        {
            "type": "content_block_delta",
            "index": 3,
            "delta": {"type": "input_json_delta", "partial_json": '{"w'},
        },
    )
    assert heard.told == [
        ("start", Usage(input_tokens=7, output_tokens=1)),
        ("hidden", "hm"),
        ("tool", "web_search"),
        ("text", "Yes."),
        ("hidden", '{"w'),
    ]
    assert heard.message.completion() is None


def test_reports_of_usage_are_sums_and_keep_what_they_leave_out():
    message = {
        "usage": {
            "input_tokens": 7,
            "cache_read_input_tokens": 90,
            "cache_creation_input_tokens": 3,
        }
    }
    later = stop(output_tokens=12, input_tokens=9, cache_read_input_tokens=None)
    completion = Heard().read({"type": "message_start", "message": message}, later)
    assert completion.usage == Usage(9, 12, 90, 3)


def test_what_nobody_knows_is_passed_over():
    odd = {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "smell_delta", "smell": "tea"},
    }
    text = block(0, {"type": "text", "text": ""}, {"type": "text_delta", "text": "Yes."})
    assert content({"type": "ping"}, {"type": "weather"}, *text, odd) == (
        {"type": "text", "text": "Yes."},
    )


def test_a_message_without_usage_or_an_end_of_its_blocks_is_whole_all_the_same():
    """As some gateways send it."""
    begun = {"type": "message_start", "message": {}}
    opened = {"type": "content_block_start", "content_block": {"type": "text", "text": "Yes."}}
    ended = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}}
    assert Heard().read(begun, opened, ended) == Completion(
        ({"type": "text", "text": "Yes."},), "end_turn", Usage()
    )


BROKEN: dict[str, object] = {
    "no type": {},
    "a list": [],
    "no object": None,
    "no index": {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "a"}},
    "a wrong index": {
        "type": "content_block_delta",
        "index": 7,
        "delta": {"type": "text_delta", "text": "a"},
    },
    "text that is none": {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "text_delta", "text": 1},
    },
    "a call without an id": {
        "type": "content_block_start",
        "content_block": {"type": "tool_use", "name": "echo"},
    },
    "a call without a name": {
        "type": "content_block_start",
        "content_block": {"type": "tool_use", "id": "t"},
    },
    "a call with a number for a name": {
        "type": "content_block_start",
        "content_block": {"type": "tool_use", "id": "t", "name": 1},
    },
}


@pytest.mark.parametrize("event", BROKEN.values(), ids=BROKEN)
def test_an_event_that_does_not_fit_breaks_the_stream(event):
    with pytest.raises((LookupError, TypeError, AttributeError)):
        Heard().read(START, *block(0, {"type": "text", "text": ""}), event)
