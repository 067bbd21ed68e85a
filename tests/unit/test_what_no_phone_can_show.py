"""Very long code becomes a file, a wide table becomes lines; everything else stays as it was
written.
"""

from __future__ import annotations

import pytest

from bot.telegram.outbound.formatting import format_chunks, formatted
from bot.telegram.outbound.markdown_blocks import MAX_CODE_CHARS, File, pieces
from bot.telegram.outbound.splitting import Chunk
from bot.telegram.outbound.tables import MAX_WIDTH
from tests.costs import assert_linear

CODE = "".join(f"print({number})\n" for number in range(1500))
WIDE = """\
| What it is | What **it** costs in the shop | `when` |
|---|---:|---|
| a heron | a lot of money | never \\| ever |
| a train | | at 10 |
"""
NARROW = "| a | b |\n|---|---|\n| 1 | 2 |\n"


# -------------------------------------------------------------------------------------------- files


@pytest.mark.parametrize(
    ("language", "name"),
    [
        ("python", "code-1.py"),
        ("js", "code-1.js"),
        ("", "code-1.txt"),
        ("../../etc", "code-1.txt"),
        ("YAML title=x", "code-1.yaml"),
    ],
)
def test_very_long_code_is_a_file_named_after_its_language(language, name):
    before, file, after = pieces(f"Here:\n\n```{language}\n{CODE}```\n\nThat is all.")
    assert (before, file, after) == ("Here:\n\n", File(name, CODE), "\n\nThat is all.")


def test_its_text_and_caption_arrive_in_order():
    parts = format_chunks(f"Here is **it**:\n\n```py\n{CODE}```\n\nThat is all.")
    assert [(part.text, part.file is not None) for part in parts] == [
        ("Here is it:", False),
        (f"code-1.py ({len(CODE) // 1024} KB)", True),
        ("That is all.", False),
    ]
    assert parts[1].file is not None
    assert parts[1].file.content == CODE


def test_code_whose_fence_is_still_open_is_a_file_too():
    assert [type(piece) for piece in pieces(f"```py\n{CODE}")] == [str, File, str]
    assert len(format_chunks(f"```py\n{CODE}")) == 1


def test_two_of_them_are_two_files():
    names = [
        piece.name
        for piece in pieces(f"```py\n{CODE}```\n\nand\n\n```c\n{CODE}```")
        if isinstance(piece, File)
    ]
    assert names == ["code-1.py", "code-2.c"]


@pytest.mark.parametrize(
    "markdown",
    [
        pytest.param(
            "```py\n" + "x" * (MAX_CODE_CHARS - 1) + "\n```", id="code for three messages"
        ),
        pytest.param("words " * 5000, id="words"),
        pytest.param(
            f"- item\n\n  ```py\n  {CODE.replace(chr(10), chr(10) + '  ')}\n  ```",
            id="code in a list",
        ),
    ],
)
def test_nothing_else_is_a_file(markdown):
    assert list(pieces(markdown)) == [markdown]


# ------------------------------------------------------------------------------------------- tables


def test_a_wide_table_becomes_a_list_in_which_each_cell_stands_with_its_head():
    """C138."""
    text, entities = formatted(f"Look:\n\n{WIDE}\nDone.")
    assert text == (
        "Look:\n\n"
        "• What it is: a heron\n  What it costs in the shop: a lot of money\n  when: never | ever\n"
        "• What it is: a train\n  when: at 10\n\n"
        "Done."
    )
    assert "pre" not in {entity.type for entity in entities}


def test_five_columns_are_read_without_scrolling():
    """C138."""
    head, *rows = (
        ["Name", "Population", "Capital", "Currency", "Language"],
        *[["France", "68", "Paris", "€", "fr"]] * 3,
    )
    source = "\n".join(f"| {' | '.join(row)} |" for row in (head, ["---"] * 5, *rows))
    shown = formatted(source)[0]
    assert shown.count("Capital: Paris") == len(rows)
    assert all(len(line) <= MAX_WIDTH for line in shown.splitlines())


def test_formatting_in_a_cell_stays():
    table = (
        "| one column of words | another column of words |\n|---|---|\n| **a** | `b` "
        "[c](https://c.example) |\n"
    )
    assert [entity.type for entity in formatted(table)[1]] == ["bold", "code", "text_link"]


def test_a_link_in_a_narrow_table_can_be_followed():
    text, entities = formatted("| a | b |\n|---|---|\n| [x](https://x.example) | 2 |\n")
    assert (text, [entity.url for entity in entities]) == ("• a: x\n  b: 2", ["https://x.example"])


def test_a_narrow_table_stays_one():
    text, entities = formatted(NARROW)
    assert [entity.type for entity in entities] == ["pre"]
    assert text == "a | b\n--+--\n1 | 2"


def test_wide_characters_count_twice():
    assert formatted("| 名字 | b |\n|---|---|\n| x | 2 |")[0] == "名字 | b\n-----+--\nx    | 2"


def test_each_cell_stands_with_its_head_also_where_heads_are_long():
    """C138: where they are too long to be repeated, the beginning of each is."""
    heads = ["Average temperature", "Precipitation in a year", "Население города", "风速"]
    rows = [[str(number), str(number + 7), str(number * 9), str(number + 1)] for number in range(6)]
    lines = [heads, ["---"] * 4, *rows]
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    first, *shown = formatted(table)[0].split("\n• ")
    assert first == f"• {' · '.join(heads)}"
    for row, item in zip(rows, shown, strict=True):
        for head, cell, line in zip(heads, row, item.split("\n"), strict=True):
            label, _, value = line.strip().partition(": ")
            assert value == cell
            assert head.startswith(label.removesuffix("…"))
            assert len(label) > 1


def test_heads_that_would_flood_the_chat_stand_once():
    head = "a long head of a column " * 20
    table = f"| {head} | {head} |\n|---|---|\n" + "| 1 | 2 |\n" * 400
    text = formatted(table)[0]
    assert len(text) <= 3 * len(table)
    assert text.count("long head") == 40
    assert text.count("• 1 · 2") == 400


def sparse_table(size):
    """A long head, and many rows that have one cell each."""
    return f"{'|a' * size}|\n{'|-' * size}|\n" + "|a\n" * (5 * size)


def test_cells_nobody_wrote_take_no_time():
    """The parser fills short rows up: a table twice as wide and long would cost four times as
    much.
    """
    half, whole = sparse_table(1000), sparse_table(2000)
    assert formatted(whole)[0].split() == whole.split()
    assert_linear(lambda: formatted(half), lambda: formatted(whole))


def test_a_very_large_table_costs_as_much_as_it_has_rows():
    half, whole = (WIDE + "| a | b | c |\n" * rows for rows in (2000, 4000))
    assert sum(part.text.count("· c") for part in format_chunks(whole)) == 4000
    assert_linear(lambda: format_chunks(half), lambda: format_chunks(whole))


def test_every_prefix_of_a_wide_table_can_be_shown():
    for end in range(1, len(WIDE)):
        for part in format_chunks(WIDE[:end]):
            assert isinstance(part, Chunk)
