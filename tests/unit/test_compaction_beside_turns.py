"""Compaction while a turn goes on: who comes first, what is kept, and what each call is measured
by.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from bot.agent.answers import INTERRUPTED
from bot.agent.scripted import calls, fails, hangs, illegal, says
from bot.compaction import CompactionPolicy, Compactor
from bot.content import words
from bot.errors import PromptTooLong, SessionGone
from bot.ports import TokenRatio
from bot.usage import Usage
from tests.builders import ANNA, ANNAS_CHAT, dialogue, session

GOOD = "The person is Anna. " + " ".join(f"fact{number}" for number in range(20))
SMALL = CompactionPolicy(messages=6, tokens=1000, keep_messages=2)
OFTEN = CompactionPolicy(messages=100, tokens=100_000, keep_messages=2)


class Meanwhile:
    """A summariser's model during whose call something else happens."""

    def __init__(self, model, operation):
        self.model, self.operation = model, operation

    async def complete(self, request, on_text, *more):
        await self.operation()
        return await self.model.complete(request, on_text, *more)


def meanwhile(at, operation):
    """Let `operation` happen during the next compaction's call."""
    summariser = at.compactor._summariser
    at.compactor._summariser = replace(summariser, model=Meanwhile(summariser.model, operation))


async def settled():
    async with asyncio.timeout(60):
        while tasks := [
            task for task in asyncio.all_tasks() if task.get_name().startswith("compaction")
        ]:
            await asyncio.wait(tasks)


async def talk(at, turns):
    for number in range(turns):
        await at.ask(f"question {number}")
        await settled()


def good(_request):
    return says(GOOD)


# ---------------------------------------------------------------------------------- who comes first


async def test_a_turn_that_ran_on_a_copy_from_before_a_compaction_does_not_pay_for_another(house):
    at = house(otherwise=lambda request: says("Yes."), policy=OFTEN, summarise=good)
    await talk(at, 4)
    stale = await at.active()
    at.policy = SMALL
    at.open()
    at.compactor.consider(ANNA, await at.active())
    await settled()
    at.compactor.consider(ANNA, stale)
    await settled()

    assert len(at.summary_model.requests) == 1
    assert (await at.active()).compaction.fails == 0


async def test_where_another_compactor_made_room_first_the_turn_goes_on_with_its_work(house):
    at = house(
        says("One."),
        says("Two."),
        fails(PromptTooLong),
        says("Three."),
        policy=OFTEN,
        summarise=good,
    )
    await talk(at, 2)
    rival = Compactor(at.sessions, at.archive, at.compactor._summariser, OFTEN, at.clock)

    async def win():
        assert await rival.compact(ANNA, await at.active())

    meanwhile(at, win)
    streamed = await at.ask("question 2")

    after = await at.active()
    assert streamed.delivered == ["Three."]
    assert (after.summary.epoch, after.revision) == (1, 3)


@pytest.mark.parametrize("how", ["new", "reset"])
async def test_a_turn_for_which_room_is_made_does_not_go_on_in_another_session(house, how):
    """A worker that was frozen: its lane has gone on without it."""
    at = house(says("One."), fails(PromptTooLong), says("Two."), policy=OFTEN, summarise=good)
    await at.ask("one")
    meanwhile(at, lambda: getattr(at.lifecycle, how)(ANNA, ANNAS_CHAT))
    with pytest.raises(SessionGone):
        await at.ask("two")

    assert (await at.active()).is_empty


async def test_a_turn_that_was_committed_while_room_was_made_is_not_given_to_the_model_again(house):
    at = house(
        says("One."),
        fails(PromptTooLong),
        says("Two."),
        says("Never."),
        policy=OFTEN,
        summarise=good,
    )
    await at.ask("one", update_id=1)
    other = house()
    other.sessions, other.archive, other.model, other.clock = (
        at.sessions,
        at.archive,
        at.model,
        at.clock,
    )
    other.open()
    meanwhile(at, lambda: other.ask("two", update_id=2))
    streamed = await at.ask("two", update_id=2)

    assert streamed.delivered == ["Two."]
    assert [words(entry.content) for entry in (await at.active()).messages] == ["two", "Two."]
    assert len(at.model.requests) == 3


async def test_stop_ends_a_turn_also_while_room_is_made(house):
    at = house(
        says("One."), fails(PromptTooLong), says("Never."), policy=OFTEN, summaries=[hangs()]
    )
    await at.ask("one")
    stop = asyncio.Event()
    waiting = asyncio.create_task(at.ask("two", stop=stop))
    async with asyncio.timeout(60):
        while not at.summary_model.requests:  # noqa: ASYNC110 - what is waited for is a plain value of a fake
            await asyncio.sleep(0)
        stop.set()
        streamed = await waiting

    assert streamed.notices == ["ending_interrupted"]
    assert [words(entry.content) for entry in (await at.active()).messages] == [
        "one",
        "One.",
        "two",
        INTERRUPTED,
    ]


# ------------------------------------------------------------------------------------- what is kept


async def test_a_window_that_overflows_inside_a_tool_loop_costs_earlier_turns_only(house):
    """C49: the turn begins anew with all it was asked, and what its first run cost is booked."""
    at = house(
        *[says("Yes.", usage=Usage(output_tokens=1)) for _ in range(3)],
        calls("recall", words="tea"),
        fails(PromptTooLong),
        calls("recall", words="tea"),
        says("No tea.", usage=Usage(output_tokens=1)),
        policy=OFTEN,
        summarise=lambda request: says(GOOD, usage=Usage(output_tokens=1)),
    )
    await talk(at, 3)
    streamed = await at.ask("Is there tea?")

    after = await at.active()
    turn = [entry for entry in after.messages if entry.turn == 4]
    assert streamed.delivered == ["No tea."]
    assert [entry.role for entry in turn] == ["user", "assistant", "user", "assistant"]
    assert words(turn[0].content) == "Is there tea?"
    assert illegal([{"role": entry.role, "content": entry.content} for entry in turn]) == ""
    assert after.summary.up_to == turn[0].seq - 3
    assert after.usage.input_tokens == 2 * 100


async def test_a_floor_above_the_trigger_does_not_compact_again_and_again(house):
    """C44: a prompt that is too large by itself; a call is paid for only when enough has come to be
    removed.
    """
    large = lambda request: says("Yes.", usage=Usage(input_tokens=5_000))  # noqa: E731 - a writer of the script
    texts = iter(f"{GOOD} {number}" for number in range(99))
    at = house(
        otherwise=large,
        policy=replace(SMALL, messages=99),
        summarise=lambda request: says(next(texts)),
    )
    await talk(at, 60)

    said = sum(message.tokens for message in (await at.active()).messages) + sum(
        message.tokens for message in await at.archive.of(ANNA, (await at.active()).id)
    )
    assert (await at.active()).revision == 60
    assert 1 <= len(at.summary_model.requests) <= TokenRatio().ratio * said / 250


async def test_what_a_compaction_did_is_in_the_log(house, caplog):
    """C40"""
    caplog.set_level("INFO", "bot.compaction")
    at = house(otherwise=lambda request: says("Yes."), policy=SMALL, summarise=good)
    await talk(at, 4)

    assert f"compacted Session {(await at.active()).id} from 8 messages to 2" in caplog.messages


# ----------------------------------------------------------------------- what a call is measured by


@pytest.mark.parametrize(
    ("chat_window", "summary_window", "makes_room", "calls_made"),
    [(1_000, 1_000_000, True, 1), (1_000_000, 300, False, 4)],
    ids=["small chat model", "small summary model"],
)
async def test_each_call_is_measured_by_the_window_of_its_own_model(
    house, chat_window, summary_window, makes_room, calls_made
):
    """C50: a summariser with a small window reads one turn a call."""
    texts = iter(f"{GOOD} {number}" for number in range(9))
    limits = replace(OFTEN, window=chat_window)
    at = house(policy=limits, summarise=lambda request: says(next(texts)))
    at.compactor._summariser = replace(at.compactor._summariser, window=summary_window)
    made = session(messages=dialogue(5, tokens=90))
    await at.sessions.create(ANNA, made)

    assert at.compactor.is_full(made, coming=20) is makes_room
    assert await at.compactor.compact(ANNA, made)
    assert len(at.summary_model.requests) == calls_made
