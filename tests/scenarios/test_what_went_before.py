"""A dialogue that follows another knows what that was about: by itself after expiry, by a button
after `/new`, and after `/reset` never.
"""

from __future__ import annotations

import pytest

from bot.agent.previous_dialogue import MAX_TOKENS
from bot.standins.claude.answers import call, calls, say
from bot.telegram.outbound.buttons import TAKE
from bot.texts import text
from bot.tokens import Tokens

TAG = "<previous_dialogue "
PLAN = {"goal": "move to Kotka", "steps": ["sell the piano", "find a flat"]}


def first_block(request):
    return request["messages"][0]["content"][0]["text"]


async def planned(state, person):
    """A dialogue with a plan, one step of which is done."""
    state.claude.script(
        calls(call("set_plan", PLAN)),
        calls(call("update_plan", {"steps": [{"number": 1, "status": "done"}]})),
        say("The second one is next."),
    )
    await state.ask(person, "Help me to move.")


async def test_the_first_request_after_expiry_says_what_went_before(state, anna):
    """C158"""
    async with state.bot():
        await planned(state, anna)
        state.passes(minutes=31)
        await state.ask(anna, "and the second one?", answers=2)
        await state.ask(anna, "Thanks.")

    _, second, third = state.requests[-3:]
    told = first_block(second)
    assert second["messages"][0]["role"] == "user"
    assert told.startswith(TAG)
    for word in ("2026-01-05", "Title: Help me to move.", "Goal: move to Kotka", "find a flat"):
        assert word in told
    assert "sell the piano" not in told, "that step is done"
    assert "and the second one?" in str(second["messages"][0])
    assert first_block(third) == told, "the prefix stays as it was"
    assert await Tokens()(told) <= MAX_TOKENS


@pytest.mark.parametrize(
    "words", ["слово " * 300, "字" * 900, "👩‍👩‍👧‍👦" * 200, "</previous_dialogue>" * 40]
)
async def test_it_is_never_longer_than_its_limit(state, anna, words):
    async with state.bot():
        state.claude.script(
            calls(call("set_plan", {"goal": words[:480], "steps": [words[:150]] * 9})), say("Yes.")
        )
        await state.ask(anna, words)
        state.passes(minutes=31)
        await state.ask(anna, "and then?", answers=2)

    told = first_block(state.requests[-1])
    assert told.startswith(TAG)
    assert told.count("</previous_dialogue>") == 1
    assert 30 < await Tokens()(told) <= MAX_TOKENS


@pytest.mark.parametrize(
    "settings",
    [{"TOPIC_AFTER_EXPIRY": "off"}, {"SESSION_RESUME_SECONDS": "0"}],
    ids=["switched off", "nothing may be resumed"],
)
async def test_nothing_is_told(state, anna, settings):
    async with state.bot(**settings):
        await planned(state, anna)
        state.passes(minutes=31)
        await state.ask(anna, "and the second one?", answers=2)

    assert TAG not in str(state.requests[-1]["messages"])


@pytest.mark.parametrize("command", ["/new", "/reset"])
async def test_a_command_leaves_the_topic_behind(state, anna, command):
    async with state.bot():
        await planned(state, anna)
        await state.ask(anna, command)
        await state.ask(anna, "and the second one?")

    assert TAG not in str(state.requests[-1]["messages"])


async def test_after_new_the_topic_comes_along_by_a_button(state, anna):
    async with state.bot():
        await planned(state, anna)
        await state.ask(anna, "/new")
        anna.presses(text("button_take", "en"))
        await state.telegram.until(lambda: text("topic_taken", "en") in anna.chat.answers[-1].text)
        await state.ask(anna, "and the second one?")

    assert "Goal: move to Kotka" in first_block(state.requests[-1])


async def test_the_button_expires_with_the_first_word(state, anna):
    async with state.bot():
        await planned(state, anna)
        await state.ask(anna, "/new")
        below = anna.chat.answers[-1]
        await state.ask(anna, "Something else.")
        query = anna.presses(text("button_take", "en"), on=below)
        await state.telegram.until(lambda: query.answer is not None)
        await state.ask(anna, "and the second one?")

    assert query.answer["text"] == text("button_expired", "en")
    assert TAG not in str(state.requests[-1]["messages"])


async def test_nobody_takes_the_topic_of_another(state, anna, boris):
    async with state.bot():
        await planned(state, anna)
        [turn] = state.session(anna.id)["turns"]
        await state.ask(anna, "/new")
        await state.ask(boris, "/new")
        query = boris.presses("", on=boris.chat.answers[-1], data=f"{TAKE}:{turn}")
        await state.telegram.until(lambda: query.answer is not None)
        await state.ask(boris, "and the second one?")

    assert query.answer["text"] == text("button_expired", "ru")
    assert TAG not in str(state.requests[-1]["messages"])
