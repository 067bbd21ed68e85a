"""The purse: what is set aside, what is refused, and who pays for summaries."""

from __future__ import annotations

from datetime import timedelta, timezone

import pytest

from bot.agent.prompt import Prompt
from bot.agent.scripted import says
from bot.compaction import Triggers
from bot.errors import BudgetSpent, StoreUnavailable
from bot.ops.clock import ManualClock
from bot.ports import Bill
from bot.purse import Purse
from bot.session import Usage
from bot.store.memory import MemoryBooks
from bot.tokens import request_tokens
from tests.builders import ANNA, NOON, question

SUMMARY = says("They talked about tea and herons, and about " + "many other things " * 10)


def purse(budget=None, books=None, now=NOON):
    return Purse(books or MemoryBooks(), ManualClock(now), budget)


class Away(MemoryBooks):
    """Books that cannot be reached."""

    async def add(self, *_what):
        raise StoreUnavailable

    async def reserve(self, *_what):
        raise StoreUnavailable


async def test_without_a_budget_nothing_is_asked_of_the_store():
    assert await purse(books=Away()).reserve(ANNA, 1, 10, 40) == 40


async def test_what_no_day_could_pay_for_is_refused_without_asking_the_store():
    """C79."""
    with pytest.raises(BudgetSpent):
        await purse(0, Away()).reserve(ANNA, 1, 10, 40)


async def test_a_day_ends_at_midnight_utc_wherever_the_clock_stands():
    moscow = NOON.replace(hour=22).astimezone(timezone(timedelta(hours=3)))
    assert purse(now=moscow).renewed_in() == timedelta(hours=2)
    assert purse(now=NOON.replace(hour=0)).renewed_in() == timedelta(days=1)


async def test_what_cannot_be_booked_costs_nobody_an_answer():
    bill = Bill()
    bill.add(Usage(input_tokens=5))
    await purse(100, Away()).settle(ANNA, 1, bill)
    assert bill.total == Usage()


def test_a_call_that_was_cut_short_owes_what_its_beginning_cost():
    bill = Bill()
    bill.begin(Usage(input_tokens=5))
    bill.end(Usage(input_tokens=5, output_tokens=1))
    bill.begin(Usage(input_tokens=7))
    assert bill.total == Usage(input_tokens=12, output_tokens=1)
    bill.end(None)
    bill.add(Usage(turns=1))
    assert bill.settle() == Usage(input_tokens=12, output_tokens=1, turns=1)
    assert bill.total == Usage()


@pytest.fixture
def long_talk(house):
    """A House whose Session is due for compaction, and the books of what was used in it."""

    async def talk(budget):
        at = house(otherwise=lambda _: says("Yes."), summaries=[SUMMARY], triggers=Triggers(4, keep_messages=2))
        for number in range(3):
            await at.ask(f"question {number}")
        await at.compactor.aclose()
        at.compactor.purse = Purse(MemoryBooks(), at.clock, budget)
        return at

    return talk


async def test_a_summary_is_paid_for_by_its_owner_and_by_nobody_else(long_talk):
    at = await long_talk(1_000_000)
    assert await at.compactor.compact(ANNA, await at.active())
    assert (await at.compactor.purse.today(ANNA)).tokens == SUMMARY.usage.tokens


@pytest.mark.parametrize("way", ["compact", "make_room"])
async def test_no_summary_is_made_that_its_owner_cannot_pay_for(long_talk, way):
    """C80. Nor is anything archived without one: the turn that room would be made for cannot be paid for either."""
    at = await long_talk(4_000)
    before = await at.active()
    with pytest.raises(BudgetSpent):
        await getattr(at.compactor, way)(ANNA, before)
    assert (await at.active()).messages == before.messages
    assert at.summary_model.requests == []


@pytest.mark.parametrize(("words", "fewest"), [("tea " * 900, 900), ("чай " * 900, 1_200)], ids=["English", "Russian"])
def test_a_prompt_is_taken_for_no_smaller_than_it_is(words, fewest):
    messages = [{"role": "user", "content": list(question(words).parts[0].content)}]
    assert fewest < request_tokens(Prompt("model", b"key", "").request(ANNA, messages, (), "auto")) < 3 * fewest
