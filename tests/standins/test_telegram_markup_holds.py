"""Whatever is sent, the stand-in either refuses it in Telegram's words or shows properly nested
entities.
"""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.standins.telegram.entities import (
    CODES,
    STYLES,
    Entity,
    check_bounds,
    detected,
    mended,
    units,
)
from bot.standins.telegram.markdown import RESERVED
from bot.standins.telegram.markup import parsed, shown
from bot.standins.telegram.rules import Refused

MARKDOWN_PIECES = [
    *RESERVED,
    "__",
    "||",
    "```",
    "**>",
    "\n>",
    "\\",
    "a",
    " ",
    "ж",
    "😀",
    "](http://a.bc)",
    "![",
    "py\n",
]
HTML_TAGS = ["b", "i", "pre", "code", "a", "blockquote"]
HTML_PIECES = [
    *(f"<{tag}>" for tag in HTML_TAGS),
    *(f"</{tag}>" for tag in HTML_TAGS),
    *(
        '<code class="language-py">',
        "<a href='a.bc'>",
        "<blockquote expandable>",
        "<",
        ">",
        "</",
        "&lt;",
        "&#x1F600;",
    ),
    *("&", "=", "'", "a", "ж", "😀", " ", "\n"),
]
STYLE_OR_NOT = st.sampled_from([*STYLES, *CODES, "blockquote"])
TEXT = st.text(st.sampled_from("ab /@#\n\r😀ж`"), min_size=1, max_size=30)


def pieces(words):
    return st.lists(st.sampled_from(words), max_size=25).map("".join)


def crossing(entities):
    return [
        (one, other)
        for one in entities
        for other in entities
        if one.offset < other.offset < one.end < other.end
    ]


def spans(text):
    """Entities anywhere in the text, in any order, crossing each other as they like."""
    ends = st.tuples(st.integers(0, units(text)), st.integers(0, units(text))).map(sorted)
    return st.lists(
        st.builds(lambda kind, span: Entity(kind, span[0], span[1] - span[0]), STYLE_OR_NOT, ends)
    )


def read(source, mode):
    """What is shown, or why not."""
    try:
        return shown(parsed(source, mode), [], 4096, "message is too long"), ""
    except Refused as refusal:
        return None, refusal.description


@pytest.mark.parametrize(
    ("mode", "words"), [("MarkdownV2", MARKDOWN_PIECES), ("HTML", HTML_PIECES)]
)
def test_any_markup_is_shown_nested_or_refused(mode, words):
    @given(pieces(words))
    def holds(source):
        formatted, refusal = read(source, mode)
        if formatted is None:
            assert refusal.startswith("Bad Request: can't parse entities: ")
        else:
            assert crossing(formatted.entities) == []
            check_bounds(formatted.text, formatted.entities)

    holds()


@given(st.text(st.characters(codec="utf-8", exclude_categories=["Cc"])))
def test_escaped_text_comes_out_as_it_went_in(text):
    escaped = "".join(f"\\{char}" if char in RESERVED or char == "\\" else char for char in text)
    assert parsed(escaped, "MarkdownV2").text == text
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    assert parsed(escaped, "HTML").text == text


@given(TEXT.flatmap(lambda text: st.tuples(st.just(text), spans(text))))
def test_mending_nests_and_keeps_code_bare(case):
    text, given_entities = case
    result = mended(text, given_entities)
    assert crossing(result) == []
    inside = [
        (style, code)
        for code in result
        if code.type in CODES
        for style in result
        if style.type in STYLES and style.offset < code.end and code.offset < style.end
    ]
    assert inside == []
    assert mended(text, result) == result


@given(TEXT)
def test_what_telegram_finds_never_overlaps(text):
    found = detected(text)
    assert all(one.end <= other.offset for one, other in pairwise(found))
