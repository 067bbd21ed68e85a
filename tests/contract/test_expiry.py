"""Expiry is decided at load, from times that are passed in; the TTL index only collects what nobody
may load.
"""

from __future__ import annotations

from datetime import timedelta

import pytest

from bot.session import Lifetime
from tests.builders import ANNA, ANNAS_CHAT, BORIS, LIFETIME, NOON, session

IDLE, MAX_AGE, TICK = LIFETIME.idle, LIFETIME.max_age, timedelta(milliseconds=1)
HALF_A_DAY = Lifetime(timedelta(hours=12), timedelta(days=30))


@pytest.fixture
async def sessions(stores):
    await stores.sessions.create(ANNA, session())
    return stores.sessions


async def ask(method, at, now=None, lifetime=LIFETIME, owner=ANNA):
    return await method(owner, ANNAS_CHAT, at=at, now=now or at, lifetime=lifetime)


@pytest.mark.parametrize(
    ("at", "now", "over"),
    [
        (NOON + IDLE, NOON + IDLE, False),
        (NOON + IDLE + TICK, NOON + IDLE + TICK, True),
        (NOON + IDLE, NOON + timedelta(hours=9), False),
        (NOON - timedelta(days=1), NOON, False),
        (NOON, NOON + MAX_AGE, False),
        (NOON, NOON + MAX_AGE + TICK, True),
    ],
    ids=[
        "at_the_limit",
        "past_it",
        "waited_in_the_inbox",
        "from_before",
        "as_old_as_allowed",
        "too_old",
    ],
)
@pytest.mark.parametrize(
    "order", [("load", "expire"), ("expire", "load")], ids=["load_first", "expire_first"]
)
async def test_load_and_expire_are_exact_opposites(sessions, at, now, over, order):
    """A message is judged by its own date, so waiting in the inbox expires nothing; a Session's age
    by the clock.
    """
    found = {method: await ask(getattr(sessions, method), at, now) is not None for method in order}
    assert found == {"load": not over, "expire": over}


async def test_a_day_and_a_half_is_not_half_a_day(sessions):
    """36 h have 12 h on the clock face and in `timedelta.seconds`; the whole elapsed time
    counts.
    """
    assert await ask(sessions.load, NOON + timedelta(hours=36), lifetime=HALF_A_DAY) is None
    assert await ask(sessions.expire, NOON + timedelta(hours=36), lifetime=HALF_A_DAY)


async def test_midnight_ends_nothing(sessions):
    """C37: 8 h 54 min over midnight is within 12 h."""
    assert await ask(sessions.load, NOON + timedelta(hours=11, minutes=54), lifetime=HALF_A_DAY)


async def test_an_expired_session_is_closed_and_makes_room(sessions):
    late = NOON + timedelta(hours=1)
    closed = await ask(sessions.expire, late)
    assert (closed.id, closed.status, closed.last_active) == (session().id, "closed", NOON)
    assert await ask(sessions.expire, late) is None
    await sessions.create(ANNA, session("b" * 32, created_at=late, last_active=late))
    assert (await ask(sessions.load, late)).id == "b" * 32


async def test_expiring_cannot_close_a_session_made_a_moment_ago(sessions):
    """C27: of two replicas that found the old one over, the slower must not close what the faster
    has made.
    """
    late = NOON + timedelta(hours=1)
    await ask(sessions.expire, late)
    await sessions.create(ANNA, session("b" * 32, created_at=late, last_active=late))
    assert await ask(sessions.expire, late) is None
    assert (await ask(sessions.load, late)).id == "b" * 32


async def test_expiring_reaches_only_ones_own(sessions):
    assert await ask(sessions.expire, NOON + timedelta(days=9), owner=BORIS) is None
    assert await ask(sessions.load, NOON)


async def test_each_message_prolongs_the_session(sessions):
    for minutes in range(0, 180, 29):
        assert await ask(sessions.load, NOON + timedelta(minutes=minutes))
