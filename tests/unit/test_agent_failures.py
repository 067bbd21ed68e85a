"""What the agent repeats, what it takes back, and what it raises."""

from __future__ import annotations

import pytest

from bot.agent.limits import Pauses
from bot.agent.scripted import Scripted, breaks, calls, fails, says
from bot.errors import (
    EmptyAnswer,
    ModelBusy,
    ModelError,
    ModelMisconfigured,
    ModelRefused,
    PromptTooLong,
)
from bot.usage import Usage
from tests.agents import Sleeps, StreamedText, a_run, run, tool


def overloaded(**fields):
    return fails(ModelBusy, "overloaded", **fields)


async def test_an_overload_is_waited_out_with_growing_pauses():
    """C69"""
    sleep = Sleeps()
    answer = await run([overloaded(), overloaded(), overloaded(), says("At last.")], sleep=sleep)
    assert answer.text == "At last."
    assert sleep.seconds == [0.25, 0.5, 1.0]


async def test_pauses_are_jittered_and_bounded():
    early, late = Pauses(lambda: 0.0), Pauses(lambda: 0.999)
    assert early.before(2, None) < late.before(2, None) <= 0.5
    assert late.before(40, None) <= late.longest
    assert early.before(2, 3.0) == 3.0


async def test_after_the_last_attempt_the_failure_is_raised():
    model = Scripted(otherwise=lambda _: overloaded())
    with pytest.raises(ModelBusy):
        await run(model, attempts=4)
    assert len(model.requests) == 4


async def test_a_retry_asks_for_exactly_the_same():
    """C18: a repeated call holds the person's words once."""
    model = Scripted(overloaded(), says("Yes."))
    await run(model, tool())
    assert model.requests[0] == model.requests[1]


async def test_the_provider_is_given_the_time_it_asks_for():
    sleep = Sleeps()
    await run([overloaded(retry_after=7), says("Yes.")], sleep=sleep)
    assert sleep.seconds == [7]


async def test_a_wait_beyond_the_turns_deadline_is_told_and_not_slept():
    sleep = Sleeps()
    with pytest.raises(ModelBusy) as failure:
        await run([overloaded(retry_after=171)], sleep=sleep, turn_seconds=120)
    assert failure.value.retry_after == 171
    assert sleep.seconds == []


async def test_a_torn_stream_is_repeated_and_its_words_are_taken_back():
    """C64, C67, C73: half a sentence is neither shown nor kept."""
    streamed = StreamedText()
    answer = await run([breaks("The capital of"), says("Paris.")], streamed=streamed)
    assert streamed.taken_back == ["The capital of"]
    assert answer.text == streamed.shown == "Paris."


async def test_taking_back_spares_what_earlier_calls_of_the_turn_said():
    streamed = StreamedText()
    script = [says("Let me look.").and_(calls("echo")), breaks("It is half"), says("It is whole.")]
    answer = await run(script, tool(), streamed=streamed)
    assert answer.text == streamed.shown == "Let me look.\n\nIt is whole."


async def test_nothing_is_taken_back_where_nothing_was_shown():
    streamed = StreamedText()
    await run([overloaded(), says("Yes.")], streamed=streamed)
    assert streamed.taken_back == []


@pytest.mark.parametrize("kind", [PromptTooLong, ModelRefused, ModelMisconfigured, EmptyAnswer])
async def test_what_waiting_does_not_help_is_raised_at_once(kind):
    model, sleep = Scripted(fails(kind)), Sleeps()
    with pytest.raises(kind):
        await run(model, sleep=sleep)
    assert (len(model.requests), sleep.seconds) == (1, [])


async def test_a_failed_turn_leaves_nothing_in_sight():
    streamed = StreamedText()
    with pytest.raises(PromptTooLong):
        await run(
            [says("First").and_(calls("echo")), breaks("then", PromptTooLong())],
            tool(),
            streamed=streamed,
        )
    assert streamed.shown == ""


async def test_a_failed_call_is_booked_as_far_as_it_is_known():
    """C78: a torn stream was billed for its prompt."""
    torn = Usage(input_tokens=500, output_tokens=1)
    answer = await run(
        [overloaded(usage=torn), says("Yes.", usage=Usage(input_tokens=500, output_tokens=9))]
    )
    assert answer.usage == Usage(input_tokens=1000, output_tokens=10)


async def test_a_failed_turn_owes_what_it_cost():
    script, within = [calls("echo"), fails(PromptTooLong)], a_run()
    with pytest.raises(ModelError):
        await run(script, tool(), within=within)
    assert within.meter.total == Usage(input_tokens=100, output_tokens=10)


async def test_a_tool_does_not_run_again_when_the_call_after_it_is_repeated():
    ran = []

    async def count(context, given):
        ran.append(given)
        return "counted"

    await run([calls("count"), breaks("Hm"), says("Once.")], tool("count", count))
    assert len(ran) == 1
