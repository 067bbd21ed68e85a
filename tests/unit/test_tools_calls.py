"""What the model learns of its calls, and what it never learns."""

from __future__ import annotations

import asyncio
import logging

import pytest

from bot.agent.limits import Limits
from bot.agent.tool_runner import ToolRunner
from bot.agent.tools import Toolbox
from bot.content import cap
from bot.errors import ToolFailed
from tests.agents import tool, tool_context

SECRET = "mongodb://bot:hunter2@db/bot"  # a planted one


def call(name="echo", position=0, **arguments):
    return {"type": "tool_use", "id": f"toolu_{position}", "name": name, "input": arguments}


async def answer(*calls, tools=(), **limits):
    return await ToolRunner(
        Toolbox(tools or [tool()]), tool_context(turn=77), Limits(**limits)
    ).answer(calls)


def raising(error):
    async def fail(context, given):
        raise error

    return tool("fail", fail)


async def test_a_result_carries_the_id_of_its_call():
    (result,) = await answer(call(words="tea", position=4))
    assert result == {"type": "tool_result", "tool_use_id": "toolu_4", "content": "echo: tea"}


async def test_what_a_tool_says_of_its_failure_is_for_the_model():
    (result,) = await answer(call("fail"), tools=[raising(ToolFailed("There is no such note."))])
    assert result["is_error"] is True
    assert result["content"] == "There is no such note."


@pytest.mark.parametrize(
    "error", [RuntimeError(SECRET), KeyError(SECRET), OSError(SECRET), ZeroDivisionError()]
)
async def test_the_text_of_a_foreign_exception_reaches_neither_the_model_nor_the_log(error, caplog):
    with caplog.at_level(logging.DEBUG):
        (result,) = await answer(call("fail", words="pin 1234"), tools=[raising(error)])
    assert (result["content"], result["is_error"]) == ("The tool failed.", True)
    assert type(error).__name__ in caplog.text
    assert "test_tools_calls.py" in caplog.text
    assert "turn 77" in caplog.text
    assert "hunter2" not in caplog.text
    assert "1234" not in caplog.text


async def test_one_failure_does_not_touch_the_other_calls():
    results = await answer(
        call("fail"), call(position=1, words="tea"), tools=[raising(ValueError()), tool()]
    )
    assert [result.get("is_error", False) for result in results] == [True, False]


async def test_an_unknown_tool_is_an_error_result():
    (result,) = await answer(call("transfer", amount=1000))
    assert result["is_error"] is True


async def test_a_tool_that_is_cancelled_cancels_the_turn():
    with pytest.raises(asyncio.CancelledError):
        await answer(call("fail"), tools=[raising(asyncio.CancelledError())])


@pytest.mark.parametrize("silence", ["", "  \n"], ids=["empty", "blank"])
async def test_a_silent_tool_still_has_a_result(silence):
    async def quiet(context, given):
        return silence

    (result,) = await answer(call("quiet"), tools=[tool("quiet", quiet)])
    assert result["content"] == "(no output)"


async def test_long_output_is_kept_head_and_tail():
    async def long(context, given):
        return "HEAD" + "x" * 100_000 + "TAIL"

    (result,) = await answer(call("long"), tools=[tool("long", long)])
    assert len(result["content"]) <= 8_000
    assert result["content"].startswith("HEADx")
    assert result["content"].endswith("xTAIL")
    assert "left out" in result["content"]


async def test_output_that_no_encoder_takes_is_repaired():
    async def odd(context, given):
        return "a\ud800b"

    (result,) = await answer(call("odd"), tools=[tool("odd", odd)])
    assert result["content"] == "a\ufffdb"


@pytest.mark.parametrize("length", [0, 1, 79, 80, 81, 500])
def test_capped_text_is_never_longer_than_its_cap(length):
    assert len(cap("x" * length, 80)) <= 80


@pytest.mark.parametrize("limit", [1, 20, 60])
def test_even_a_tiny_cap_holds(limit):
    assert len(cap("x" * 500, limit)) <= limit


def test_text_of_just_the_length_is_left_alone():
    assert cap("x" * 80, 80) == "x" * 80
