"""An admin sees of each Session what its Owner would find: the same rule says what is over."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from bot.owner import Place
from bot.session import Lifetime
from tests.builders import ANNA, session

LIFETIME = Lifetime(timedelta(minutes=30), timedelta(days=3), resume=timedelta(hours=2))
"""Each of its times, in minutes: 30, 4,320 and 120."""
SEEN = {
    "fresh": ("active", 5, 3, "active", 27),
    "idle": ("active", 40, 31, "expired", -1),
    "as old as it may be": ("active", 4_320 - 1, 0, "active", 1),
    "older": ("active", 4_320 + 2, 0, "expired", -2),
    "closed": ("closed", 200, 31, "closed", 119),
    "closed for long": ("closed", 200, 151, "expired", -1),
    "closed and old": ("closed", 4_320 + 5, 10, "expired", -5),
}


@pytest.mark.parametrize("case", SEEN)
async def test_it_tells_when_a_session_ends_and_whether_it_has(store, case):
    status, old, idle, shown, left = SEEN[case]
    now = datetime.now(UTC).replace(microsecond=0)
    made = session(place=Place(7), status=status)
    made.created_at = now - timedelta(minutes=old)
    made.last_active = now - timedelta(minutes=idle)
    await store.sessions.create(ANNA, made)
    await store.publish_lifetime(LIFETIME)

    found = await store.database["sessions_overview"].find_one({"ownerId": ANNA.id})

    assert found["status"] == shown
    assert found["expiresAt"] == now + timedelta(minutes=left)
    assert made.is_over(now, now, LIFETIME) is (shown == "expired")


async def test_it_follows_a_changed_setting(store):
    now = datetime.now(UTC)
    made = session()
    made.created_at = made.last_active = now - timedelta(minutes=10)
    await store.sessions.create(ANNA, made)
    shown = []
    for minutes in (5, 15):
        await store.publish_lifetime(Lifetime(timedelta(minutes=minutes), timedelta(days=1)))
        found = await store.database["sessions_overview"].find_one({"ownerId": ANNA.id})
        shown.append(found["status"])
    assert shown == ["expired", "active"]


async def test_before_the_first_start_it_shows_what_is_stored(store):
    await store.sessions.create(ANNA, session())
    await store.database["settings"].delete_many({})
    found = await store.database["sessions_overview"].find_one({"ownerId": ANNA.id})
    assert (found["status"], found["expiresAt"]) == ("active", None)
