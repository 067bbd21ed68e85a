"""How much one person may send: what is honest passes, a flood does not, and neither costs memory
without bound.
"""

from __future__ import annotations

from datetime import timedelta

import pytest

from bot.ops.clock import ManualClock
from bot.owner import Owner
from bot.telegram.inbound.incoming_rate import MAX_PEOPLE, Arrival, IncomingRate

ANNA, BORIS = Owner(1), Owner(2)
PER_MINUTE = 20


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def rate(clock):
    return IncomingRate(PER_MINUTE, clock)


def admitted(rate, count, kind="content", *, owner=ANNA, first=1, **marks):
    """How many of so many updates that arrive at once are admitted."""
    return sum(
        rate.admits(owner, Arrival(first + number, kind, **marks)) for number in range(count)
    )


def test_a_long_paste_and_an_album_pass_whole(rate):
    """C167"""
    assert admitted(rate, 20) == 20
    assert admitted(rate, 10, first=100) == 10


@pytest.mark.parametrize(
    ("kind", "burst"), [("content", 40), ("command", 160), ("press", 160), ("edit", 160)]
)
def test_two_minutes_worth_pass_at_once(rate, kind, burst):
    assert admitted(rate, 2000, kind) == burst


def test_a_person_at_the_limit_regains_a_minutes_worth_a_minute(rate, clock):
    admitted(rate, 100)
    clock.advance(timedelta(seconds=30))
    assert admitted(rate, 100, first=200) == PER_MINUTE / 2


def test_one_persons_flood_takes_nothing_from_another(rate):
    admitted(rate, 2000)
    assert admitted(rate, 40, owner=BORIS) == 40


def test_who_is_at_the_limit_can_still_stop_though_not_without_end(rate, clock):
    admitted(rate, 2000)
    assert admitted(rate, 2000, "command", first=5000, ends_turn=True) == PER_MINUTE
    clock.advance(timedelta(seconds=1))
    assert admitted(rate, 2000, "command", first=9000, ends_turn=True) == 1
    assert admitted(rate, 1, first=20_000) == 0


def test_an_update_that_was_admitted_is_admitted_again_and_counts_once(rate):
    assert admitted(rate, 30) == 30
    assert admitted(rate, 30) == 30
    assert admitted(rate, 100, first=100) == 10
    assert admitted(rate, 30) == 30


def test_what_waited_at_telegram_while_the_bot_was_away_is_no_flood(rate, clock):
    """Sixty messages of an hour, handed over at once: it counts when they were sent."""
    hour_ago = clock.now() - timedelta(hours=1)
    sent = [
        Arrival(number, "content", sent_at=hour_ago + timedelta(minutes=number))
        for number in range(60)
    ]
    assert [rate.admits(ANNA, arrival) for arrival in sent] == [True] * 60


def test_a_flood_that_waited_there_is_one(rate, clock):
    at = clock.now() - timedelta(hours=1)
    taken = [rate.admits(ANNA, Arrival(number, "content", sent_at=at)) for number in range(200)]
    assert sum(taken) == 40


def test_messages_that_arrive_out_of_order_gain_nothing(rate, clock):
    early, late = clock.now(), clock.now() + timedelta(minutes=1)
    taken = [
        rate.admits(ANNA, Arrival(number, "content", sent_at=late if number % 2 else early))
        for number in range(400)
    ]
    assert sum(taken) <= 40 + PER_MINUTE


def test_a_million_people_take_no_more_room_than_ten_thousand(rate, clock):
    for number in range(1, MAX_PEOPLE + 3000):
        rate.admits(Owner(number), Arrival(number, "press"))
    assert rate.remembered() == MAX_PEOPLE
    clock.advance(timedelta(minutes=2))
    rate.admits(ANNA, Arrival(1, "press"))
    assert rate.remembered() == 1


def test_who_floods_beside_many_others_is_not_forgotten(rate):
    admitted(rate, 40)
    for number in range(10, MAX_PEOPLE + 3000):
        rate.admits(Owner(number), Arrival(number, "press"))
        if number % 1000 == 0:
            assert admitted(rate, 1, first=10**6 + number) == 0


def test_the_least_limit_still_lets_a_person_write_and_stop(clock):
    rate = IncomingRate(1, clock)
    assert (admitted(rate, 5), admitted(rate, 5, "command", first=10, ends_turn=True)) == (2, 1)
