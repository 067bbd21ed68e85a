"""C141: answers that grew without end in formatting, through a whole bot: few messages, and another
person is answered meanwhile.
"""

from __future__ import annotations

import pytest

MACROS = ("sqrt", "overline", "cancel", "overbrace", "underline")
MAX_PARTS = 3
PART_UNITS = 4096


def nested(macro, depth):
    return "$" + f"\\{macro}{{" * depth + "x" + "}" * depth + "$"


async def told(state, person, other, answer):
    """The messages in which the person gets this answer, while another one is answered."""
    before, asked = len(person.chat.answers), len(state.requests)
    ended = {"ownerId": person.id, "state": "done"}
    done = state.database["inbox"].count_documents(ended)
    state.claude.script(answer)
    person.says("Show me.")
    await state.telegram.until(lambda: len(state.requests) > asked, seconds=60)
    assert await state.ask(other, "hello")
    await state.eventually(
        lambda: state.database["inbox"].count_documents(ended) > done, seconds=60
    )
    return [message.text for message in person.chat.answers[before:]]


@pytest.mark.parametrize("depth", [16, 20, 40])
async def test_a_formula_however_deep_is_one_message(state, anna, boris, depth):
    async with state.bot():
        for macro in MACROS:
            shown = await told(state, anna, boris, f"It is {nested(macro, depth)} so.")
            assert shown == [f"It is {nested(macro, depth)} so."]


@pytest.mark.parametrize(
    ("unit", "length"),
    [(r"\(", 12_000), ("*_", 12_000), ("[a](", 16_000), ("|a", 16_000), (r"\(", 60_000)],
)
async def test_a_sign_repeated_without_end_is_shown_as_it_was_written(
    state, anna, boris, unit, length
):
    answer = unit * (length // len(unit))
    async with state.bot(MAX_TOKENS="64000"):
        shown = await told(state, anna, boris, answer)
    assert "".join(shown) == answer
    assert len(shown) <= max(MAX_PARTS, -(-length // PART_UNITS))
