"""The purse: what is set aside, what is refused, and who pays for summaries."""

from __future__ import annotations

from datetime import timedelta, timezone

import pytest

from bot.agent.prompt import Prompt
from bot.agent.scripted import says
from bot.budget import TokenBudget
from bot.compaction import CompactionPolicy
from bot.content import WireMessage
from bot.errors import BudgetSpent, StoreUnavailable
from bot.ops.clock import ManualClock
from bot.ports import UsageMeter
from bot.store.memory.usage import MemoryUsage
from bot.tokens import request_tokens
from bot.usage import Usage
from tests.builders import ANNA, NOON, question

SUMMARY = says("They talked about tea and herons, and about " + "many other things " * 10)


def token_budget(budget=None, usage_store=None, now=NOON):
    return TokenBudget(usage_store or MemoryUsage(), ManualClock(now), budget)


class Away(MemoryUsage):
    """Books that cannot be reached."""

    async def add(self, *_what):
        raise StoreUnavailable

    async def reserve(self, *_what):
        raise StoreUnavailable


async def test_without_a_budget_nothing_is_asked_of_the_store():
    assert await token_budget(usage_store=Away()).reserve(ANNA, 1, 10, 40) == 40


async def test_what_no_day_could_pay_for_is_refused_without_asking_the_store():
    """C79."""
    with pytest.raises(BudgetSpent):
        await token_budget(0, Away()).reserve(ANNA, 1, 10, 40)


async def test_a_day_ends_at_midnight_utc_wherever_the_clock_stands():
    moscow = NOON.replace(hour=22).astimezone(timezone(timedelta(hours=3)))
    assert token_budget(now=moscow).renewed_in() == timedelta(hours=2)
    assert token_budget(now=NOON.replace(hour=0)).renewed_in() == timedelta(days=1)


async def test_what_cannot_be_booked_costs_nobody_an_answer():
    meter = UsageMeter()
    meter.add(Usage(input_tokens=5))
    await token_budget(100, Away()).settle(ANNA, 1, meter)
    assert meter.total == Usage()


def test_a_call_that_was_cut_short_owes_what_its_beginning_cost():
    meter = UsageMeter()
    meter.begin(Usage(input_tokens=5))
    meter.end(Usage(input_tokens=5, output_tokens=1))
    meter.begin(Usage(input_tokens=7))
    assert meter.total == Usage(input_tokens=12, output_tokens=1)
    meter.break_off(None)
    meter.add(Usage(turns=1))
    assert meter.settle() == Usage(input_tokens=12, output_tokens=1, turns=1)
    assert meter.total == Usage()


@pytest.fixture
def long_talk(house):
    """A House whose Session is due for compaction, and the books of what was used in it."""

    async def talk(budget):
        at = house(
            otherwise=lambda _: says("Yes."),
            summaries=[SUMMARY],
            policy=CompactionPolicy(4, keep_messages=2),
        )
        for number in range(3):
            await at.ask(f"question {number}")
        await at.compactor.aclose()
        at.compactor.token_budget = TokenBudget(MemoryUsage(), at.clock, budget)
        return at

    return talk


async def test_a_summary_is_paid_for_by_its_owner_and_by_nobody_else(long_talk):
    at = await long_talk(1_000_000)
    assert await at.compactor.compact(ANNA, await at.active())
    assert (await at.compactor.token_budget.today(ANNA)).tokens == SUMMARY.usage.tokens


@pytest.mark.parametrize("way", ["compact", "make_room"])
async def test_no_summary_is_made_that_its_owner_cannot_pay_for(long_talk, way):
    """C80.

    Nor is anything archived without one: the turn that room would be made for cannot be paid for
    either.
    """
    at = await long_talk(4_000)
    before = await at.active()
    with pytest.raises(BudgetSpent):
        await getattr(at.compactor, way)(ANNA, before)
    assert (await at.active()).messages == before.messages
    assert at.summary_model.requests == []


@pytest.mark.parametrize(
    ("words", "fewest"), [("tea " * 900, 900), ("чай " * 900, 1_200)], ids=["English", "Russian"]
)
def test_a_prompt_is_taken_for_no_smaller_than_it_is(words, fewest):
    messages: list[WireMessage] = [
        {"role": "user", "content": list(question(words).parts[0].content)}
    ]
    assert (
        fewest
        < request_tokens(Prompt("model", b"key", "").request(ANNA, messages, (), "auto"))
        < 3 * fewest
    )


# ------------------------------------------------------------------------------------- what is owed


def test_a_call_is_owed_from_the_moment_it_is_sent_until_its_provider_says_more():
    """C149: stopped before the first byte."""
    meter = UsageMeter()
    meter.send(700)
    assert meter.total == Usage(input_tokens=700)
    meter.begin(Usage(input_tokens=500, output_tokens=1))
    meter.write("three ")
    meter.write("tokens")
    assert meter.total == Usage(input_tokens=500, output_tokens=4)
    meter.send(30)
    assert meter.total == Usage(input_tokens=530, output_tokens=4)


@pytest.mark.parametrize(
    ("reported", "owed"),
    [
        pytest.param(None, Usage(input_tokens=700, output_tokens=2), id="nothing was reported"),
        pytest.param(Usage(5, 1, 3), Usage(5, 2, 3), id="its beginning was reported"),
        pytest.param(Usage(5, 9), Usage(5, 9), id="more was reported than seen"),
    ],
)
def test_a_call_that_broke_off_owes_what_was_reported_and_no_less_than_was_seen(reported, owed):
    meter = UsageMeter()
    meter.send(700)
    meter.write("Hello")
    meter.break_off(reported)
    assert meter.settle() == owed
    assert meter.total == Usage()


def test_a_refused_call_owes_nothing():
    meter = UsageMeter()
    meter.send(700)
    meter.break_off(Usage())
    assert meter.total == Usage()


def test_a_server_that_reports_no_usage_is_taken_to_have_used_what_was_seen():
    meter = UsageMeter()
    meter.send(700)
    meter.begin(Usage())
    meter.write("Hello")
    meter.end(Usage())
    assert meter.total == Usage(input_tokens=700, output_tokens=2)


async def test_a_refusal_says_what_is_needed_and_what_there_is():
    """C149."""
    at = token_budget(100)
    await at.reserve(ANNA, 1, 30, 30)
    with pytest.raises(BudgetSpent) as refused:
        await at.reserve(ANNA, 2, 80, 90)
    assert (refused.value.needed, refused.value.left, refused.value.passes) == (80, 70, True)
    with pytest.raises(BudgetSpent) as refused:
        await at.reserve(ANNA, 2, 101, 101)
    assert not refused.value.passes


async def test_what_is_spent_is_booked_at_once_and_stands_in_nobodys_way():
    at = token_budget(100)
    await at.spend(ANNA, 1, 30, beside=70)
    assert await at.reserve(ANNA, 2, 70, 70) == 70
    with pytest.raises(BudgetSpent):
        await at.spend(ANNA, 3, 1)
    await at.give_back(ANNA, 1, 30)
    await at.spend(ANNA, 3, 30)
    assert (await at.today(ANNA)).tokens == 30


async def test_a_turn_that_began_before_midnight_takes_nothing_from_the_day_after():
    usage_store = MemoryUsage()
    await token_budget(100, usage_store, NOON.replace(hour=23, minute=59)).reserve(
        ANNA, 1, 100, 100
    )
    tomorrow = token_budget(100, usage_store, NOON + timedelta(hours=12, minutes=1))
    assert await tomorrow.reserve(ANNA, 2, 100, 100) == 100
