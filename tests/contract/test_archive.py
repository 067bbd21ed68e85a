"""The Archive port: written before the Session forgets, without repetition, per Owner."""

from __future__ import annotations

import pytest

from tests.builders import ANNA, BORIS, dialogue

ID = "a" * 32


@pytest.fixture
def archive(stores):
    return stores.archive


async def test_messages_come_back_in_order(archive):
    messages = dialogue(3)
    await archive.add(ANNA, ID, messages[3:])
    await archive.add(ANNA, ID, messages[:3])
    assert await archive.of(ANNA, ID) == messages


async def test_adding_again_changes_nothing(archive):
    """C48: a compaction that crashed half-way is simply run again."""
    first = dialogue(2)
    await archive.add(ANNA, ID, first[:3])
    await archive.add(ANNA, ID, dialogue(2, words="other words of"))
    stored = await archive.of(ANNA, ID)
    assert [entry.seq for entry in stored] == [0, 1, 2, 3]
    assert stored[:3] == first[:3]


async def test_adding_nothing_is_allowed(archive):
    await archive.add(ANNA, ID, [])
    assert list(await archive.of(ANNA, ID)) == []


async def test_sessions_and_owners_are_apart(archive):
    """A foreign Session's id opens nothing and deletes nothing."""
    await archive.add(ANNA, ID, dialogue(1))
    await archive.add(ANNA, "b" * 32, dialogue(2))
    assert list(await archive.of(BORIS, ID)) == []
    await archive.erase(BORIS, ID)
    await archive.erase(ANNA, "b" * 32)
    assert len(await archive.of(ANNA, ID)) == 2
    assert list(await archive.of(ANNA, "b" * 32)) == []


@pytest.mark.parametrize("loose", [{"$ne": ""}, ["a"], 7.5], ids=["not_equal", "list", "float"])
async def test_a_session_id_must_be_plain(archive, loose):
    """C58: a mapping would match, or delete, every Session of the Owner."""
    for method in (archive.of, archive.erase):
        with pytest.raises(TypeError):
            await method(ANNA, loose)
        with pytest.raises(TypeError):
            await method(ANNA.id, ID)
