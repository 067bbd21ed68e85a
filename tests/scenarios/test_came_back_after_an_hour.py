"""Somebody comes back: before the idle limit the talk goes on, after it a new one begins and says
so.
"""

from __future__ import annotations

import pytest

from bot.texts import text


async def test_within_the_idle_limit_the_talk_goes_on(state, anna):
    async with state.bot():
        await state.ask(anna, "My name is Anna.")
        state.passes(minutes=29)
        answer = await state.ask(anna, "What is my name?")

    assert "Anna" in answer
    assert len(state.sessions(anna.id)) == 1


async def test_after_an_hour_a_new_session_begins_with_a_notice(state, anna):
    async with state.bot():
        await state.ask(anna, "My name is Anna.")
        state.passes(hours=1)
        answer = await state.ask(anna, "What is my name?", answers=2)

    assert text("session_expired", "en") in answer
    assert "Anna" not in answer
    old, new = state.sessions(anna.id)
    assert (old["status"], new["status"]) == ("closed", "active")
    assert old["_id"] != new["_id"]
    assert [block["text"] for block in new["messages"][0]["content"]] == ["What is my name?"]


async def test_the_notice_is_in_the_persons_language(state, boris):
    async with state.bot():
        await state.ask(boris, "Меня зовут Борис.")
        state.passes(hours=1)
        answer = await state.ask(boris, "Как меня зовут?", answers=2)

    assert text("session_expired", "ru") in answer


async def test_a_day_and_a_half_is_not_half_a_day(state, anna):
    """C37: total elapsed time decides, neither the calendar nor a remainder of days."""
    async with state.bot(SESSION_TTL_SECONDS=str(13 * 3600), ARCHIVE_DAYS="50"):
        await state.ask(anna, "My name is Anna.")
        state.passes(hours=12)
        assert "Anna" in await state.ask(anna, "What is my name?")
        state.passes(hours=36)
        answer = await state.ask(anna, "What is my name?", answers=2)

    assert text("session_expired", "en") in answer


async def test_the_idle_limit_outlives_the_process(state, anna):
    async with state.bot():
        await state.ask(anna, "My name is Anna.")
    state.passes(minutes=20)
    async with state.bot():
        assert "Anna" in await state.ask(anna, "What is my name?")
    state.passes(minutes=31)
    async with state.bot():
        assert text("session_expired", "en") in await state.ask(anna, "Hello again", answers=2)


async def test_an_empty_session_expires_without_a_word(state, anna):
    """C28"""
    async with state.bot():
        await state.ask(anna, "/new")
        state.passes(hours=5)
        answer = await state.ask(anna, "Hello")

    assert text("session_expired", "en") not in answer


@pytest.mark.parametrize(
    ("ages", "key"),
    [
        ({"SESSION_TTL_SECONDS": "60"}, "session_expired"),
        ({"SESSION_TTL_SECONDS": "600", "SESSION_MAX_AGE_SECONDS": "660"}, "session_expired_age"),
    ],
    ids=["idle", "age"],
)
async def test_it_is_said_why_a_conversation_is_over(state, anna, ages, key):
    async with state.bot(**ages):
        await state.ask(anna, "My secret word is heron.")
        state.passes(seconds=400)
        if key == "session_expired_age":
            await state.ask(anna, "Go on.")
            state.passes(seconds=400)
        said = await state.ask(anna, "And now?", answers=2)
    assert text(key, "en") in said
