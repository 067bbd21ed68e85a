"""`/new` and `/reset`: a fresh Session under a new id, whatever the old one was like."""

from __future__ import annotations

from datetime import timedelta

import pytest

from bot.agent.scripted import says
from tests.builders import ANNA, ANNAS_CHAT, BORIS, BORIS_CHAT, GROUP, dialogue


@pytest.mark.parametrize("command", ["new", "reset"])
async def test_both_begin_a_session_with_another_id(house, command):
    """C32"""
    at = house(says("Hi."))
    await at.ask("hello")
    before = await at.active()
    await getattr(at.lifecycle, command)(ANNA, ANNAS_CHAT)

    after = await at.active()
    assert after.id != before.id
    assert after.is_empty


@pytest.mark.parametrize("command", ["new", "reset"])
async def test_both_work_where_nothing_was_ever_said(house, command):
    at = house()
    await getattr(at.lifecycle, command)(ANNA, ANNAS_CHAT)

    assert (await at.active()).is_empty


@pytest.mark.parametrize("command", ["new", "reset"])
async def test_both_need_no_model(house, command):
    """C31: a Session that the model refuses altogether can still be left."""
    at = house()
    await getattr(at.lifecycle, command)(ANNA, ANNAS_CHAT)

    assert at.model.requests == []


async def test_new_keeps_the_old_session_and_reset_erases_it_with_its_archive(house):
    """C30"""
    at = house(says("One."), says("Two."))
    await at.ask("one")
    kept = await at.active()
    await at.lifecycle.new(ANNA, ANNAS_CHAT)
    await at.ask("two")
    erased = await at.active()
    await at.archive.add(ANNA, erased.id, dialogue(1))
    await at.lifecycle.reset(ANNA, ANNAS_CHAT)

    assert await at.sessions.exists(ANNA, kept.id)
    assert not await at.sessions.exists(ANNA, erased.id)
    assert await at.archive.of(ANNA, erased.id) == []


async def test_reset_erases_a_session_that_is_long_over(house):
    at = house(says("Hi."))
    await at.ask("hello")
    old = await at.active()
    at.clock.advance(timedelta(days=90))
    await at.lifecycle.reset(ANNA, ANNAS_CHAT)

    assert not await at.sessions.exists(ANNA, old.id)


@pytest.mark.parametrize("command", ["new", "reset"])
async def test_each_ends_the_session_of_its_own_place_only(house, command):
    """C33"""
    at = house(otherwise=lambda request: says("Hi."))
    for owner, place in ((ANNA, ANNAS_CHAT), (ANNA, GROUP), (BORIS, BORIS_CHAT), (BORIS, GROUP)):
        await at.ask("hello", owner, place)
    await getattr(at.lifecycle, command)(ANNA, GROUP)

    assert (await at.active(ANNA, GROUP)).is_empty
    for owner, place in ((ANNA, ANNAS_CHAT), (BORIS, BORIS_CHAT), (BORIS, GROUP)):
        assert not (await at.active(owner, place)).is_empty
