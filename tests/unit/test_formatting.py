"""The model's Markdown becomes text and entities that Telegram takes; no word of it is lost
(C83–C86, C95–C98).
"""

from __future__ import annotations

import re
from unicodedata import normalize

import pyromark
import pytest

from bot.standins.telegram.markup import Formatted, shown
from bot.standins.telegram.rules import ENTITIES_SHOWN, TEXT_UNITS
from bot.telegram.outbound.formatting import (
    MAX_CHARS_ON_THE_LOOP,
    MAX_FORMATTED_CHARS,
    chunks_of,
    format_chunks,
    formatted,
)
from bot.telegram.outbound.inline import is_safe_link
from bot.telegram.outbound.splitting import Chunk
from bot.telegram.utf16 import utf16_len
from tests.costs import assert_linear

NASTY = {
    "unclosed fence": "Use parse_mode MarkdownV2, pass\n```python\nprint('a_b*c')",
    "stray backticks": "`parse_mode MarkdownV2, pass ```",
    "generics": "A `List<int>` and a List<String>, then Map<String, List<T>> & x < y > z.",
    "html block": "<details>\n<summary>More</summary>\n\nbody **bold**\n\n</details>\n\nend",
    "html attributes": 'Write <a href="javascript:alert(1)">x</a> and <img src=x '
    "onerror=alert(1)>.",
    "comment": "before <!-- inside --> after",
    "br in a table": "| a | b |\n|---|---|\n| one<br>two | three |",
    "only markers": "**\n__\n***",
    "nested fence": "````md\n```py\nx = 1\n```\n````\nafter",
    "code in a list": "1. first\n\n   ```sh\n   ls -la\n   ```\n2. second",
    "fence without language": "```\nplain\n```",
    "bold in italic in quote": "> *one **two** three* **four\n> five*",
    "adjacent": "**a***b***c**_d_~~e~~`f`",
    "snake case": "snake_case_name and __init__ and 2 * 3 * 4",
    "emoji": "👨‍👩‍👧‍👦 **жирный** 🇷🇺 _курсив_ 😀",
    "deep lists": "- a\n  - b\n    - c\n      1. d\n      2. e\n- f",
    "links": "[good](https://example.org/a_b) [bad](javascript:x) [rel](/etc) "
    "[me](tg://user?id=1) [loc](http://localhost)",
    "escapes": r"\*not bold\* \_not italic\_ 1\. \# \<b\>",
    "prices": "It costs $5 and $6, ~10 in all.",
    "windows path": r"C:\Users\new_folder\*.txt",
    "quote with code": "> said `x <y>` and\n> more",
    "spoiler": "||hidden|| and a || b",
    "headings": "# One\n## Two\n### Three\ntext",
    "json": '{"a": ["<b>", {"c_d": "*e*"}]}',
    "math": "Let \\(x_1 + y\\) be $a+b$ and \\[ c \\]",
    "tabs": "a\tb\n\n\tindented code\n",
    "crlf": "one\r\n\r\n**two**\r\nthree",
    "horizontal rules": "a\n\n---\n\nb\n\n***\n\nc",
    "image": "![alt text](https://example.org/x.png)",
    "sources": "Berlin is big.\n\n[1]: https://example.org/a 'Title'\n[Two]: https://example.org/b",
    "a source that is used": "See [this][1] and [Two].\n\n[1]: /a\n[two]: /b\n[3]: /c",
    "operators": "while (a != 0 || b != 0 || c != 0) and $5 || $6 || $7, 2*3*4, x**2 + y**2, "
    "f**k, src/**/*.js",
    "without blanks": "**注意：**请看**“你好”**，然后。**한국어(Korean)**는 **(ไทย)**ๆ و**(مهم)**، **x：**y**z：**",
    "tasks": "- [ ] buy milk\n- [x] call Bob",
    "names": "`a`, __init__.py, __name__ and write to <me@example.org>",
    "words behind a fence": "````\n```x\n```` end of it\n\n**after**",
    "a title behind a language": "```python title=x\ncode\n```",
    "deep formula": r"$\frac{a}{b}$ and $" + r"\sqrt{" * 40 + "x" + "}" * 40 + "$ end",
    "norms": "norm ||x+y|| <= ||x|| + ||y||, ||v|| = 2 and ||u - w|| < eps",
    "marks between brackets": "COUNT(*) and SUM(*), '*' or '_' or \"**\", a[_] and b[_], (_, _), -*- coding -*-, "
    "*.* and (a)*(b)*(c), p=*q*2, [*] {*} _,_",
    "shell": "echo ${a}-${b} $(c)$(d) ${HOME}/${USER}, f[i](x) and handlers[name](event)",
    "addresses": "https://e.example/_a_/b and https://e.example/__init__/*c*/~d~",
    "numbers of a list": "3. B\n5. C\n9. A\n\ntext\n\n10. x\n9. y",
    "a sum": "12\n+ 7\n- 3\n= 16\n\n2 + 2\n=\n4\n-\n1",
    "path before a line": "in C:\\\nnext \\\nline",
    "glued in Latin": '**Note:**see **"this"**and say**"hi"**now',
    "underlined": "这是__重要__的，__注意：__请看 报告_最终_版本.docx",
    "a fence behind words": "Run: ```bash\nnpm i\n```\nthen **x**",
    "closing fences with words": "```\na\n```: see\n\n- b\n  ```\n  c\n  ``` after\n\n> ```\n> d\n> ``` e",
    "footnote": "Text[^1].\n\n[^1]: The note.",
}
"""Answers that other bots lost words of, or could not send."""

AS_WRITTEN = (
    "norms", "marks between brackets", "shell", "addresses", "numbers of a list", "a sum",
    "path before a line",
)  # fmt: skip
"""Of these every sign is text."""

LOSSLESS = NASTY.keys() - {
    "only markers",
    "a source that is used",
    "deep formula",
    "a title behind a language",
}
OUT_OF_SIGHT = re.compile(r"\]\(https:[^)]*\)|````md|```python|```sh|```bash|\]\[1\]|\[x\]")
"""What is not text: the address behind a link, the language of a fence."""


def signs(text):
    """The letters and digits of a text, which is what no markup is made of; raised and lowered ones
    as they are.
    """
    return re.sub(r"[\W_]", "", normalize("NFKC", text))


def accepted(chunk: Chunk) -> str:
    """What Telegram would show of a part; raises where it would refuse it."""
    entities = [entity.to_dict() for entity in chunk.entities]
    assert len(entities) <= ENTITIES_SHOWN
    result = shown(Formatted(chunk.text), entities, TEXT_UNITS, "message is too long").text
    assert result
    return result


@pytest.mark.parametrize("name", sorted(LOSSLESS))
def test_no_word_of_an_answer_is_lost(name):
    sent = " ".join(accepted(chunk) for chunk in format_chunks(NASTY[name]))
    assert signs(sent) == signs(OUT_OF_SIGHT.sub(" ", NASTY[name]))


@pytest.mark.parametrize("name", NASTY)
def test_every_prefix_of_an_answer_can_be_shown(name):
    """C98: as streaming produces them."""
    for end in range(1, len(NASTY[name]) + 1):
        for chunk in format_chunks(NASTY[name][:end]):
            accepted(chunk)


@pytest.mark.parametrize(
    ("markdown", "text", "marks"),
    [
        (
            "**a** _b_ ~~c~~ `d`",
            "a b c d",
            {"bold": "a", "italic": "b", "strikethrough": "c", "code": "d"},
        ),
        ("```py\nx = 1\n```", "x = 1", {"pre": "x = 1"}),
        ("# Head\ntext", "Head\ntext", {"bold": "Head"}),
        ("- one\n- two", "• one\n• two", {}),
        ("||x|| <tg-spoiler>y</tg-spoiler>", "x <tg-spoiler>y</tg-spoiler>", {"spoiler": "x"}),
        ("a <b>c</b>", "a <b>c</b>", {}),
        ("[x](https://a.example)", "x", {"text_link": "x"}),
        ("***", "————————", {}),
    ],
)
def test_markdown_becomes_text_and_entities(markdown, text, marks):
    plain, entities = formatted(markdown)
    assert plain == text
    assert {
        entity.type: plain[entity.offset : entity.offset + entity.length] for entity in entities
    } == marks


@pytest.mark.parametrize(
    ("markdown", "text"),
    [
        (NASTY["operators"], NASTY["operators"]),
        (NASTY["tasks"], "☐ buy milk\n☑ call Bob"),
        (NASTY["names"], "a, __init__.py, __name__ and write to <me@example.org>"),
        (NASTY["words behind a fence"], "```x\nend of it\n\nafter"),
        (NASTY["a title behind a language"], "python title=x\ncode"),
        ("||one word|| and a || b", "one word and a || b"),
        ("The killer: ||the butler||.", "The killer: the butler."),
        *((NASTY[name], NASTY[name]) for name in AS_WRITTEN),
        (NASTY["glued in Latin"], 'Note:see "this"and say"hi"now'),
        (NASTY["underlined"], "这是重要的，注意：请看 报告_最终_版本.docx"),
        (NASTY["a fence behind words"], "Run:\nnpm i\nthen x"),
        (NASTY["closing fences with words"], "a\n: see\n\n• b\nc\n  after\n\nd\ne"),
        ("1. a\n1. b\n1. c", "1. a\n2. b\n3. c"),
        ("+ one\n+ two", "• one\n• two"),
        ("*...and then* it ended", "...and then it ended"),
        ("- [ ] один\n+ [x] два\n1. [X] три", "☐ один\n☑ два\n1. ☑ три"),
    ],
)
def test_models_are_read_as_they_mean_it(markdown, text):
    """C136, C138."""
    assert formatted(markdown)[0] == text


@pytest.mark.parametrize(
    "name",
    ["__init__", "__builtins__", "__FILE__", "__NEXT_DATA__", "__my_own__", "__attribute__((packed))",
     "__tests__/unit.js", "obj.__class__", "__x__.py", "'__y__'"],
)  # fmt: skip
@pytest.mark.parametrize("around", ["see {} here", "{}", "смотри {}, вот", "看 {} 。"])
def test_names_of_programs_keep_their_underscores(name, around):
    """C138."""
    assert formatted(around.format(name))[0] == around.format(name)


def test_emphasis_beside_their_punctuation_covers_exactly_those_words():
    """C137."""
    text, entities = formatted(NASTY["without blanks"])
    assert "*" not in text
    marked = [text[e.offset : e.offset + e.length] for e in entities]
    assert marked == ["注意：", "“你好”", "한국어(Korean)", "(ไทย)", "(مهم)", "x：", "z："]


@pytest.mark.parametrize("depth", [16, 20, 40, 4000])
def test_a_formula_too_deep_to_be_read_is_shown_as_it_was_written(depth):
    """C141."""
    markdown = "$" + r"\sqrt{" * depth + "x" + "}" * depth + "$"
    assert "".join(chunk.text for chunk in format_chunks(markdown)) == markdown


class Panic(BaseException):
    """As the parser's own, which is no Exception."""


@pytest.mark.parametrize("failure", [RuntimeError, MemoryError, Panic])
def test_an_answer_that_cannot_be_formatted_is_sent_plain_the_first_time(monkeypatch, failure):
    """C141."""

    def fail(*_, **__):
        raise failure

    monkeypatch.setattr(pyromark, "events_with_range", fail)
    assert [chunk.text for chunk in format_chunks("**a** b")] == ["**a** b"]


def test_a_source_that_is_used_stands_behind_its_words():
    assert formatted(NASTY["a source that is used"])[0] == "See this (/a) and Two (/b).\n\n[3]: /c"


def test_an_answer_that_converts_to_nothing_is_sent_as_it_was_written():
    """C96."""
    assert [chunk.text for chunk in format_chunks("[](https://a.example)")] == [
        "[](https://a.example)"
    ]


@pytest.mark.parametrize("nothing", ["", " \n\n ", "\u200b\u200d", "\u2800"])
def test_nothing_visible_makes_no_part(nothing):
    assert format_chunks(nothing) == ()


def test_angle_brackets_make_no_part_longer_than_it_is():
    """C86: the limit counts what is sent, not an escaped form of it."""
    [chunk] = format_chunks("a < b & c > d <e> " * 200)
    assert chunk.text.count("<e>") == 200


@pytest.mark.parametrize(
    ("url", "safe"),
    [
        ("https://example.org/a?b=c#d", True),
        ("http://пример.рф", True),
        ("https://[::1]:8080/", True),
        ("tg://resolve?domain=durov", False),
        ("tg://user?id=1", False),
        ("TG://User?id=1", False),
        ("tg:user?id=1", False),
        ("javascript:alert(1)", False),
        ("data:text/html,x", False),
        ("/relative", False),
        ("example.org", False),
        ("mailto:a@example.org", False),
        ("http://localhost", False),
        ("http://a b.example", False),
        ("http://example.org:99999", False),
        ("http://[oops", False),
        ("https://example.org/\u202e", False),
        ("", False),
    ],
)
def test_only_links_that_lead_to_the_web_are_hidden_behind_words(url, safe):
    """C140: Telegram refuses a hidden mailto, so its address is shown, too."""
    assert is_safe_link(url) is safe


def test_an_unsafe_link_keeps_its_words_and_shows_its_address():
    """C140."""
    [chunk] = format_chunks(NASTY["links"])
    shown = "good bad (javascript:x) rel (/etc) me (tg://user?id=1) loc (http://localhost)"
    assert chunk.text == shown
    assert [entity.url for entity in chunk.entities] == ["https://example.org/a_b"]


HOSTILE = {
    "nested bold": "**a " * 10_000,
    "one line": "x" * 60_000,
    "one line of code": "```\n" + "y" * 10_000 + "\n```",
    "open tags": "<a " * 15_000,
    "whole tags": "<a>" * 15_000,
    "quotes": "> " * 20_000,
    "quoted lists": "> - " * 15_000,
    "lists in lists": "1. " * 20_000,
    "brackets": "[" * 50_000,
    "blocks of html": "<div>\n" * 9_000,
    "comments": "<!--" * 14_000,
    "backticks": "`" * 50_000,
    "emphasis": "*_" * 20_000,
    "spoilers": "||" * 20_000,
    "math": "$x$1" * 10_000,
    "definitions": "".join(f"[{number}]: /x\n" for number in range(5_000)),
    "a million": "w " * 500_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_answer_is_split_in_bounded_time_and_nothing_is_lost(name):
    """C85"""
    chunks, half = format_chunks(HOSTILE[name]), HOSTILE[name][: len(HOSTILE[name]) // 2]
    assert (
        sum(len(chunk.text) for chunk in chunks)
        >= len(re.sub(r"[\s*_`|$]", "", HOSTILE[name])) - 10
    )
    assert all(utf16_len(chunk.text) <= TEXT_UNITS for chunk in chunks)
    assert_linear(lambda: format_chunks(half), lambda: format_chunks(HOSTILE[name]))


def test_code_that_is_cut_is_opened_again_with_its_language():
    first, second = format_chunks("```python\n" + "x = 1  # a line\n" * 400 + "```")
    assert [(entity.type, entity.language) for entity in (*first.entities, *second.entities)] == [
        ("pre", "python")
    ] * 2
    assert first.text.endswith("# a line")
    assert second.text.startswith("x = 1")


def test_more_than_a_hundred_entities_go_into_several_parts():
    chunks = format_chunks("**a** " * 300)
    assert [len(chunk.entities) for chunk in chunks] == [100, 100, 100]


def test_formatting_that_would_scatter_an_answer_is_left_out():
    """9,000 bold letters would take 90 messages."""
    chunks = format_chunks("**a** " * 9_000)
    assert len(chunks) < 20
    assert not any(chunk.entities for chunk in chunks)


def test_what_is_too_long_to_be_formatted_is_sent_plain():
    chunks = format_chunks("**a** " + "b " * MAX_FORMATTED_CHARS)
    assert chunks[0].text.startswith("**a** b")


async def test_a_long_answer_is_converted_beside_the_loop_and_comes_out_the_same():
    markdown = "**a** b c\n\n" * (MAX_CHARS_ON_THE_LOOP // 8)
    assert len(markdown) > MAX_CHARS_ON_THE_LOOP
    assert await chunks_of(markdown) == format_chunks(markdown)
    assert await chunks_of("**a**") == format_chunks("**a**")


def test_half_a_surrogate_pair_does_not_stop_an_answer():
    assert [chunk.text for chunk in format_chunks("a\ud83d **b**")] == ["a\ufffd b"]


@pytest.mark.parametrize(
    ("formula", "shown"),
    [
        (r"$e^{i\pi}+1=0$", "e^(iπ)+1=0"),
        (r"\[ \sum_{k=1}^n k = \frac{n(n+1)}{2} \]", "∑ₖ₌₁ⁿ k = (n(n+1))/2"),
        (r"$x_{1,2} = \pm \sqrt{2}$", "x_(1,2) = ± √2"),
        (r"$\frac{-b \pm \sqrt{b^2-4ac}}{2a}$", "(-b ± √(b²-4ac))/2a"),
        (r"$\sqrt[3]{x+1}$", "∛(x+1)"),
        (r"$\mathbb{R}^n \to \mathbb{C}$", "ℝⁿ → ℂ"),
        ("It costs $5 and $6.", "It costs $5 and $6."),
    ],
)
def test_a_formula_reads_on_a_phone(formula, shown):
    assert formatted(formula)[0] == shown


def test_what_follows_a_formula_keeps_its_formatting():
    """Offsets are moved with the text, astral characters included."""
    text, entities = formatted(r"😀 **a** $\sqrt{b+c}$ and $\sqrt{x}$ **d** `e`")
    shown = text.encode("utf-16-le")
    cut = [
        shown[2 * one.offset : 2 * (one.offset + one.length)].decode("utf-16-le")
        for one in entities
    ]
    assert text == "😀 a √(b+c) and √x d e"
    assert cut == ["a", "√(b+c)", "√x", "d", "e"]
