"""DAILY_TOKEN_BUDGET: what a person may use in a day, and /usage, which shows it."""

from __future__ import annotations

import asyncio

from bot.standins.claude.answers import call
from bot.standins.claude.faults import Fault
from bot.texts import text

ROOM_FOR_ONE = 5_000
"""Tokens: for one more call, and not for two."""


def used(state, person):
    rows = state.database["usage"].find({"ownerId": person.id})
    kinds = ("inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens")
    return sum(row[kind] for row in rows for kind in kinds)


def figures(sentence):
    return [
        int(word)
        for word in sentence.replace("\u202f", "").replace(".", " ").replace(":", " ").split()
        if word.isdigit()
    ]


async def test_a_budget_of_zero_allows_nothing_and_says_so(state, anna):
    """C79: no call is made."""
    async with state.bot(DAILY_TOKEN_BUDGET="0"):
        assert await state.ask(anna, "Hello") == text("error_budget_none", "en")
        assert text("usage_none", "en") in await state.ask(anna, "/usage")
    assert state.requests == []
    assert used(state, anna) == 0


async def test_without_a_budget_there_is_no_limit(state, anna):
    """C79: unset is not 0."""
    async with state.bot():
        await state.ask(anna, "My secret word is heron.")
        assert "heron" in await state.ask(anna, "What is my secret word?")
        assert text("usage_free", "en") in await state.ask(anna, "/usage")
    assert "holds" not in state.database["usage"].find_one({"ownerId": anna.id})


async def test_five_messages_at_once_just_below_the_cap_do_not_overrun_it(state, anna, boris):
    """C80: the size of a call is set aside before it is made; /new gives nothing back; the day's
    end does.
    """
    chats = [anna.chat, *(state.telegram.supergroup(members=[anna, boris]) for _ in range(4))]
    async with state.bot():
        await state.ask(anna, "Hello")
    budget = used(state, anna) + ROOM_FOR_ONE
    async with state.bot(DAILY_TOKEN_BUDGET=str(budget)):
        state.claude.faults.slow(0.02)
        said = await asyncio.gather(
            *(state.ask(anna, "@emulated_bot Tell me about herons.", chat=chat) for chat in chats)
        )
        refused = [
            one
            for one in said
            if one == text("error_budget_group", "en") or "This needs about" in one
        ]
        await state.eventually(
            lambda: not state.database["usage"].find_one({"ownerId": anna.id})["holds"]
        )

        assert len(refused) == 4
        assert used(state, anna) <= budget
        assert [
            state["state"] for state in state.database["inbox"].find({"doneAt": {"$exists": True}})
        ].count("budget") == 4

        await state.ask(anna, "/new")
        assert "is renewed in 12 hours, at 00:00 UTC" in await state.ask(anna, "And now?")
        assert "herons" in await state.ask(boris, "Echo: herons")
        state.passes(hours=13)
        assert "owls" in await state.ask(anna, "Echo: owls")


async def test_an_answer_is_no_longer_than_what_is_left(state, anna):
    async with state.bot():
        await state.ask(anna, "Hello")
    budget = used(state, anna) + ROOM_FOR_ONE
    async with state.bot(DAILY_TOKEN_BUDGET=str(budget)):
        await state.ask(anna, "Write me an essay, please.")
        await state.telegram.until(lambda: anna.chat.answers[-1].text == text("ending_cut", "en"))
    assert budget - 2_000 < used(state, anna) <= budget


async def test_a_turn_whose_tools_use_up_the_day_ends_in_words(state, anna):
    """The call after the tool would not fit; what was done is kept, and nothing is overrun."""
    async with state.bot():
        await state.ask(anna, "Hello")
    state.claude.script(call("remember", {"text": "likes tea"}, text="Let me see."), "Noted.")
    budget = used(state, anna) + ROOM_FOR_ONE
    async with state.bot(DAILY_TOKEN_BUDGET=str(budget)):
        shown = await state.ask(anna, "Remember that I like tea.", answers=2)
    assert shown == "\n".join(["Let me see.", text("ending_budget", "en")])
    assert used(state, anna) <= budget
    assert [message["role"] for message in state.session(anna.id)["messages"]][-3:] == [
        "assistant",
        "user",
        "assistant",
    ]


async def test_a_failed_turn_gives_back_what_was_set_aside(state, anna):
    async with state.bot(DAILY_TOKEN_BUDGET="1000000"):
        state.claude.faults.next(Fault.status(401))
        assert await state.ask(anna, "Hello") == text("error_misconfigured", "en")
        row = await state.eventually(
            lambda: state.database["usage"].find_one({"ownerId": anna.id, "holds": []})
        )
    assert used(state, anna) == row["turns"] == 0


async def test_usage_tells_today_this_session_and_what_is_left(state, anna, boris):
    group = state.telegram.supergroup(members=[anna, boris])
    async with state.bot(DAILY_TOKEN_BUDGET="1000000"):
        await state.ask(anna, "Hello")
        await state.ask(anna, "/new")
        await state.ask(anna, "My secret word is heron.")
        await state.eventually(
            lambda: state.database["usage"].find_one({"ownerId": anna.id, "turns": 2})
        )
        english = (await state.ask(anna, "/usage")).splitlines()
        russian = await state.ask(boris, "/usage")
        assert await state.ask(anna, "/usage@emulated_bot", chat=group) == text(
            "usage_private", "en"
        )

    whole, here = used(state, anna), state.session(anna.id)["usage"]
    assert figures(english[0]) == [whole, 2]
    assert figures(english[1]) == [sum(here.values()) - 1, 1]
    assert figures(english[2])[:2] == [1_000_000 - whole, 1_000_000]
    assert "in 12 hours, at 00:00 UTC" in english[2]
    assert russian.startswith("Сегодня (по UTC): токенов — 0, ответов — 0.")
    assert "через 12 часов" in russian


async def test_usage_does_not_wait_for_a_running_answer(state, anna):
    state.claude.faults.slow(0.2)
    async with state.bot():
        anna.says("Count to 200.")
        await state.claude.until(lambda exchanges: any(one.body.get("tools") for one in exchanges))
        assert "Today (UTC)" in await state.ask(anna, "/usage")
        assert await state.ask(anna, "/stop", answers=1)
