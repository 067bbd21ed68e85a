"""Thirty facts, said once each over a thousand turns: at the end the model has each in its prompt
or finds it.
"""

from __future__ import annotations

import asyncio
from datetime import timedelta

from bot.agent.limits import Limits, Pauses
from bot.agent.loop import Agent
from bot.agent.prompt import Prompt
from bot.agent.scripted import Scripted, says
from bot.agent.toolbox.search import search_tools
from bot.agent.tools import Toolbox
from bot.compaction import CompactionPolicy, Compactor, Summariser
from bot.ops.clock import ManualClock
from bot.ports import Run
from bot.store.memory.archive import MemoryArchive
from bot.store.memory.inbox import MemoryRecord
from bot.store.memory.sessions import MemorySessions
from bot.turn import TurnRunner
from tests.agents import tool_context
from tests.builders import ALIVE, ANNA, ANNAS_CHAT, LIFETIME, NOON, question

TURNS, FACTS = 1_000, 30
FACT_AT = {number * TURNS // FACTS + 7: f"zq{number:02d}" for number in range(FACTS)}


class Silence:
    """A Reply nobody reads."""

    shown = ""

    def grow(self, delta):
        pass

    def restart(self):
        pass

    def status(self, key):
        pass

    async def notice(self, key, **values):
        raise AssertionError(f"nothing goes wrong here: {key}")

    async def deliver(self, markdown, *, turn):
        pass


async def rough(text):
    return len(text) // 4


def forgetful(request):
    """The worst summary that still is one: nothing of what was said is in it."""
    return says(
        f"Notes after {request.messages[0]['content'][0]['text'][:60]!r}: " + "they talked on " * 10
    )


async def test_what_every_summary_forgot_is_still_found():
    sessions, archive, clock = MemorySessions(), MemoryArchive(), ManualClock(NOON)
    model, toolbox = (
        Scripted(otherwise=lambda request: says("I see.")),
        Toolbox(search_tools(sessions, archive, lambda: ALIVE)),
    )
    summariser = Summariser(Scripted(otherwise=forgetful), "small", rough)
    compactor = Compactor(sessions, archive, summariser, CompactionPolicy(), clock)
    agent = Agent(model, toolbox, Prompt("model", b"key"), Limits(), Pauses(lambda: 0.0))
    turns = TurnRunner(sessions, agent, compactor, rough, clock, lambda: "a" * 32, LIFETIME)
    for number in range(TURNS):
        clock.advance(timedelta(seconds=40))
        words = (
            f"The code of locker {FACT_AT[number]} is {number}."
            if number in FACT_AT
            else f"Small talk {number}."
        )
        asked = question(words, number + 1, clock.now())
        await turns.answer(ANNA, ANNAS_CHAT, asked, Silence(), Run(MemoryRecord(), asyncio.Event()))
        while running := [
            task for task in asyncio.all_tasks() if task.get_name().startswith("compaction")
        ]:
            await asyncio.wait(running)
        model.requests[:-1] = []

    prompt = str(model.requests[-1].messages)
    found = {
        name: await toolbox.run(tool_context(), "search", {"words": f"LOCKER {name}"})
        for name in FACT_AT.values()
    }
    lost = [
        name
        for number, name in FACT_AT.items()
        if f"{name} is {number}" not in prompt + found[name]
    ]
    assert lost == []
    assert sum(name in prompt for name in FACT_AT.values()) < 3
    session = await sessions.inspect(ANNA, ANNAS_CHAT)
    assert session is not None
    assert session.revision == TURNS
