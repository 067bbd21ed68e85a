"""`/plan`: the Task of the talk that goes on here, as its person reads it."""

from __future__ import annotations

from collections.abc import Mapping

from bot.owner import Lane
from bot.ports import SessionStore
from bot.session import Alive, Task
from bot.texts import Language, text

_MARKS: Mapping[str, str] = {"open": "○", "doing": "▸", "done": "✓", "dropped": "–"}


async def plan_text(sessions: SessionStore, lane: Lane, alive: Alive, language: Language) -> str:
    """The plan, or that there is none: also where the Session is over, though nobody has said so
    yet.
    """
    session = await sessions.inspect(lane.owner, lane.place, unless_over=alive)
    if session is None or session.task is None:
        return text("plan_none", language)
    return describe_task(session.task)


def describe_task(task: Task) -> str:
    steps = (f"{_MARKS[step.status]} {step.text}" for step in task.steps)
    facts = (f"{fact.name}: {fact.value}" for fact in task.facts)
    return "\n\n".join(filter(None, (task.goal, "\n".join(steps), "\n".join(facts))))
