"""Whatever a model writes: formatting takes linear time and room, three messages suffice, and no
sign is lost.

A short form runs by default; `FORMATTING_EXAMPLES=1500` (by name) tries every construct: growth in
less than a minute, the loop and the longest texts in some more.
"""

from __future__ import annotations

import asyncio
import gc
import os
import random
import re
import subprocess
import sys
import time
import tracemalloc
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.standins.telegram.entities import Entity, check_bounds
from bot.standins.telegram.rules import ENTITIES_SHOWN
from bot.telegram.outbound.formatting import (
    MAX_CHARS_ON_THE_LOOP,
    MAX_FORMATTED_CHARS,
    chunks_of,
    format_chunks,
    formatted,
)
from bot.telegram.outbound.markdown_blocks import MAX_READ
from bot.telegram.outbound.splitting import PART_UNITS, split
from bot.telegram.outbound.symbols import BLANKS, MARKS, NOTHING, SIGNS, WORDS
from bot.telegram.utf16 import utf16_len

EXAMPLES = int(os.environ.get("FORMATTING_EXAMPLES", "200"))
LENGTH = 12_000
"""About what an answer of 4,096 tokens has at least."""
MAX_GROWTH = 2.5
"""Of the time, for each doubling of the text; what grows with its square has 4."""
ROUNDS = 7
MAX_HOLD_SECONDS = 0.05
MAX_BYTES_PER_CHAR = 1_000

APPLIED = (
    "frac",
    "sqrt",
    "sqrt[3]",
    "binom",
    "mathbb",
    "mathrm",
    "text",
    "overbrace",
    "underbrace",
    "boxed",
    *MARKS,
)
MACROS = [
    f"\\{name}"
    for name in sorted(
        {*SIGNS, *WORDS, *NOTHING, *BLANKS, *APPLIED, "begin{x}", "end{x}", "unknown"}
    )
]
OPENED = [
    *(f"{sign}\\{name}{{" for name in APPLIED for sign in ("$", r"\(", r"\[")),
    "$", "$$", r"\(", r"\[", "${", "$x^{", "$x_", "*", "***", "*_", "_", "__", "~~", "~", "||", " ||a",
    "|", "`", "``",
    "<", "<a ", "<!--", "<?", "<div>\n", "<https://", "[", "![", "[a](", "[a](<", "[a][", "[^", "> ", ">",
    "- ", "1. ", "# ",
    "```\n", "~~~\n", "    ", "&", "&lt", "\\", "[a]: ", "(", "**[*_~~`|", "- [ ] ", "| a |\n|---|\n",
]  # fmt: skip
CLOSED = [
    *(f"${macro}{{a}}{{b}}$ " for macro in MACROS),
    "**a** ", "*a* ", "_a_ ", "~~a~~ ", "||a|| ", "`a` ", "$a$ ", "$$a$$ ", r"\(a\) ", r"\[a+b\] ",
    "[a](https://a.example) ",
    "[a](tg://a) ", "[a]\n\n[a]: tg://a\n", "[{i}]: /x\n", "[a]: /x\n", "[^{i}]\n\n[^{i}]: a\n", "<b>a</b> ",
    "&amp;", "\\*", "*a**b",
    "*a**b ", "*_a", "a || b ", "|a|b|\n|-|-|\n|c|d|\n\n", "|a\n|-\n", "> a\nb\n", "> a\n\n", "- a\n",
    "- a\n\n  b\n", "1. a\n", "# a\n",
    "```\na\n```\n", "a\\\n", "a  \n", "**注意：**请", "__a__ ", "- [x] a\n", "***\n", "\n", "\t", " ", "x",
    "```` a b\n", "$x$1",
]  # fmt: skip
FILLERS = ("a", " ", "\n", "word ", "注。", "}", "$")
pieces = st.sampled_from(
    [*OPENED, *CLOSED, *MACROS, *FILLERS, "{", "}", "]", ")", r"\)", r"\]", "`", "\n\n", "$", "|"]
)


def repeated(unit: str, length: int) -> str:
    """The unit again and again, each with its own number where it has one."""
    text = "".join(unit.replace("{i}", str(number)) for number in range(length // len(unit) + 1))
    return text[:length]


def nested(unit: str, depth: int) -> str:
    """The unit opened so many times, and closed."""
    closing = {"{": "}", "[": "]", "(": ")"}.get(unit[-1], unit.strip())
    return f"{unit * depth}x{closing * depth}$"


def chosen(units: list[str], few: int) -> list[str]:
    """All of them when a long search is asked for, else a few."""
    return units if EXAMPLES > 1000 else random.Random(EXAMPLES).sample(units, few)


def seconds(text: str) -> float:
    """The CPU time that formatting takes this thread."""
    began = time.thread_time()
    format_chunks(text)
    return time.thread_time() - began


def check(text: str) -> None:
    """What holds for every answer."""
    chunks, plain = format_chunks(text), split(text)
    assert sum(len(chunk.text) for chunk in chunks) <= 3 * len(text) + 200
    assert len(chunks) <= 3 or len(plain) > 3
    for chunk in chunks:
        assert utf16_len(chunk.text) <= PART_UNITS
        assert len(chunk.entities) <= ENTITIES_SHOWN
        check_bounds(chunk.text, [Entity(str(e.type), e.offset, e.length) for e in chunk.entities])


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.lists(pieces, min_size=1, max_size=60), st.integers(1, 40))
def test_mixed_constructs_stay_short_and_legal(mixed, times):
    check(("".join(mixed) * times)[:LENGTH])


@pytest.mark.parametrize("depth", [3, 12, 16, 20, 40, 400])
def test_nested_constructs_stay_short_and_legal(depth):
    """C141: the formatting library doubled the text with each level."""
    for unit in chosen(OPENED, 30):
        check(nested(unit, depth)[:LENGTH])


def test_repeated_constructs_stay_short_and_legal():
    for unit in chosen(OPENED + CLOSED, 30):
        check(repeated(unit, LENGTH))


@pytest.fixture
def uncollected():
    """What other tests left behind is not looked through meanwhile."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("uncollected")
def test_twice_the_text_takes_at_most_twice_the_time():
    """C141: CPU time against the same text at a quarter of its length: two doublings, so that what
    no text is spared weighs less.

    The best of several rounds counts, and no time below that of plain words as long as the text.
    """
    floor = min(seconds(repeated("word ", LENGTH)) for _ in range(ROUNDS))
    for unit in chosen(OPENED + CLOSED, 20):
        quarter, whole = repeated(unit, LENGTH // 4), repeated(unit, LENGTH)
        short, long = seconds(quarter), seconds(whole)
        for _ in range(ROUNDS):
            if long <= MAX_GROWTH**2 * max(short, floor):
                break
            short, long = min(short, seconds(quarter)), min(long, seconds(whole))
        assert long <= MAX_GROWTH**2 * max(short, floor), unit


async def longest_hold(text: str) -> float:
    """The most CPU time this process spends between two steps of its loop while a text is
    formatted.
    """
    formatting = asyncio.create_task(chunks_of(text))
    longest, before = 0.0, time.process_time()
    while not formatting.done():
        await asyncio.sleep(0)
        longest, before = max(longest, time.process_time() - before), time.process_time()
    return longest


@pytest.mark.usefixtures("uncollected")
@pytest.mark.parametrize("length", [MAX_CHARS_ON_THE_LOOP, MAX_FORMATTED_CHARS, MAX_READ])
async def test_the_loop_goes_on_while_an_answer_is_formatted(length):
    """C141: the parser, and each regular expression, keeps the interpreter for as long as one call
    takes. A neighbour who delays this process can only make it look worse: the best round counts.
    """
    for unit in ("- a\n", *chosen(OPENED + CLOSED, 3)):
        rounds: list[float] = []
        while len(rounds) < ROUNDS and min(rounds, default=1.0) >= MAX_HOLD_SECONDS:
            rounds.append(await longest_hold(repeated(unit, length)))
        assert min(rounds) < MAX_HOLD_SECONDS, unit


def test_the_memory_of_formatting_is_a_bounded_multiple_of_the_text():
    """C141: without what the parser itself takes."""
    for unit in ("*_", *chosen(OPENED + CLOSED, 2)):
        tracemalloc.start()
        format_chunks(repeated(unit, LENGTH))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak <= MAX_BYTES_PER_CHAR * LENGTH, unit


HUNGRY = """
import resource, sys
from bot.telegram.outbound.formatting import format_chunks
size = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
unit, length = sys.argv[1], int(sys.argv[2])
text = (unit * length)[:length]
format_chunks(text[:1000])
before = size()
for _ in range(2):
    format_chunks(text)
print((size() - before) * 1024)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the unit of a size is Linux's")
def test_a_process_grows_by_a_bounded_multiple_of_the_text():
    """C141: what the parser takes counts, too, and so does what is not given back."""
    words = [sys.executable, "-c", HUNGRY, "*_", str(MAX_FORMATTED_CHARS)]
    grown = int(subprocess.run(words, check=True, capture_output=True, text=True).stdout)
    assert grown <= MAX_BYTES_PER_CHAR * MAX_FORMATTED_CHARS


@pytest.mark.parametrize("sign", [r"\(", r"\["])
def test_a_formula_that_never_ends_is_shown_as_it_was_written(sign):
    """C141: Markdown would eat the backslash of each."""
    for text in (sign * 16_000, f"so {sign} x", f"so {sign} x\n\nand {sign}", f"`a` {sign} `b`"):
        shown = "".join(chunk.text for chunk in format_chunks(text))
        assert shown == text.replace("`", "")


# ------------------------------------------------------------------------ every sign outside markup

WORDS_OF = {
    "English": ["heron", "A", "don't", "e-mail", "$5", "50%", "C++", "x_1", "snake_case"],
    "Russian": ["цапля", "Я", "что-то", "№5", "«да»", "ёж", "№ 7"],
    "Chinese": ["苍鹭", "我", "“你好”", "（重要）", "注意：", "3~5天", "、"],
    "Japanese": ["サギ", "私は", "「はい」", "です。", "（注）", "ー"],
    "Korean": ["왜가리", "나는", "한국어(Korean)", "'네'", "입니다."],
    "Thai": ["นกกระสา", "ฉัน", "(ไทย)", "ๆ", "ฯลฯ"],
    "Arabic": ["مالك", "أنا", "(مهم)", "؟", "،", "و"],
}
OPERATORS = [
    "a || b or c || d", "a != 0 || b != 0 || c != 0", "2*3*4", "x**2 + y**2", "2 * 3", "a < b > c",
    "List<String>", "<b>", "a & b", "__init__.py",
    "<me@example.org>", "5~6", "~/a", "a/*.py", "$5 || $6", "i++", "a -> b", "a => b",
    "!a && b", "a | b", "[1]", "{x}",
    "@a", "1:2", "..", "a^b", "^", "%", "a\\b", "'", '"', "/* c */", "(a)", "[^1]", "a_b_c", "= b",
    "a == b", "~", ";",
    "(*)", "'*'", "'_'", "(_)", "[*]", "a[_]", "(a)*(b)", "*.*", "-*-", "(_, _)", "_,_",
    "||x|| + ||y||", "|x|", "${a}-${b}", "$(a)$(b)", "f[i](x)", "__FILE__", "__my_own__", "__x__(1)",
    "https://e.example/_a_/b", "**", "a|b|c", "-> ||x|| = 2",
]  # fmt: skip
STARRED = [
    "*p",
    "f(*args, **kwargs)",
    "char *s, *t",
    "**kwargs",
    "print(*a)",
    "f(x)*g(x)*h(x)",
    "5*-3*-2",
    "x = *y",
]
"""Operators that could open emphasis. Where no blank parts the words, nobody can tell `*p 苍鹭*苍鹭*`
from emphasis of its first half: there they are left out. Nor do two kinds stand in one answer:
`*p heron 5*-3` is emphasis in Markdown itself.
"""
MARKED = ["**{}**", "*{}*", "~~{}~~", "`{}`", "***{}***"]
NO_BLANKS = ("Chinese", "Japanese", "Thai")


@st.composite
def answers(draw):
    """An answer and the same without its marks; what is emphasised, in order."""
    language = draw(st.sampled_from(sorted(WORDS_OF)))
    between = "" if language in NO_BLANKS else " "
    starred = [] if language in NO_BLANKS else [draw(st.sampled_from(STARRED))]
    operators = OPERATORS + starred
    marked, bare, bold, was_marked = [], [], [], True
    for _ in range(draw(st.integers(1, 9))):
        word = draw(st.sampled_from(WORDS_OF[language]))
        shape = draw(st.sampled_from([*MARKED, "{}", "{}", "{}"]))
        if was_marked or shape == "{}" or re.search(r"[_*~`$]", word):
            shape = "{}"
        was_marked = shape != "{}"
        if draw(st.integers(0, 4)) == 0:
            word, shape, was_marked = f" {draw(st.sampled_from(operators))} ", "{}", True
        marked.append(shape.format(word))
        bare.append(word)
        bold += [word] if "**" in shape else []
    return between.join(marked).strip(), between.join(bare).strip(), bold


def squeezed(text: str) -> str:
    return " ".join(text.split())


@settings(max_examples=EXAMPLES, deadline=None)
@given(answers())
def test_every_sign_outside_markup_is_shown_and_exactly_the_marked_words_are_bold(answer):
    """C136, C137: operators included, in seven languages."""
    marked, bare, bold = answer
    text, entities = formatted(f"x {marked}")
    assert squeezed(text) == squeezed(f"x {bare}")
    wide = text.encode("utf-16-le")
    spans = sorted((e.offset, e.length) for e in entities if e.type == "bold")
    assert [wide[2 * at : 2 * (at + size)].decode("utf-16-le") for at, size in spans] == bold
    assert all(first[0] + first[1] <= second[0] for first, second in pairwise(spans))
