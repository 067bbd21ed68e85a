"""The plan: tools that keep the Session's Task, so that a job of several steps survives turns,
restarts and compaction.

They write into the turn's TaskSlot only; the Task is committed with the turn or not at all. A plan
stands in every prompt, so it has a size: one that is larger, from before there was a bound, can be
worked off but not grow.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

from pydantic import Field

from bot.agent.prompt import task_text
from bot.agent.tools import Arguments, Tool, ToolContext
from bot.errors import ToolFailed
from bot.session import Fact, Step, Task

MAX_STEPS = 20
MAX_FACTS = 30
MAX_STEP_CHARS = 300
MAX_PLAN_CHARS = 4_000
"""Of goal, steps and facts together, as the model reads them."""

Status = Literal["open", "doing", "done", "dropped"]


class FactInput(Arguments):
    """A named value the job needs later."""

    name: str = Field(
        min_length=1, max_length=60, description="Short and unique, such as 'budget'."
    )
    value: str = Field(
        max_length=500, description="Verbatim: numbers, dates, names, links. Empty: drop the fact."
    )


StepText = Annotated[str, Field(min_length=1, max_length=MAX_STEP_CHARS)]


class SetPlan(Arguments):
    """A whole plan."""

    goal: str = Field(
        min_length=1, max_length=500, description="What will be true when the job is done."
    )
    steps: list[StepText] = Field(
        min_length=1, max_length=MAX_STEPS, description="The steps in order, one short line each."
    )
    facts: list[FactInput] = Field(
        default=[], max_length=MAX_FACTS, description="Values the job needs later."
    )


class StepInput(Arguments):
    """A step's new status."""

    number: int = Field(ge=1, le=MAX_STEPS, description="The step's number in the plan, from 1.")
    status: Status


class UpdatePlan(Arguments):
    """Progress."""

    steps: list[StepInput] = Field(
        default=[], max_length=MAX_STEPS, description="Steps whose status changed."
    )
    facts: list[FactInput] = Field(
        default=[], max_length=MAX_FACTS, description="Facts that are new or changed."
    )


class ClosePlan(Arguments):
    """Nothing to say."""


def plan_tools() -> tuple[Tool, ...]:
    """The tools `set_plan`, `update_plan` and `close_plan`."""
    return (
        Tool(
            "set_plan",
            "Make the plan for work that takes several steps or several messages, or replace it "
            "when the goal changes. "
            "The plan stays with this conversation and you see it with every message. Not for a "
            "question you can "
            "answer at once.",
            SetPlan,
            _set_plan,
            status="status_plan",
            writes_tags=True,
        ),
        Tool(
            "update_plan",
            "Record progress as soon as it is made: a step begun (doing), finished (done) or no "
            "longer needed "
            "(dropped), and facts that later steps need.",
            UpdatePlan,
            _update_plan,
            status="status_plan",
            writes_tags=True,
        ),
        Tool(
            "close_plan",
            "Put the plan away, once the goal is reached or the person has given it up.",
            ClosePlan,
            _close_plan,
            status="status_plan",
            writes_tags=True,
        ),
    )


async def _set_plan(context: ToolContext, arguments: SetPlan) -> str:
    facts = _merged((), arguments.facts)
    return _keep(
        context, Task(arguments.goal, tuple(Step(text) for text in arguments.steps), facts)
    )


async def _update_plan(context: ToolContext, arguments: UpdatePlan) -> str:
    task = _plan(context)
    steps = list(task.steps)
    for change in arguments.steps:
        if change.number > len(steps):
            raise ToolFailed(
                f"There is no step {change.number}: the plan has {len(steps)}. Nothing was changed."
            )
        steps[change.number - 1] = replace(steps[change.number - 1], status=change.status)
    return _keep(
        context, replace(task, steps=tuple(steps), facts=_merged(task.facts, arguments.facts))
    )


async def _close_plan(context: ToolContext, _arguments: ClosePlan) -> str:
    _plan(context)
    context.slot.task = None
    return "The plan is closed."


def _plan(context: ToolContext) -> Task:
    if context.slot.task is None:
        raise ToolFailed("There is no plan. Make one with set_plan.")
    return context.slot.task


def _keep(context: ToolContext, task: Task) -> str:
    """Keep the plan, unless it is too large and no smaller than before; what the model reads."""
    before = context.slot.task
    if _size(task) > MAX_PLAN_CHARS and (before is None or _size(task) > _size(before)):
        raise ToolFailed(
            f"The plan would have {_size(task)} characters; it may have {MAX_PLAN_CHARS} in all, "
            "goal, steps and facts together. Nothing was changed: write it shorter, or drop facts "
            "by giving them an empty value."
        )
    context.slot.task = task
    return task_text(task)


def _size(task: Task) -> int:
    """In characters, whatever the status of its steps."""
    return len(replace(task, steps=tuple(replace(step, status="open") for step in task.steps)).text)


def _merged(known: tuple[Fact, ...], news: list[FactInput]) -> tuple[Fact, ...]:
    """The facts with `news` over them; an empty value drops its fact."""
    values = {fact.name: fact.value for fact in known} | {fact.name: fact.value for fact in news}
    facts = tuple(Fact(name, value) for name, value in values.items() if value)
    if len(facts) > MAX_FACTS:
        raise ToolFailed(
            f"A plan holds at most {MAX_FACTS} facts. Drop some by giving them an empty value."
        )
    return facts
