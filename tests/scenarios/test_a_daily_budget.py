"""DAILY_TOKEN_BUDGET: what a person may use in a day, and /usage, which shows it."""

from __future__ import annotations

import asyncio

from bot.demo.claude.answers import call
from bot.demo.claude.faults import Fault
from bot.texts import text

ROOM_FOR_ONE = 5_000
"""Tokens: for one more call, and not for two."""


def used(world, person):
    rows = world.database["usage"].find({"ownerId": person.id})
    kinds = ("inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens")
    return sum(row[kind] for row in rows for kind in kinds)


def figures(sentence):
    return [
        int(word)
        for word in sentence.replace("\u202f", "").replace(".", " ").replace(":", " ").split()
        if word.isdigit()
    ]


async def test_a_budget_of_zero_allows_nothing_and_says_so(world, anna):
    """C79: no call is made."""
    async with world.bot(DAILY_TOKEN_BUDGET="0"):
        assert await world.ask(anna, "Hello") == text("error_budget_none", "en")
        assert text("usage_none", "en") in await world.ask(anna, "/usage")
    assert world.requests == []
    assert used(world, anna) == 0


async def test_without_a_budget_there_is_no_limit(world, anna):
    """C79: unset is not 0."""
    async with world.bot():
        await world.ask(anna, "My secret word is heron.")
        assert "heron" in await world.ask(anna, "What is my secret word?")
        assert text("usage_free", "en") in await world.ask(anna, "/usage")
    assert "holds" not in world.database["usage"].find_one({"ownerId": anna.id})


async def test_five_messages_at_once_just_below_the_cap_do_not_overrun_it(world, anna, boris):
    """C80: the size of a call is set aside before it is made; /new gives nothing back; the day's end does."""
    chats = [anna.chat, *(world.telegram.supergroup(members=[anna, boris]) for _ in range(4))]
    async with world.bot():
        await world.ask(anna, "Hello")
    budget = used(world, anna) + ROOM_FOR_ONE
    async with world.bot(DAILY_TOKEN_BUDGET=str(budget)):
        world.claude.faults.slow(0.02)
        said = await asyncio.gather(
            *(world.ask(anna, "@emulated_bot Tell me about herons.", chat=chat) for chat in chats)
        )
        refused = [one for one in said if one == text("error_budget_group", "en") or "This needs about" in one]
        await world.eventually(lambda: not world.database["usage"].find_one({"ownerId": anna.id})["holds"])

        assert len(refused) == 4
        assert used(world, anna) <= budget
        assert [state["state"] for state in world.database["inbox"].find({"doneAt": {"$exists": True}})].count(
            "budget"
        ) == 4

        await world.ask(anna, "/new")
        assert "is renewed in 12 hours, at 00:00 UTC" in await world.ask(anna, "And now?")
        assert "herons" in await world.ask(boris, "Echo: herons")
        world.passes(hours=13)
        assert "owls" in await world.ask(anna, "Echo: owls")


async def test_an_answer_is_no_longer_than_what_is_left(world, anna):
    async with world.bot():
        await world.ask(anna, "Hello")
    budget = used(world, anna) + ROOM_FOR_ONE
    async with world.bot(DAILY_TOKEN_BUDGET=str(budget)):
        await world.ask(anna, "Write me an essay, please.")
        await world.telegram.until(lambda: anna.chat.answers[-1].text == text("ending_cut", "en"))
    assert budget - 2_000 < used(world, anna) <= budget


async def test_a_turn_whose_tools_use_up_the_day_ends_in_words(world, anna):
    """The call after the tool would not fit; what was done is kept, and nothing is overrun."""
    async with world.bot():
        await world.ask(anna, "Hello")
    world.claude.script(call("remember", {"text": "likes tea"}, saying="Let me see."), "Noted.")
    budget = used(world, anna) + ROOM_FOR_ONE
    async with world.bot(DAILY_TOKEN_BUDGET=str(budget)):
        shown = await world.ask(anna, "Remember that I like tea.", answers=2)
    assert shown == "\n".join(["Let me see.", text("ending_budget", "en")])
    assert used(world, anna) <= budget
    assert [message["role"] for message in world.session(anna.id)["messages"]][-3:] == [
        "assistant",
        "user",
        "assistant",
    ]


async def test_a_failed_turn_gives_back_what_was_set_aside(world, anna):
    async with world.bot(DAILY_TOKEN_BUDGET="1000000"):
        world.claude.faults.next(Fault.status(401))
        assert await world.ask(anna, "Hello") == text("error_misconfigured", "en")
        row = await world.eventually(lambda: world.database["usage"].find_one({"ownerId": anna.id, "holds": []}))
    assert used(world, anna) == row["turns"] == 0


async def test_usage_tells_today_this_session_and_what_is_left(world, anna, boris):
    group = world.telegram.supergroup(members=[anna, boris])
    async with world.bot(DAILY_TOKEN_BUDGET="1000000"):
        await world.ask(anna, "Hello")
        await world.ask(anna, "/new")
        await world.ask(anna, "My secret word is heron.")
        await world.eventually(lambda: world.database["usage"].find_one({"ownerId": anna.id, "turns": 2}))
        english = (await world.ask(anna, "/usage")).splitlines()
        russian = await world.ask(boris, "/usage")
        assert await world.ask(anna, "/usage@emulated_bot", chat=group) == text("usage_private", "en")

    whole, here = used(world, anna), world.session(anna.id)["usage"]
    assert figures(english[0]) == [whole, 2]
    assert figures(english[1]) == [sum(here.values()) - 1, 1]
    assert figures(english[2])[:2] == [1_000_000 - whole, 1_000_000]
    assert "in 12 hours, at 00:00 UTC" in english[2]
    assert russian.startswith("Сегодня (по UTC): токенов — 0, ответов — 0.")
    assert "через 12 часов" in russian


async def test_usage_does_not_wait_for_a_running_answer(world, anna):
    world.claude.faults.slow(0.2)
    async with world.bot():
        anna.says("Count to 200.")
        await world.claude.until(lambda exchanges: any(one.body.get("tools") for one in exchanges))
        assert "Today (UTC)" in await world.ask(anna, "/usage")
        assert await world.ask(anna, "/stop", answers=1)
