"""What a turn cost is in the books of its Owner and day, equal to what the provider billed (C78,
C81).
"""

from __future__ import annotations

from bot.standins.claude.answers import call
from bot.standins.claude.faults import Fault
from bot.standins.claude.script import is_summary


def billed(state):
    """Prompt and answer of every call, the start of the torn ones included."""
    exchanges = [one for one in state.claude.journal.exchanges if one.prompt is not None]
    return sum(one.prompt.total for one in exchanges), sum(
        one.usage.get("output_tokens", 0) for one in exchanges
    )


def booked(state, person):
    rows = list(state.database["usage"].find({"ownerId": person.id}).sort("day", 1))
    read = ("inputTokens", "cacheReadTokens", "cacheWriteTokens")
    return (
        sum(row[name] for row in rows for name in read),
        sum(row["outputTokens"] for row in rows),
        len(rows),
    )


async def test_a_turn_with_a_retry_and_tool_steps_is_booked_in_full(state, anna):
    """The failed call counts as far as it is known: its prompt."""
    state.claude.script(call("recall_notes", {}), call("recall_notes", {}), "There are none.")
    state.claude.faults.next(Fault.dropped())
    async with state.bot():
        await state.ask(anna, "What do you remember?")
        row = await state.eventually(lambda: state.database["usage"].find_one({"ownerId": anna.id}))

    assert row["turns"] == 1
    asked, answered = billed(state)
    assert booked(state, anna)[0] == asked
    assert booked(state, anna)[1] >= answered


async def test_a_turn_that_failed_is_booked_too(state, anna):
    state.claude.faults.next(Fault.refusal())
    async with state.bot():
        await state.ask(anna, "Tell me about herons.")
    assert booked(state, anna) == (*billed(state), 1)
    assert state.database["usage"].find_one({"ownerId": anna.id})["turns"] == 0


async def test_a_turn_with_everything_in_it_is_booked_in_full(state, anna):
    """C78: a retry, three tool steps and a compaction, whose first summary was no good."""
    state.claude.script("No summary.", when=is_summary)
    async with state.bot(CONTEXT_TRIGGER_MESSAGES="6", CONTEXT_KEEP_MESSAGES="2"):
        for number in range(3):
            await state.ask(anna, f"My secret word number {number} is heron.")
        state.claude.faults.next(Fault.dropped())
        state.claude.script(
            *[call("recall", {"words": word}) for word in ("tea", "Riga", "owls")],
            "There are none.",
        )
        await state.ask(anna, "What do you remember?")
        await state.eventually(lambda: state.session(anna.id)["compaction"]["fails"] == 1)
        state.passes(minutes=1)
        await state.ask(anna, "And now?")
        await state.eventually(lambda: state.session(anna.id)["summary"])
    assert state.database["usage"].find_one({"ownerId": anna.id})["turns"] == 5
    asked, answered = billed(state)
    assert booked(state, anna)[0] == asked
    assert booked(state, anna)[1] >= answered


async def test_a_turn_that_was_stopped_is_booked_as_far_as_it_is_known(state, anna):
    """Its prompt was read, however little of the answer was written."""
    state.claude.faults.slow(0.1)
    async with state.bot():
        anna.says("Count to 400.")
        await state.telegram.until(lambda: anna.chat.drafts)
        await state.ask(anna, "/stop", answers=3)
    session = state.session(anna.id)
    assert booked(state, anna)[0] == billed(state)[0] > 0
    assert (
        session["usage"]["turns"]
        == state.database["usage"].find_one({"ownerId": anna.id})["turns"]
        == 1
    )
    assert session["usage"]["inputTokens"] == booked(state, anna)[0]


async def test_each_day_and_person_has_a_row_that_new_does_not_refill(state, anna, boris):
    async with state.bot():
        await state.ask(anna, "Hello")
        await state.ask(anna, "/new")
        await state.ask(anna, "Hello")
        await state.ask(boris, "Привет")
        state.passes(days=1)
        await state.ask(anna, "Good morning", answers=2)
    rows = [
        (row["ownerId"], row["turns"])
        for row in state.database["usage"].find().sort([("day", 1), ("ownerId", 1)])
    ]
    assert rows == [(anna.id, 2), (boris.id, 1), (anna.id, 1)]


async def test_a_summary_is_booked_as_what_its_owner_has_used(state, anna):
    async with state.bot(CONTEXT_TRIGGER_MESSAGES="6", CONTEXT_KEEP_MESSAGES="2"):
        for number in range(4):
            await state.ask(anna, f"My secret word number {number} is heron.")
        await state.eventually(lambda: state.session(anna.id)["summary"])
    assert len(state.claude.journal.exchanges) > 4
    assert booked(state, anna) == (*billed(state), 1)


async def test_an_answer_is_given_also_where_nothing_can_be_booked(state, anna):
    """The row of the day is one that the server will not have changed."""
    day = state.clock.now().replace(hour=0, minute=0, second=0, microsecond=0)
    async with state.bot():
        state.database["usage"].insert_one(
            {"ownerId": anna.id, "day": day, "turns": "none"}, bypass_document_validation=True
        )
        await state.ask(anna, "My secret word is heron.")
        assert "heron" in await state.ask(anna, "What is my secret word?")
