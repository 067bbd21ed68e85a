"""What a turn cost is in the books of its Owner and day, equal to what the provider billed (C78, C81)."""

from __future__ import annotations

from bot.demo.claude.answers import call
from bot.demo.claude.faults import Fault
from bot.demo.claude.script import is_summary


def billed(world):
    """Prompt and answer of every call, the start of the torn ones included."""
    exchanges = [one for one in world.claude.journal.exchanges if one.prompt is not None]
    return sum(one.prompt.total for one in exchanges), sum(one.usage.get("output_tokens", 0) for one in exchanges)


def booked(world, person):
    rows = list(world.database["usage"].find({"ownerId": person.id}).sort("day", 1))
    read = ("inputTokens", "cacheReadTokens", "cacheWriteTokens")
    return sum(row[name] for row in rows for name in read), sum(row["outputTokens"] for row in rows), len(rows)


async def test_a_turn_with_a_retry_and_tool_steps_is_booked_in_full(world, anna):
    """The failed call counts as far as it is known: its prompt."""
    world.claude.script(call("recall_notes", {}), call("recall_notes", {}), "There are none.")
    world.claude.faults.next(Fault.dropped())
    async with world.bot():
        await world.ask(anna, "What do you remember?")
        row = await world.eventually(lambda: world.database["usage"].find_one({"ownerId": anna.id}))

    assert row["turns"] == 1
    asked, answered = billed(world)
    assert booked(world, anna)[0] == asked
    assert booked(world, anna)[1] >= answered


async def test_a_turn_that_failed_is_booked_too(world, anna):
    world.claude.faults.next(Fault.refusal())
    async with world.bot():
        await world.ask(anna, "Tell me about herons.")
    assert booked(world, anna) == (*billed(world), 1)
    assert world.database["usage"].find_one({"ownerId": anna.id})["turns"] == 0


async def test_a_turn_with_everything_in_it_is_booked_in_full(world, anna):
    """C78: a retry, three tool steps and a compaction, whose first summary was no good."""
    world.claude.script("No summary.", when=is_summary)
    async with world.bot(CONTEXT_TRIGGER_MESSAGES="6", CONTEXT_KEEP_MESSAGES="2"):
        for number in range(3):
            await world.ask(anna, f"My secret word number {number} is heron.")
        world.claude.faults.next(Fault.dropped())
        world.claude.script(*[call("recall", {"words": word}) for word in ("tea", "Riga", "owls")], "There are none.")
        await world.ask(anna, "What do you remember?")
        await world.eventually(lambda: world.session(anna.id)["compaction"]["fails"] == 1)
        world.passes(minutes=1)
        await world.ask(anna, "And now?")
        await world.eventually(lambda: world.session(anna.id)["summary"])
    assert world.database["usage"].find_one({"ownerId": anna.id})["turns"] == 5
    asked, answered = billed(world)
    assert booked(world, anna)[0] == asked
    assert booked(world, anna)[1] >= answered


async def test_a_turn_that_was_stopped_is_booked_as_far_as_it_is_known(world, anna):
    """Its prompt was read, however little of the answer was written."""
    world.claude.faults.slow(0.1)
    async with world.bot():
        anna.says("Count to 400.")
        await world.telegram.until(lambda: anna.chat.drafts)
        await world.ask(anna, "/stop", answers=3)
    session = world.session(anna.id)
    assert booked(world, anna)[0] == billed(world)[0] > 0
    assert session["usage"]["turns"] == world.database["usage"].find_one({"ownerId": anna.id})["turns"] == 1
    assert session["usage"]["inputTokens"] == booked(world, anna)[0]


async def test_each_day_and_person_has_a_row_that_new_does_not_refill(world, anna, boris):
    async with world.bot():
        await world.ask(anna, "Hello")
        await world.ask(anna, "/new")
        await world.ask(anna, "Hello")
        await world.ask(boris, "Привет")
        world.passes(days=1)
        await world.ask(anna, "Good morning", answers=2)
    rows = [(row["ownerId"], row["turns"]) for row in world.database["usage"].find().sort([("day", 1), ("ownerId", 1)])]
    assert rows == [(anna.id, 2), (boris.id, 1), (anna.id, 1)]


async def test_a_summary_is_booked_as_what_its_owner_has_used(world, anna):
    async with world.bot(CONTEXT_TRIGGER_MESSAGES="6", CONTEXT_KEEP_MESSAGES="2"):
        for number in range(4):
            await world.ask(anna, f"My secret word number {number} is heron.")
        await world.eventually(lambda: world.session(anna.id)["summary"])
    assert len(world.claude.journal.exchanges) > 4
    assert booked(world, anna) == (*billed(world), 1)


async def test_an_answer_is_given_also_where_nothing_can_be_booked(world, anna):
    """The row of the day is one that the server will not have changed."""
    day = world.clock.now().replace(hour=0, minute=0, second=0, microsecond=0)
    async with world.bot():
        world.database["usage"].insert_one(
            {"ownerId": anna.id, "day": day, "turns": "none"}, bypass_document_validation=True
        )
        await world.ask(anna, "My secret word is heron.")
        assert "heron" in await world.ask(anna, "What is my secret word?")
