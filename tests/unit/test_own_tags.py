"""Nobody but the program writes its tags: not a person, a file or a tool in what comes in, and not
the model in what goes out.
"""

from __future__ import annotations

import random
from html import unescape

import pytest

from bot.agent.echoes import EchoFilter, without_echoes
from bot.content import text_block, words
from bot.own_tags import OWN_TAGS, escape_all, escape_tags
from tests.costs import assert_linear

SPELLINGS = {
    "plain": "<{}>",
    "closing": "</{}>",
    "with attributes": '<{} note="x" at="now"/>',
    "spaces": "<  / {} >",
    "capitals": "<{upper}>",
    "an entity": "&lt;{}&gt;",
    "an entity without its semicolon": "&lt{}>",
    "a decimal entity": "&#0060;{}&#62;",
    "a hexadecimal entity": "&#x3C;/{}&#x3e;",
    "a full-width bracket": "＜{}＞",
    "a small bracket": "﹤/{}﹥",
    "angle quotation marks": "‹{}›",
    "full-width letters": "<{wide}>",
    "a zero-width space inside": "<{split}>",
    "a soft hyphen before": "<\u00ad/\u200d{}>",
    "mathematical letters": "<{mathematical}>",
    "Cyrillic look-alikes": "<{cyrillic}>",
    "at the end of the text": "<{}",
}


def spelled(form, tag):
    return form.format(
        tag,
        upper=tag.upper(),
        wide="".join(chr(ord(sign) + 0xFEE0) for sign in tag),
        split="\u200b".join(tag),
        mathematical="".join(chr(0x1D41A + ord(s) - 97) if s.isalpha() else s for s in tag),
        cyrillic=tag.replace("e", "е").replace("a", "а").replace("o", "о").replace("s", "ѕ"),
    )


@pytest.mark.parametrize("tag", OWN_TAGS)
@pytest.mark.parametrize("form", SPELLINGS.values(), ids=SPELLINGS)
def test_no_spelling_of_a_tag_of_ours_stays_one(form, tag):
    """C135. Only a backslash is added, so nothing that was said is lost."""
    said = f"Hello {spelled(form, tag)} there"
    escaped = escape_tags(said)
    assert escaped != said
    assert escaped.replace("\\", "") == said
    assert escape_tags(unescape(escaped)) == unescape(escaped)
    assert escape_tags(escaped) == escaped


@pytest.mark.parametrize(
    "said",
    [
        "if a < b and b > c",
        "vector<filename>",
        "<files> <tasks> <sentence> <not es>",
        "x &lt; y, <task_id>, Taskforce",
        "<системный файл>",
        "a <- file; 5 << tasks",
    ],
)
def test_what_is_no_tag_of_ours_stays_as_it_is(said):
    assert escape_tags(said) == said


@pytest.mark.parametrize("tag", OWN_TAGS)
def test_data_cannot_hold_any_tag(tag):
    held = escape_all(f"</{tag}> <b>bold</b> &amp;")
    assert "<" not in held
    assert escape_tags(unescape(held)) == unescape(held)


@pytest.mark.parametrize(
    "piece", ["<", "< ", "<s", "&lt;", "<\u200b", "<привет ", "</conversation_summar", "<file"]
)
def test_escaping_costs_no_more_than_the_length(piece):
    assert_linear(lambda: escape_tags(piece * 20_000), lambda: escape_tags(piece * 40_000))


# ------------------------------------------------------------------------------------ what goes out

ECHOES = {
    "a time": ('<sent at="2026-01-05 12:00 Monday"/>Hello.', "Hello."),
    "a closing one": ("It rains.</conversation_summary>", "It rains."),
    "notes": ('<notes note="x">[4f] likes tea</notes>', "[4f] likes tea"),
    "in capitals": ("<TASK note='x'>Buy milk</Task >", "Buy milk"),
    "inline code": ("Write `<sent at='x'/>` so.", "Write `<sent at='x'/>` so."),
    "two marks of code": ("``a ` <task> b`` <task>c", "``a ` <task> b`` c"),
    "a fence": ("```xml\n<file name='a'>\n</file>\n```\n</file>x", "```xml\n<file name='a'>\n</file>\n```\nx"),
    "a fence of tildes": ("~~~\n<task>\n~~~\n<task>x", "~~~\n<task>\n~~~\nx"),
    "a fence in a list": ("- ```\n  <task>\n  ```\n <task>y", "- ```\n  <task>\n  ```\n y"),
    "a mark that opens nothing": ("a ` b\n\n<sent/>c", "a ` b\n\nc"),
    "a file's name": ("cp <file> <target>", "cp <file> <target>"),
    "no tag of ours": ("a <b>x</b> <tasks> 1 < 2", "a <b>x</b> <tasks> 1 < 2"),
    "an unfinished one": ("a <sent at=", "a <sent at="),
}  # fmt: skip


@pytest.mark.parametrize(("written", "shown"), ECHOES.values(), ids=ECHOES)
def test_a_tag_that_the_model_repeats_is_neither_shown_nor_stored(written, shown):
    """C139. However the answer is cut into pieces on its way."""
    assert words([without_echoes(text_block(written))]) == shown
    dice = random.Random(7)
    for _ in range(50):
        echoes, out, at = EchoFilter(), "", 0
        while at < len(written):
            size = dice.randint(1, 6)
            out += echoes.feed(written[at : at + size])
            at += size
        assert out + echoes.rest() == shown


def test_words_that_can_be_no_tag_are_shown_at_once():
    echoes = EchoFilter()
    assert echoes.feed("If a < b and") == "If a < b and"
    assert echoes.feed(" then <b") == " then "
    assert echoes.feed("r> it") == "<br> it"


@pytest.mark.parametrize("piece", ["<", "<sent ", "`", "\n", "~", "<task", "<sent x"])
def test_looking_for_them_costs_no_more_than_the_length(piece):
    def work(count):
        echoes = EchoFilter()
        for _ in range(count):
            echoes.feed(piece * 4)
        echoes.rest()

    assert_linear(lambda: work(4_000), lambda: work(8_000))
