"""How fast Telegram may be called: what has to be said waits as little as it can, courtesies never
take its room.
"""

from __future__ import annotations

import pytest

from bot.telegram.outbound.limiter import (
    GLOBAL_CALLS_PER_SECOND,
    GROUP_CALLS_PER_MINUTE,
    IDLE_AFTER_SECONDS,
    MAX_CHAT_CALLS_PER_SECOND,
    PREVIEW_CALLS_PER_SECOND,
    PREVIEW_CALLS_TO_IDLE_CHATS,
    SLOW_MODE_SECONDS,
    Limiter,
)

CHAT, OTHER, GROUP = 7, 8, -100


class Time:
    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


@pytest.fixture
def time():
    return Time()


@pytest.fixture
def limiter(time):
    return Limiter(time)


def test_what_has_to_be_said_is_said_at_once(limiter):
    assert [limiter.reserve(person) for person in range(1, GLOBAL_CALLS_PER_SECOND + 1)] == [
        0.0
    ] * GLOBAL_CALLS_PER_SECOND


def test_one_chat_does_not_use_up_what_all_share(limiter, time):
    """C167: two thousand answers to one person leave room at every moment."""
    waits = [limiter.reserve(CHAT) for _ in range(3 * MAX_CHAT_CALLS_PER_SECOND)]
    assert waits == [float(second) for second in range(3) for _ in range(MAX_CHAT_CALLS_PER_SECOND)]
    assert limiter.reserve(OTHER) == 0
    time.now += 2.5
    assert [
        limiter.reserve(person) for person in range(100, 100 + GLOBAL_CALLS_PER_SECOND - 6)
    ] == [0.0] * (GLOBAL_CALLS_PER_SECOND - 6)


def test_the_process_as_a_whole_keeps_below_thirty_calls_a_second(limiter):
    waits = [limiter.reserve(person) for person in range(1, 4 * GLOBAL_CALLS_PER_SECOND + 1)]
    assert waits == [float(second) for second in range(4) for _ in range(GLOBAL_CALLS_PER_SECOND)]


def test_a_penalty_belongs_to_one_chat(limiter, time):
    limiter.penalise(CHAT, 27)
    assert (limiter.penalty(CHAT), limiter.penalty(OTHER)) == (27, 0)
    assert (limiter.has_room(CHAT), limiter.has_room(OTHER)) == (False, True)
    time.now += 26.5
    assert limiter.penalty(CHAT) == 1
    time.now += 0.5
    assert limiter.penalty(CHAT) == 0


def test_a_chat_that_was_slowed_down_gets_a_call_a_second_for_a_while_and_no_courtesies(
    limiter, time
):
    limiter.penalise(CHAT, 5)
    time.now += 5
    assert [limiter.reserve(CHAT) for _ in range(3)] == [0, 1, 2]
    time.now += 10
    assert not limiter.has_room(CHAT)
    time.now += SLOW_MODE_SECONDS
    assert limiter.has_room(CHAT)
    assert limiter.reserve(CHAT) == 0


def test_a_courtesy_keeps_its_distance_to_the_call_before_it(limiter, time):
    limiter.reserve(CHAT)
    assert not limiter.has_room(CHAT)
    time.now += 1
    assert limiter.has_room(CHAT)
    assert not limiter.has_room(CHAT)


def test_courtesies_leave_room_for_what_has_to_be_said(limiter, time):
    granted = [limiter.has_room(person) for person in range(1, 51)]
    left = GLOBAL_CALLS_PER_SECOND - sum(granted)
    assert sum(granted) == PREVIEW_CALLS_TO_IDLE_CHATS
    assert [limiter.reserve(100 + person) for person in range(left)] == [0.0] * left
    time.now += 1.1
    assert limiter.has_room(50)


def test_who_was_shown_nothing_of_late_comes_before_those_who_were(limiter, time):
    shown = range(1, PREVIEW_CALLS_PER_SECOND + 2)
    assert all(limiter.has_room(person) for person in shown)
    time.now += 1.1
    *served, last = shown
    assert all(limiter.has_room(person) for person in served)
    assert not limiter.has_room(last)
    assert limiter.has_room(99)
    time.now += IDLE_AFTER_SECONDS
    assert limiter.has_room(last)


def test_a_group_gets_few_courtesies_a_minute(limiter, time):
    granted = 0
    for _ in range(60):
        granted += limiter.has_room(GROUP)
        time.now += 1
    assert granted == GROUP_CALLS_PER_MINUTE
    assert limiter.has_room(GROUP)


def test_a_penalty_that_was_waited_out_is_over_whatever_the_clock_says(limiter):
    limiter.penalise(CHAT, 5)
    limiter.served(CHAT)
    assert limiter.penalty(CHAT) == 0


def test_chats_of_long_ago_are_forgotten_and_penalties_are_not(limiter, time):
    for person in range(1, 10_000):
        limiter.reserve(person)
    time.now += 1000
    limiter.penalise(CHAT, 2000)
    for person in range(20_000, 20_010):
        limiter.reserve(person)
    assert limiter.penalty(CHAT) == 2000
