"""A turn has bounds; reaching one ends it in words, never in an exception."""

from __future__ import annotations

import asyncio

import pytest

from bot.agent.prompt import STOPPED
from bot.agent.scripted import Line, Scripted, calls, hangs, says
from bot.errors import ModelBusy
from tests.agents import StreamedText, results, run, tool
from tests.builders import text

MOMENT = 0.05


async def wait(context, given):
    await asyncio.Event().wait()


async def test_the_last_call_may_not_use_tools_but_still_names_them():
    """The same tools keep the provider's cache."""
    model = Scripted(calls("echo", words="1"), calls("echo", words="2"), says("I have to stop."))
    answer = await run(model, tool(), model_calls=3)
    assert [request.tool_choice for request in model.requests] == ["auto", "auto", "none"]
    assert model.requests[0].tools == model.requests[2].tools
    assert (answer.text, answer.ending) == ("I have to stop.", "limit")


async def test_a_model_that_wants_tools_for_ever_ends_in_words():
    """C71"""
    numbers = iter(range(100))
    answer = await run(
        Scripted(otherwise=lambda _: calls("echo", words=str(next(numbers)))), tool(), model_calls=4
    )
    assert len(results(answer)) == 3
    assert answer.exchange[-1] == ("assistant", (text(STOPPED),))
    assert (answer.text, answer.ending) == ("", "limit")


async def test_words_beside_a_forbidden_call_are_kept_and_the_call_is_not():
    forbidden = says("Enough.").and_(calls("echo"))
    answer = await run([forbidden], tool(), model_calls=1)
    assert answer.exchange == (("assistant", (text("Enough."),)),)


async def test_the_fourth_identical_call_is_answered_with_an_error():
    """C71"""
    answer = await run([calls("echo", words="same")] * 4 + [says("I stop.")], tool())
    assert [is_error for _, is_error in results(answer)] == [False, False, False, True]
    assert "Stop calling it" in results(answer)[-1][0]


async def test_other_arguments_make_another_call():
    answer = await run(
        [calls("echo", words=str(number)) for number in range(5)] + [says("Yes.")], tool()
    )
    assert not any(is_error for _, is_error in results(answer))


async def test_calls_beyond_the_limit_are_answered_without_being_run():
    many = calls("echo", words="0")
    for number in range(1, 5):
        many = many.and_(calls("echo", words=str(number)))
    model = Scripted(many, says("Three is what I got."))
    answer = await run(model, tool(), tool_calls=3)
    assert [is_error for _, is_error in results(answer)] == [False, False, False, True, True]
    assert model.requests[1].tool_choice == "none"
    assert answer.ending == "limit"


async def test_only_so_many_tools_run_at_once():
    running, maximum = 0, 0

    async def busy(context, given):
        nonlocal running, maximum
        running += 1
        maximum = max(maximum, running)
        for _ in range(10):
            await asyncio.sleep(0)
        running -= 1
        return "done"

    five = calls("busy", words="0")
    for number in range(1, 5):
        five = five.and_(calls("busy", words=str(number)))
    await run([five, says("Yes.")], tool("busy", busy), parallel_tools=2)
    assert maximum == 2


async def test_a_slow_tool_is_stopped_and_the_others_are_not():
    both = calls("wait").and_(calls("echo", words="quick"))
    answer = await run([both, says("Yes.")], tool("wait", wait), tool(), tool_seconds=MOMENT)
    assert results(answer) == [
        ("The tool took too long and was stopped.", True),
        ("echo: quick", False),
    ]


async def test_at_the_deadline_what_was_said_is_the_answer():
    streamed = StreamedText()
    answer = await run([hangs("Once upon a time")], streamed=streamed, turn_seconds=MOMENT)
    assert (answer.text, answer.ending) == ("Once upon a time", "limit")
    assert answer.exchange == (("assistant", (text("Once upon a time"),)),)


async def test_at_the_deadline_finished_tools_are_kept_and_open_ones_are_not():
    """C72"""
    script = [calls("echo", words="tea"), says("Now this.").and_(calls("wait"))]
    answer = await run(script, tool(), tool("wait", wait), turn_seconds=MOMENT)
    assert [role for role, _ in answer.exchange] == ["assistant", "user", "assistant"]
    assert (answer.text, answer.ending) == ("Now this.", "limit")


async def test_at_the_deadline_after_a_tool_without_a_word_the_turn_says_that_it_stopped():
    answer = await run([calls("echo"), hangs()], tool(), turn_seconds=MOMENT)
    assert answer.exchange[-1] == ("assistant", (text(STOPPED),))
    assert (answer.text, answer.ending) == ("", "limit")


async def test_a_model_that_never_answered_is_busy():
    """C70: there is nothing to keep, so the person should try again."""
    with pytest.raises(ModelBusy):
        await run([hangs()], turn_seconds=MOMENT)


async def test_a_tool_of_the_providers_that_never_ends_is_no_open_call_in_the_session():
    search = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
    paused = Line((search,), "pause_turn")
    answer = await run([paused, hangs()], turn_seconds=MOMENT)
    assert answer.exchange == (("assistant", (text(STOPPED),)),)
