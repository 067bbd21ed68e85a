"""Content blocks on their way into BSON and back, and how heavy they are."""

from __future__ import annotations

import bson
import pytest

from bot.content import as_block, clean
from bot.store.stored_blocks import pack, unpack, weight

TEXT = {"type": "text", "text": "Привет, 🙂"}
CALL = {
    "type": "tool_use",
    "id": "t1",
    "name": "plan",
    "input": {"$set": {"a.b": 1}, "": [None, 1.5, True]},
}
RESULT = {"type": "tool_result", "tool_use_id": "t1", "content": [TEXT], "is_error": False}
WIDE = {"type": "search", "score": 2**90}
NESTED = {"type": "search", "content": {"a.b": {"$gt": 1}}}
OWN_JSON = {"type": "search", "json": "not ours"}
BLOCKS = [TEXT, CALL, RESULT, WIDE, NESTED, OWN_JSON]


def keys(value):
    if isinstance(value, dict):
        return set(value) | {key for inner in value.values() for key in keys(inner)}
    return {key for inner in value for key in keys(inner)} if isinstance(value, list) else set()


@pytest.mark.parametrize(
    "block", BLOCKS, ids=["text", "call", "result", "wide", "nested", "own_json"]
)
def test_a_block_comes_back_as_it_was(block):
    stored = bson.decode(bson.encode(pack(as_block(block))))
    assert unpack(stored) == block


@pytest.mark.parametrize(
    "block", BLOCKS, ids=["text", "call", "result", "wide", "nested", "own_json"]
)
def test_no_key_a_model_chose_becomes_a_field_name(block):
    assert keys(pack(block)) <= {
        "type",
        "text",
        "id",
        "name",
        "input",
        "json",
        "tool_use_id",
        "content",
        "is_error",
    }


def test_a_tools_input_is_stored_as_text():
    assert pack(as_block(CALL))["input"] == '{"$set": {"a.b": 1}, "": [null, 1.5, true]}'


def test_a_plain_block_stays_readable_for_an_admin():
    assert pack(as_block(RESULT)) == RESULT


def test_a_block_in_hand_is_not_changed():
    before = repr(CALL)
    pack(as_block(CALL))
    assert repr(CALL) == before


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", "plain"),
        ("\ud83d", "\ufffd"),
        ("\ude42 x", "\ufffd x"),
        ("a\0b\0", "ab"),
        ("🙂\n", "🙂\n"),
        ("", ""),
    ],
    ids=["plain", "high_half", "low_half", "nul", "pair", "empty"],
)
def test_text_is_made_fit_for_storage_and_no_more(text, expected):
    assert clean(text) == expected
    assert clean(expected) == expected


def test_hostile_text_is_cleaned_wherever_it_hides():
    """Deep inside a tool's input, in a key, in a nested block: the driver would refuse each."""
    nasty = {
        "type": "tool_use",
        "input": {"k\0ey": ["\ud800"]},
        "content": [{"type": "text", "text": "\0\udfff"}],
    }
    stored = bson.decode(bson.encode(pack(as_block(nasty))))
    assert unpack(stored) == {
        "type": "tool_use",
        "input": {"key": ["\ufffd"]},
        "content": [{"type": "text", "text": "\ufffd"}],
    }


@pytest.mark.parametrize(
    "words", ["plain words " * 50, "слова " * 90, "🙂" * 200, ""], ids=["en", "ru", "emoji", "none"]
)
def test_the_weight_is_close_to_what_bson_needs(words):
    """A tenth at most, however the text is written: the guard counts bytes, not characters."""
    blocks = [TEXT | {"text": words}, RESULT, pack(as_block(CALL))] * 5
    real = len(bson.encode({"content": blocks}))
    assert 0.9 * real < weight(blocks) < 1.1 * real + 40
