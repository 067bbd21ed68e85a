"""Whatever the text: parts fit, nothing is lost, formatting stays where it was, no character is
torn (C85, C96).
"""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from telegram import MessageEntity

from bot.standins.telegram.entities import Entity, check_bounds
from bot.telegram.outbound.splitting import Chunk, is_visible, split
from bot.telegram.utf16 import utf16_len

UNITS = 24
MOST = 3
SCOTLAND = "🏴" + "".join(chr(0xE0000 + ord(sign)) for sign in "gbsct\x7f")
CHARACTERS = ("a", "é", "e\u0301", "ж", "😀", "👍🏽", "👨‍👩‍👧‍👦", "🇷🇺", "☺\ufe0f", "漢", SCOTLAND)
"""Each is one visible character, of up to fourteen UTF-16 units."""
BREAKS = (" ", "\n", "\n\n", ". ", "  ", "\t", "\u200b")

texts = st.lists(st.sampled_from(CHARACTERS + BREAKS), max_size=80).map("".join)


@st.composite
def formatted(draw):
    text = draw(texts)
    offsets = [utf16_len(text[:at]) for at in range(len(text) + 1)]
    spans = draw(
        st.lists(st.tuples(st.sampled_from(offsets), st.sampled_from(offsets)), max_size=8)
    )
    kinds = st.sampled_from(["bold", "italic", "code", "pre"])
    return text, [
        MessageEntity(draw(kinds), low, high - low)
        for low, high in map(sorted, spans)
        if low < high
    ]


def parts(text, entities=()):
    return split(text, entities, units=UNITS, maximum=MOST)


def visible(text):
    return "".join(sign for sign in text if is_visible(sign))


def painted(chunk: Chunk):
    """Each visible character with the kinds of formatting on it."""
    at = 0
    for sign in chunk.text:
        if is_visible(sign):
            yield sign, {e.type for e in chunk.entities if e.offset <= at < e.offset + e.length}
        at += utf16_len(sign)


@given(texts)
def test_every_part_fits_and_shows_something(text):
    for chunk in parts(text):
        assert 0 < utf16_len(chunk.text) <= UNITS
        assert is_visible(chunk.text)
        assert chunk.text == chunk.text.rstrip()


@given(texts)
def test_nothing_visible_is_lost_or_said_twice(text):
    assert visible("".join(chunk.text for chunk in parts(text))) == visible(text)


@given(texts)
def test_only_whitespace_is_dropped_and_only_at_cuts(text):
    rest = text
    for chunk in parts(text):
        skipped, found, rest = rest.partition(chunk.text)
        assert found
        assert not is_visible(skipped)
    assert not is_visible(rest)


@given(texts)
def test_what_fits_is_not_cut(text):
    assert len(parts(text)) <= 1 or utf16_len(text) > UNITS


@given(formatted())
def test_no_part_has_more_entities_than_telegram_shows(given_text):
    assert all(len(chunk.entities) <= MOST for chunk in parts(*given_text))


@given(formatted())
def test_entities_begin_and_end_on_characters_inside_their_part(given_text):
    for chunk in parts(*given_text):
        check_bounds(chunk.text, [Entity(str(e.type), e.offset, e.length) for e in chunk.entities])


@given(formatted())
def test_formatting_stays_on_the_characters_it_was_on(given_text):
    text, entities = given_text
    whole = list(painted(Chunk(text, tuple(entities))))
    assert [
        sign for chunk in split(text, entities, units=UNITS, maximum=100) for sign in painted(chunk)
    ] == whole


@given(st.lists(st.sampled_from(CHARACTERS), min_size=1, max_size=60))
def test_a_visible_character_is_never_torn(characters):
    """No accent, joiner, skin tone or second half of a flag opens a part."""
    left = list(characters)
    for chunk in parts("".join(characters)):
        rest = chunk.text
        while rest:
            character = left.pop(0)
            assert rest.startswith(character)
            rest = rest.removeprefix(character)
    assert left == []


@given(st.text(alphabet="\u200d\u0301🇷", max_size=400))
def test_an_endless_character_is_cut_all_the_same(text):
    assert "".join(chunk.text for chunk in parts("a" + text)).startswith("a")
    assert all(utf16_len(chunk.text) <= UNITS for chunk in parts("a" + text))


@given(texts)
def test_a_cut_stands_at_the_best_break_of_the_second_half(text):
    """A blank line before a line, a line before a space, a space before the middle of a word."""
    chunks = parts(text)
    for chunk, after in pairwise(chunks):
        if utf16_len(chunk.text) == UNITS and not after.text[0].isspace():
            tail = chunk.text[len(chunk.text) // 2 + 1 :]
            assert " " not in tail.rstrip()
            assert "\n" not in tail
