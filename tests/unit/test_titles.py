"""A Session's title: the first words of its first message, in any script, and never half a
character.
"""

from __future__ import annotations

import pytest
import regex

from bot.title import MAX_TITLE, title

FAMILY = "👩‍👩‍👧‍👦"
ACCENTED = "e\u0301"
FLAG = "🇫🇮"


def clusters(text):
    return regex.findall(r"\X", text)


@pytest.mark.parametrize(
    "text", ["Hello", "a" * MAX_TITLE, FAMILY * MAX_TITLE, ACCENTED * MAX_TITLE, "", "  "]
)
def test_what_fits_is_the_title(text):
    assert title(text) == text.strip()


@pytest.mark.parametrize(
    "text",
    [
        "https://example.org/" + "a-very-long-path/" * 9,
        "epäjärjestelmällistyttämättömyydellänsäkäänköhän" * 3,
        "今天天气很好，我们去公园散步吧。" * 9,
        "今日はとても天気がいいので散歩に行きましょう。" * 9,
        "วันนี้อากาศดีมากเราไปเดินเล่นกันเถอะ" * 9,
        FAMILY * 200,
        ACCENTED * 200,
        FLAG * 200,
        "क्षत्रिय" * 40,
        "a " + "b" * 200,
    ],
    ids=[
        "link",
        "finnish",
        "chinese",
        "japanese",
        "thai",
        "families",
        "accents",
        "flags",
        "hindi",
        "one short word",
    ],
)
def test_a_title_without_blanks_is_cut_between_characters(text):
    """C151: never "…" alone, never half of what a reader takes for one character."""
    shown = title(text)
    assert shown.endswith("…")
    assert clusters(shown)[:-1] == clusters(text)[: len(clusters(shown)) - 1]
    assert MAX_TITLE // 2 < len(clusters(shown)) <= MAX_TITLE


def test_a_title_is_cut_between_words_where_there_are_any():
    shown = title("one two three\n\nfour  five " * 9)
    assert shown == "one two three four five one two three four five one two…"


def test_a_word_that_just_fits_is_kept_whole():
    words = "a" * 30 + " " + "b" * (MAX_TITLE - 32)
    assert title(words + " and more") == words + "…"


def test_a_mountain_of_accents_is_no_title_of_a_megabyte():
    shown = title("Z" + "\u0300" * 100_000)
    assert 1 < len(shown) <= 601


@pytest.mark.parametrize("length", range(1, 400, 7))
def test_a_title_is_never_longer_than_it_may_be(length):
    shown = title(("ab " * length)[:length])
    assert 0 < len(clusters(shown)) <= MAX_TITLE
