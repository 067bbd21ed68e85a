"""MarkdownV2 and HTML are read as Telegram reads them, and refused with its words and byte
offsets.
"""

from __future__ import annotations

import pytest

MARKDOWN = {
    "plain words": ("hello", "hello", []),
    "bold": ("*bold*", "bold", [("bold", 0, 4)]),
    "italic": ("_it_", "it", [("italic", 0, 2)]),
    "underline": ("__un__", "un", [("underline", 0, 2)]),
    "strikethrough": ("~st~", "st", [("strikethrough", 0, 2)]),
    "spoiler": ("||sp||", "sp", [("spoiler", 0, 2)]),
    "code": ("`a*b_c`", "a*b_c", [("code", 0, 5)]),
    "code block": ("```\na.b\n```", "a.b", [("pre", 0, 3)]),
    "code block with a language": ("```python\nx = 1```", "x = 1", [("pre", 0, 5)]),
    "escapes": ("1\\.5 \\- \\(x\\)", "1.5 - (x)", []),
    "nested": ("*bold _both_*", "bold both", [("bold", 0, 9), ("italic", 5, 4)]),
    "italic inside underline": ("__un_it_**__", "unit", [("underline", 0, 4), ("italic", 2, 2)]),
    "after an emoji": ("😀 *b*", "😀 b", [("bold", 3, 1)]),
    "a link": ("[t](https://a.bc/d)", "t", [("text_link", 0, 1)]),
    "a link with a bracket in it": ("[t](https://a.bc/\\))", "t", [("text_link", 0, 1)]),
    "a link Telegram does not open": ("[t](javascript:x)", "t", []),
    "a link without a target is its own target": ("[a\\.bc]", "a.bc", [("text_link", 0, 4)]),
    "a mention by id": ("[Anna](tg://user?id=7)", "Anna", [("text_mention", 0, 4)]),
    "a custom emoji": ("![👍](tg://emoji?id=5368324170671202286)", "👍", [("custom_emoji", 0, 2)]),
    "a quotation": (">one\n>two\nout", "one\ntwo\nout", [("blockquote", 0, 7)]),
    "a quotation to the end": (">one\n>*two*", "one\ntwo", [("blockquote", 0, 7), ("bold", 4, 3)]),
    "an expandable quotation": ("**>one\n>two||", "one\ntwo", [("expandable_blockquote", 0, 7)]),
    "an empty entity": ("a**b", "ab", []),
    "a less-than sign": ("a < b", "a < b", []),
}
RESERVED = [".", "-", "!", "(", ")", "+", "=", "{", "}", "#", ">", "|", "]"]
BROKEN_MARKDOWN = {
    "bold": ("😀 *b", "Can't find end of bold entity at byte offset 5"),
    "italic": ("_b", "Can't find end of italic entity at byte offset 0"),
    "underline": ("a __b", "Can't find end of underline entity at byte offset 2"),
    "underline closed as italic": ("__b_", "Can't find end of italic entity at byte offset 3"),
    "three underscores, the first two of which are read together": (
        "__un_it___",
        "Can't find end of italic entity at byte offset 9",
    ),
    "strikethrough": ("~b", "Can't find end of strikethrough entity at byte offset 0"),
    "spoiler": ("||b", "Can't find end of spoiler entity at byte offset 0"),
    "code": ("`b", "Can't find end of code entity at byte offset 0"),
    "code block": ("ж ```b", "Can't find end of pre entity at byte offset 3"),
    "link text": ("[b", "Can't find end of text URL entity at byte offset 0"),
    "link target": ("[b](http://a.bc", "Can't find end of a URL at byte offset 4"),
    "bold left open in a quotation": (
        ">a *b\nc*",
        "Can't find end of bold entity at byte offset 3",
    ),
    "custom emoji without a target": ("![x]", "Custom emoji entity must contain a tg://emoji URL"),
    "custom emoji of another scheme": (
        "![x](http://a.bc)",
        "Custom emoji entity must contain a tg://emoji URL",
    ),
    "custom emoji without a number": (
        "![x](tg://emoji?id=x)",
        "Invalid custom emoji identifier specified",
    ),
}
HTML = {
    "plain words": ("a & b", "a & b", []),
    "bold": ("<b>x</b>", "x", [("bold", 0, 1)]),
    "strong": ("<strong>x</strong>", "x", [("bold", 0, 1)]),
    "italic": ("<i>x</i><em>y</em>", "xy", [("italic", 0, 2)]),
    "underline": ("<u>x</u><ins>y</ins>", "xy", [("underline", 0, 2)]),
    "strikethrough": ("<s>x</s><strike>y</strike><del>z</del>", "xyz", [("strikethrough", 0, 3)]),
    "spoiler": (
        '<tg-spoiler>x</tg-spoiler> <span class="tg-spoiler">y</span>',
        "x y",
        [("spoiler", 0, 1), ("spoiler", 2, 1)],
    ),
    "code": ("<code>a &lt; b</code>", "a < b", [("code", 0, 5)]),
    "pre": ("<pre>x</pre>", "x", [("pre", 0, 1)]),
    "pre with a language": ('<pre><code class="language-py">x</code></pre>', "x", [("pre", 0, 1)]),
    "quotation": ("<blockquote>x</blockquote>", "x", [("blockquote", 0, 1)]),
    "expandable": ("<blockquote expandable>x</blockquote>", "x", [("expandable_blockquote", 0, 1)]),
    "link": ("<a href='http://a.bc/?x=1&amp;y=2'>t</a>", "t", [("text_link", 0, 1)]),
    "link without a target": ("<a>a.bc</a>", "a.bc", [("text_link", 0, 4)]),
    "mention": ('<a href="tg://user?id=7">A</a>', "A", [("text_mention", 0, 1)]),
    "custom emoji": ('<tg-emoji emoji-id="5368">👍</tg-emoji>', "👍", [("custom_emoji", 0, 2)]),
    "named and numbered": ("&lt;&gt;&amp;&quot;&#65;&#x1F600;", '<>&"A😀', []),
    "other names stay": ("a&nbsp;b &copy;", "a&nbsp;b &copy;", []),
    "upper case": ("<B>x</B>", "x", [("bold", 0, 1)]),
    "a short end tag": ("<b>x</>", "x", [("bold", 0, 1)]),
    "nested": ("<b>x<i>y</i></b>", "xy", [("bold", 0, 2), ("italic", 1, 1)]),
    "an unknown attribute": ('<b class="x">y</b>', "y", [("bold", 0, 1)]),
}
BROKEN_HTML = {
    "unknown tag": ("ж <x>y</x>", 'Unsupported start tag "x" at byte offset 3'),
    "line break": ("a<br/>b", 'Unsupported start tag "br/" at byte offset 1'),
    "wrong order": (
        "<i>x</b>",
        'Unmatched end tag at byte offset 4, expected "</i>", found "</b>"',
    ),
    "end without start": ("x</b>", "Unexpected end tag at byte offset 1"),
    "start without end": ("<b>x", 'Can\'t find end tag corresponding to start tag "b"'),
    "torn start": ("a <b", "Unclosed start tag at byte offset 2"),
    "torn attribute": ('<a href="x', "Unclosed start tag at byte offset 0"),
    "torn end": ("<b>x</b", "Unclosed end tag at byte offset 4"),
    "attribute without a value": (
        "<a href>x</a>",
        'Expected equal sign in declaration of an attribute of the tag "a" at byte offset 0',
    ),
    "attribute without a name": (
        '<a ="x">y</a>',
        'Empty attribute name in the tag "a" at byte offset 0',
    ),
    "bare value": ("<a href=x/y>z</a>", "Unexpected end of name token at byte offset 8"),
    "span of another class": (
        '<span class="x">y</span>',
        'Tag "span" must have class "tg-spoiler" at byte offset 0',
    ),
    "custom emoji without a number": (
        "<tg-emoji>x</tg-emoji>",
        "Invalid custom emoji identifier specified",
    ),
    "less-than sign": ("1 < 2>", 'Unsupported start tag "" at byte offset 2'),
}


def plain(entities):
    return [(entity.type.value, entity.offset, entity.length) for entity in entities]


@pytest.mark.parametrize(("source", "text", "entities"), MARKDOWN.values(), ids=MARKDOWN)
async def test_markdown_is_shown(telegram_bot, anna, source, text, entities):
    sent = await telegram_bot.send_message(anna.id, source, parse_mode="MarkdownV2")
    assert sent.text == text
    assert [entity for entity in plain(sent.entities) if entity[0] != "url"] == entities


@pytest.mark.parametrize(("source", "text", "entities"), HTML.values(), ids=HTML)
async def test_html_is_shown(telegram_bot, anna, source, text, entities):
    sent = await telegram_bot.send_message(anna.id, source, parse_mode="HTML")
    assert sent.text == text
    assert [entity for entity in plain(sent.entities) if entity[0] != "url"] == entities


@pytest.mark.parametrize(("source", "words"), BROKEN_MARKDOWN.values(), ids=BROKEN_MARKDOWN)
async def test_markdown_left_open_is_refused(telegram_call, anna, source, words):
    status, answer = await telegram_call(
        "sendMessage", chat_id=anna.id, text=source, parse_mode="MarkdownV2"
    )
    assert (status, answer["description"]) == (400, f"Bad Request: can't parse entities: {words}")
    assert anna.chat.answers == []


@pytest.mark.parametrize(("source", "words"), BROKEN_HTML.values(), ids=BROKEN_HTML)
async def test_unbalanced_html_is_refused(telegram_call, anna, source, words):
    status, answer = await telegram_call(
        "sendMessage", chat_id=anna.id, text=source, parse_mode="HTML"
    )
    assert (status, answer["description"]) == (400, f"Bad Request: can't parse entities: {words}")


@pytest.mark.parametrize("char", RESERVED)
async def test_a_reserved_character_must_be_escaped(telegram_call, anna, char):
    status, answer = await telegram_call(
        "sendMessage", chat_id=anna.id, text=f"a {char} b", parse_mode="MarkdownV2"
    )
    words = f"Character '{char}' is reserved and must be escaped with the preceding '\\'"
    assert (status, answer["description"]) == (400, f"Bad Request: can't parse entities: {words}")
    status, answer = await telegram_call(
        "sendMessage", chat_id=anna.id, text=f"a \\{char} b", parse_mode="MarkdownV2"
    )
    assert (status, answer["result"]["text"]) == (200, f"a {char} b")


async def test_an_unknown_parse_mode_is_refused(telegram_call, anna):
    status, answer = await telegram_call("sendMessage", chat_id=anna.id, text="x", parse_mode="XML")
    assert (status, answer["description"]) == (400, "Bad Request: unsupported parse_mode")


async def test_markup_is_read_before_the_chat_is_looked_up(telegram_call):
    _, answer = await telegram_call("sendMessage", chat_id=999, text="*", parse_mode="MarkdownV2")
    assert "can't parse entities" in answer["description"]


async def test_the_language_of_a_code_block_is_kept(telegram_bot, anna):
    sent = await telegram_bot.send_message(anna.id, "```python\nx```", parse_mode="MarkdownV2")
    assert sent.entities[0].language == "python"


async def test_the_raw_text_is_cut_at_35000_bytes_before_it_is_parsed(telegram_bot, anna):
    """What lies behind the cut cannot break the parse."""
    filler = "ab" + "**" * 17_499
    sent = await telegram_bot.send_message(anna.id, f"{filler}.", parse_mode="MarkdownV2")
    assert sent.text == "ab"
