"""The Notes port: they outlive Sessions, and private ones never surface in a group."""

from __future__ import annotations

from datetime import timedelta

import pytest

from bot.owner import Place
from bot.ports import Note
from tests.builders import ANNA, ANNAS_CHAT, BORIS, BORIS_CHAT, GROUP, NOON

TEA, CAT = (
    Note("op1", "Anna drinks tea", NOON),
    Note("op2", "The cat is Ada", NOON + timedelta(minutes=1)),
)


@pytest.fixture
def notes(stores):
    return stores.notes


async def test_notes_come_back_oldest_first(notes):
    await notes.add(ANNA, ANNAS_CHAT, CAT)
    await notes.add(ANNA, ANNAS_CHAT, TEA)
    assert await notes.of(ANNA, ANNAS_CHAT) == [TEA, CAT]


async def test_a_repeated_operation_adds_nothing(notes):
    await notes.add(ANNA, ANNAS_CHAT, TEA)
    await notes.add(ANNA, ANNAS_CHAT, Note(TEA.id, "other words", NOON))
    assert await notes.of(ANNA, ANNAS_CHAT) == [TEA]


async def test_a_group_sees_only_its_own(notes):
    """C55: what was said in private stays there, and the other way round; topics of one group
    share.
    """
    await notes.add(ANNA, ANNAS_CHAT, TEA)
    await notes.add(ANNA, GROUP, CAT)
    assert await notes.of(ANNA, GROUP) == [CAT]
    assert await notes.of(ANNA, Place(GROUP.chat_id, 9)) == [CAT]
    assert await notes.of(ANNA, ANNAS_CHAT) == [TEA]
    assert list(await notes.of(ANNA, Place(-7))) == []


async def test_one_owners_notes_are_not_anothers(notes):
    await notes.add(ANNA, ANNAS_CHAT, TEA)
    await notes.add(BORIS, BORIS_CHAT, Note(TEA.id, "Boris drinks coffee", NOON))
    await notes.add(ANNA, GROUP, CAT)
    assert list(await notes.of(BORIS, GROUP)) == []
    assert not await notes.remove(BORIS, GROUP, CAT.id)
    assert await notes.remove(BORIS, BORIS_CHAT, TEA.id)
    assert await notes.of(ANNA, ANNAS_CHAT) == [TEA]


async def test_removing_says_whether_there_was_one(notes):
    await notes.add(ANNA, ANNAS_CHAT, TEA)
    assert not await notes.remove(ANNA, GROUP, TEA.id)
    assert await notes.remove(ANNA, ANNAS_CHAT, TEA.id)
    assert not await notes.remove(ANNA, ANNAS_CHAT, TEA.id)
    assert list(await notes.of(ANNA, ANNAS_CHAT)) == []


async def test_an_id_must_be_plain(notes):
    """C58."""
    with pytest.raises(TypeError):
        await notes.remove(ANNA, ANNAS_CHAT, {"$ne": ""})
    with pytest.raises(TypeError):
        await notes.of({"$ne": 0}, ANNAS_CHAT)
