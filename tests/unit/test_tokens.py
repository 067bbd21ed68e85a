"""Counting never fails a message; the real encoders are in `contract/test_token_encoders.py`."""

from __future__ import annotations

import threading

import pytest

from bot.content import as_block
from bot.ports.model import rough
from bot.tokens import Encoder, Tokens, message_tokens
from tests.builders import text


def by_words(text):
    return text.split()


def encoder(encode=by_words, chunk=50_000, inline=100, maximum=10**9):
    return lambda: Encoder(encode, chunk, inline, maximum)


def failing(error):
    def load():
        raise error

    return load


async def test_text_is_counted_by_the_first_encoder_that_loads():
    tokens = Tokens(
        [
            failing(ModuleNotFoundError()),
            failing(ValueError()),
            encoder(),
            failing(AssertionError()),
        ]
    )
    assert await tokens("one two three") == 3


@pytest.mark.parametrize(
    ("text", "count"), [("", 0), ("abcdefgh", 3), ("привет", 3), ("\ud800", 1)], ids=repr
)
async def test_without_any_encoder_a_rule_of_thumb_counts(text, count):
    """C77"""
    assert await Tokens([failing(OSError())])(text) == rough(text) == count


async def test_an_encoder_is_loaded_once_and_off_the_loop():
    threads = []

    def load():
        threads.append(threading.current_thread())
        return Encoder(by_words, 50_000, 100, 10**9)

    tokens = Tokens([load])
    await tokens.load()
    assert [await tokens("one two"), await tokens("one")] == [2, 1]
    assert len(threads) == 1
    assert threads[0] is not threading.main_thread()


async def test_only_long_texts_are_counted_off_the_loop():
    """C76"""
    threads = []

    def encode(text):
        threads.append(threading.current_thread() is threading.main_thread())
        return text

    tokens = Tokens([encoder(encode)])
    assert [await tokens("x" * 100), await tokens("x" * 101)] == [100, 101]
    assert threads == [True, False]


async def test_an_encoder_never_gets_more_than_it_can_bear():
    """C76: tiktoken breaks on a million spaces, and with a BaseException at that."""
    pieces = []

    def encode(text):
        pieces.append(text)
        return text

    assert await Tokens([encoder(encode, chunk=40)])("abc" * 40) == 120
    assert "".join(pieces) == "abc" * 40
    assert max(map(len, pieces)) == 40


async def test_what_a_slow_encoder_does_not_get_to_is_estimated():
    assert await Tokens([encoder(str, maximum=10)])("x" * 40) == 10 + rough("x" * 30)


async def test_a_text_the_encoder_refuses_is_estimated():
    def encode(text):
        raise UnicodeEncodeError("utf-8", text, 0, 1, "surrogates not allowed")

    assert await Tokens([encoder(encode)])("a\ud800b") == rough("a\ud800b")


async def test_a_message_costs_its_words_calls_results_and_pictures():
    async def count(text):
        return len(text.split())

    picture = {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": "x" * 10_000},
    }
    words = await message_tokens(count, [text("one two")])
    call = {
        "type": "tool_use",
        "id": "toolu_1",
        "name": "recall",
        "input": {"words": "tea and cake"},
    }
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "tea and cake"}
    assert words == 4 + 2
    assert await message_tokens(count, [text("one two"), as_block(picture)]) == words + 1_600
    assert await message_tokens(count, [as_block(call)]) > 4 + 3
    assert await message_tokens(count, [as_block(result)]) > 4 + 3
    assert await message_tokens(count, []) == 4
