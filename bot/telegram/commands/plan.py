"""`/plan`: shows the Task of the active Session."""

from __future__ import annotations

from collections.abc import Mapping

from bot.session import Task
from bot.telegram.commands.invocation import Invocation
from bot.telegram.commands.visible_sessions import VisibleSessions
from bot.texts import text

_MARKS: Mapping[str, str] = {"open": "○", "doing": "▸", "done": "✓", "dropped": "–"}


async def show_plan(sessions: VisibleSessions, call: Invocation) -> None:
    """Say the plan, or that there is none; a Session that is over has none."""
    session = await sessions.active(call.lane)
    task = session.task if session is not None else None
    await call.reply.say(describe_task(task) if task else text("plan_none", call.language))


def describe_task(task: Task) -> str:
    steps = (f"{_MARKS[step.status]} {step.text}" for step in task.steps)
    facts = (f"{fact.name}: {fact.value}" for fact in task.facts)
    return "\n\n".join(filter(None, (task.goal, "\n".join(steps), "\n".join(facts))))
