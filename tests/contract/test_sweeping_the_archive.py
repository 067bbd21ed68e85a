"""The hourly sweep: archive rows whose Session is gone disappear, all others stay."""

from __future__ import annotations

import pytest

from bot.owner import Owner, Place
from bot.store.mongo.admin import sweep_archive
from bot.store.mongo.driver_gate import DriverGate
from tests.builders import ANNA, ANNAS_CHAT, BORIS, dialogue, session


@pytest.mark.parametrize("batch", [1, 3, 4, 500])
async def test_only_orphans_are_swept_whatever_the_batch(store, batch):
    """A crash between the two halves of /reset leaves an archive without its Session."""
    await store.sessions.create(ANNA, session("a" * 32))
    await store.archive.add(ANNA, "a" * 32, dialogue(3))
    await store.archive.add(ANNA, "b" * 32, dialogue(2))
    for number in range(1, 6):
        owner = Owner(number)
        if number % 2:
            await store.sessions.create(owner, session(f"{number:032x}", owner, Place(number)))
        await store.archive.add(owner, f"{number:032x}", dialogue(1))
    assert await sweep_archive(store.database, store.calls, batch) == 4 + 2 * 2
    assert await sweep_archive(store.database, store.calls, batch) == 0
    assert len(await store.archive.of(ANNA, "a" * 32)) == 6
    kept = [
        number for number in range(1, 6) if await store.archive.of(Owner(number), f"{number:032x}")
    ]
    assert kept == [1, 3, 5]


async def test_a_session_of_another_owner_keeps_nobodys_rows(store):
    """A row belongs to a Session of the same id and the same Owner."""
    await store.sessions.create(BORIS, session("a" * 32, BORIS))
    await store.archive.add(ANNA, "a" * 32, dialogue(1))
    assert await sweep_archive(store.database, store.calls) == 2


async def test_a_closed_session_keeps_its_archive(store):
    await store.sessions.create(ANNA, session())
    await store.archive.add(ANNA, session().id, dialogue(1))
    await store.sessions.close(ANNA, ANNAS_CHAT)
    assert await sweep_archive(store.database, DriverGate()) == 0


async def test_nothing_archived_is_nothing_swept(store):
    assert await sweep_archive(store.database, store.calls) == 0
