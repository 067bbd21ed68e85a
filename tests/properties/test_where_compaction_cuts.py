"""Where compaction cuts, for any dialogue: between turns, never the last one, and far enough below
the trigger.
"""

from __future__ import annotations

from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.compaction.cutting import (
    MAX_TEXT_BYTES,
    TAIL_SHARE,
    CompactionPolicy,
    is_full,
    removable_messages,
)
from bot.store import turn_documents
from tests.builders import message, session, text

turn_lengths = st.lists(st.integers(min_value=1, max_value=9), min_size=0, max_size=40)
policy = st.builds(
    CompactionPolicy,
    messages=st.integers(20, 80),
    tokens=st.integers(200, 20_000),
    keep_messages=st.integers(2, 19),
)


@st.composite
def dialogues(draw):
    """Turns of one to nine messages (a question, tool calls with their results, an answer), of any
    size in tokens.
    """
    lengths = draw(turn_lengths)
    starts = [0, *accumulate(lengths)]
    sizes = st.integers(0, 900)
    return [
        message(starts[turn] + offset, turn, ("user", "assistant")[offset % 2], tokens=draw(sizes))
        for turn, length in enumerate(lengths)
        for offset in range(length)
    ]


@given(dialogues(), policy)
def test_what_is_covered_and_what_is_kept_make_the_dialogue_again(messages, limits):
    old = removable_messages(messages, limits)
    assert list(old) == messages[: len(old)]


@given(dialogues(), policy)
def test_no_turn_is_split(messages, limits):
    old = removable_messages(messages, limits)
    kept = messages[len(old) :]
    assert not {entry.turn for entry in old} & {entry.turn for entry in kept}


@given(dialogues(), policy)
def test_the_last_turn_is_always_kept(messages, limits):
    old = removable_messages(messages, limits)
    assert not messages or messages[-1].turn not in {entry.turn for entry in old}


@given(dialogues(), policy)
def test_the_tail_fits_unless_it_is_a_single_turn(messages, limits):
    kept = messages[len(removable_messages(messages, limits)) :]
    small = (
        len(kept) <= limits.keep_messages
        and sum(entry.tokens for entry in kept) <= TAIL_SHARE * limits.tokens
    )
    assert small or len({entry.turn for entry in kept}) == 1


@given(dialogues(), policy)
def test_no_more_is_covered_than_needed(messages, limits):
    """The turn before the tail would not have fitted into it."""
    old = removable_messages(messages, limits)
    if old:
        larger = [entry for entry in messages if entry.turn >= old[-1].turn]
        too_many = len(larger) > limits.keep_messages
        assert too_many or sum(entry.tokens for entry in larger) > TAIL_SHARE * limits.tokens


@pytest.mark.parametrize(
    "letter", ["x", "ж", "語", "🙂"], ids=["latin", "cyrillic", "han", "emoji"]
)
def test_room_is_made_before_the_store_would_refuse_a_session(letter):
    """In every script: the store's cap is in bytes, of which a letter takes up to four."""
    kind, size = len(text("")["type"]), len(letter.encode())
    most = (MAX_TEXT_BYTES - kind) // size
    fits, too_much = (
        session(messages=[message(0, words=letter * count)]) for count in (most, most + 1)
    )
    policy = CompactionPolicy()
    assert not is_full(fits, policy, prompt=0)
    assert is_full(too_much, policy, prompt=0)
    assert MAX_TEXT_BYTES <= 0.75 * turn_documents.MAX_BYTES
