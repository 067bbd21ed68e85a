"""The plan: a Task that survives turns."""

from __future__ import annotations

import pytest

from bot.agent.prompt import task_text
from bot.agent.scripted import Scripted, calls, says
from bot.agent.toolbox.plan import MAX_FACTS, MAX_PLAN_CHARS, MAX_STEP_CHARS, MAX_STEPS, plan_tools
from bot.agent.tools import TaskSlot, Toolbox
from bot.content import words
from bot.errors import ToolFailed
from bot.session import Fact, Step, Task
from tests.agents import run, tool_context
from tests.builders import session

TASK = Task("Trip", (Step("book"), Step("pack")), (Fact("budget", "300"),))


@pytest.fixture
def needs():
    """A context whose slot holds a plan, and the use of the tools on it."""
    context = tool_context(slot=TaskSlot(TASK))
    toolbox = Toolbox(plan_tools())

    async def use(name, **arguments):
        return await toolbox.run(context, name, arguments)

    return context.slot, use


async def test_a_plan_is_made(needs):
    slot, use = needs
    said = await use(
        "set_plan", goal="Move", steps=["find", "sign"], facts=[{"name": "rooms", "value": "2"}]
    )
    assert slot.task == Task("Move", (Step("find"), Step("sign")), (Fact("rooms", "2"),))
    assert said == task_text(slot.task)


async def test_progress_is_recorded_and_the_rest_stays(needs):
    slot, use = needs
    await use(
        "update_plan", steps=[{"number": 1, "status": "done"}, {"number": 2, "status": "doing"}]
    )
    assert slot.task == Task(
        "Trip", (Step("book", "done"), Step("pack", "doing")), (Fact("budget", "300"),)
    )


async def test_facts_are_added_changed_and_dropped_by_name(needs):
    slot, use = needs
    await use(
        "update_plan",
        facts=[{"name": "budget", "value": "400"}, {"name": "date", "value": "May 9"}],
    )
    assert slot.task.facts == (Fact("budget", "400"), Fact("date", "May 9"))
    await use("update_plan", facts=[{"name": "budget", "value": ""}])
    assert slot.task.facts == (Fact("date", "May 9"),)


async def test_a_step_that_is_not_there_changes_nothing(needs):
    slot, use = needs
    with pytest.raises(ToolFailed, match="the plan has 2"):
        await use(
            "update_plan", steps=[{"number": 1, "status": "done"}, {"number": 3, "status": "done"}]
        )
    assert slot.task == TASK


async def test_a_plan_is_closed(needs):
    slot, use = needs
    await use("close_plan")
    assert slot.task is None


@pytest.mark.parametrize("name", ["update_plan", "close_plan"])
async def test_without_a_plan_there_is_nothing_to(name):
    with pytest.raises(ToolFailed, match="set_plan"):
        await Toolbox(plan_tools()).run(tool_context(), name, {})


@pytest.mark.parametrize(
    "arguments",
    [
        {"goal": "", "steps": ["one"]},
        {"goal": "Move", "steps": []},
        {"goal": "Move", "steps": ["one"] * (MAX_STEPS + 1)},
        {"goal": "Move", "steps": ["one"], "facts": [{"name": "", "value": "x"}]},
        {"goal": "Move", "steps": ["one"], "facts": [{"name": "a", "value": "x", "owner": 1002}]},
    ],
    ids=["no goal", "no steps", "too many steps", "a nameless fact", "a smuggled owner"],
)
async def test_a_plan_has_bounds(needs, arguments):
    slot, use = needs
    with pytest.raises(ToolFailed, match="Invalid arguments"):
        await use("set_plan", **arguments)
    assert slot.task == TASK


async def test_a_step_has_a_length_and_the_model_is_told_it(needs):
    """C145"""
    slot, use = needs
    await use("set_plan", goal="Move", steps=["x" * MAX_STEP_CHARS])
    with pytest.raises(ToolFailed, match=r"steps\.1.* at most 300 characters"):
        await use("set_plan", goal="Move", steps=["find", "x" * (MAX_STEP_CHARS + 1)])
    assert slot.task.steps == (Step("x" * MAX_STEP_CHARS),)


async def test_a_plan_has_a_size_in_all_and_the_model_is_told_it(needs):
    slot, use = needs
    steps = ["x" * MAX_STEP_CHARS] * 12
    await use("set_plan", goal="Move", steps=steps)
    kept = slot.task
    for name, larger in (
        ("set_plan", {"goal": "Move", "steps": [*steps, "x" * MAX_STEP_CHARS]}),
        ("update_plan", {"facts": [{"name": "links", "value": "y" * 500}]}),
    ):
        with pytest.raises(ToolFailed, match="may have 4000 in all"):
            await use(name, **larger)
        assert slot.task == kept
    assert len(kept.text) <= MAX_PLAN_CHARS


async def test_a_plan_from_before_there_was_a_bound_is_worked_off_and_cannot_grow():
    """C145"""
    old = Task("Trip", tuple(Step("x" * 900) for _ in range(6)), (Fact("budget", "300"),))
    context = tool_context(slot=TaskSlot(old))
    toolbox = Toolbox(plan_tools())
    await toolbox.run(context, "update_plan", {"steps": [{"number": 1, "status": "dropped"}]})
    await toolbox.run(context, "update_plan", {"facts": [{"name": "budget", "value": "20"}]})
    assert (context.slot.task.steps[0].status, context.slot.task.facts) == (
        "dropped",
        (Fact("budget", "20"),),
    )
    with pytest.raises(ToolFailed, match="may have 4000 in all"):
        await toolbox.run(context, "update_plan", {"facts": [{"name": "budget", "value": "300"}]})
    await toolbox.run(context, "close_plan", {})
    assert context.slot.task is None


async def test_facts_have_an_end(needs):
    _, use = needs
    many = [{"name": str(number), "value": "x"} for number in range(MAX_FACTS)]
    with pytest.raises(ToolFailed, match="at most"):
        await use("update_plan", facts=many)


async def test_the_plan_leaves_the_turn_with_the_answer_and_comes_back_with_the_next():
    answer = await run(
        [calls("set_plan", goal="Trip", steps=["book", "pack"]), says("Planned.")], *plan_tools()
    )
    assert answer.task == Task("Trip", (Step("book"), Step("pack")))

    model = Scripted(calls("update_plan", steps=[{"number": 1, "status": "done"}]), says("Booked."))
    later = await run(model, *plan_tools(), of=session(task=answer.task))
    assert "1. [open] book" in words(model.requests[0].messages[-1]["content"][-1:])
    assert later.task.steps == (Step("book", "done"), Step("pack"))


async def test_inside_a_turn_the_shown_plan_does_not_move():
    """The prompt's prefix is bound to what was sent first; the tool's result tells the model the
    news.
    """
    model = Scripted(calls("close_plan"), says("Closed."))
    await run(model, *plan_tools(), of=session(task=TASK))
    first, second = model.requests
    assert second.messages[: len(first.messages)] == first.messages


async def test_a_turn_without_plan_tools_keeps_the_plan():
    assert (await run([says("Yes.")], of=session(task=TASK))).task == TASK
