"""What a Session is, with nothing around it: the type, the store in memory, and a model that
follows a script.
"""

from __future__ import annotations

import asyncio
from datetime import timedelta

from bot.agent.limits import Limits, Pauses
from bot.agent.loop import Agent
from bot.agent.prompt import Prompt
from bot.agent.scripted import Scripted, says
from bot.agent.tools import Toolbox
from bot.compaction import CompactionPolicy, Compactor, Summariser
from bot.content import words
from bot.lifecycle import Lifecycle
from bot.ops.clock import ManualClock
from bot.ports import Run
from bot.store.memory.archive import MemoryArchive
from bot.store.memory.inbox import MemoryRecord
from bot.store.memory.sessions import MemorySessions
from bot.turn import TurnRunner
from tests.builders import ANNA, ANNAS_CHAT, BORIS, BORIS_CHAT, LIFETIME, question


class Paper:
    """A Reply that is written down."""

    def __init__(self):
        self.lines = []
        self.shown = ""

    def grow(self, delta):
        self.shown += delta

    def restart(self):
        self.shown = ""

    def status(self, key):
        pass

    async def notice(self, key, **values):
        self.lines.append(f"({key})")

    async def deliver(self, markdown, *, turn):
        self.lines.append(markdown)


async def rough(text):
    return len(text) // 4


async def test_the_life_of_a_session():
    """Created by the first message, continued, expired by idleness, left with /new, erased with
    /reset.
    """
    sessions, archive, clock = MemorySessions(), MemoryArchive(), ManualClock()
    ids = iter("abcdefgh")
    model = Scripted(*(says(f"answer {number}") for number in range(1, 7)))
    agent = Agent(model, Toolbox(), Prompt("model", b"key"), Limits(), Pauses(lambda: 0.0))
    compactor = Compactor(
        sessions, archive, Summariser(model, "small", rough), CompactionPolicy(), clock
    )
    turns = TurnRunner(sessions, agent, compactor, rough, clock, lambda: next(ids), LIFETIME)
    lifecycle = Lifecycle(sessions, archive, clock, lambda: next(ids))
    updates = iter(range(1, 100))

    async def say(line, owner=ANNA, place=ANNAS_CHAT):
        paper = Paper()
        await turns.answer(
            owner,
            place,
            question(line, next(updates), clock.now()),
            paper,
            Run(MemoryRecord(), asyncio.Event()),
        )
        session = await sessions.load(
            owner, place, at=clock.now(), now=clock.now(), lifetime=LIFETIME
        )
        return session, paper.lines

    created, lines = await say("hello")
    assert (created.id, created.revision, lines) == ("a", 1, ["answer 1"])

    clock.advance(timedelta(minutes=30))
    continued, lines = await say("and on")
    assert (continued.id, continued.revision, lines) == ("a", 2, ["answer 2"])
    assert [words(message.content) for message in continued.messages] == [
        "hello",
        "answer 1",
        "and on",
        "answer 2",
    ]

    clock.advance(timedelta(minutes=31))
    expired, lines = await say("later")
    assert (expired.id, lines) == ("b", ["(session_expired)", "answer 3"])

    await lifecycle.new(ANNA, ANNAS_CHAT)
    fresh, lines = await say("afresh")
    assert (fresh.id, lines) == ("c", ["answer 4"])
    assert await sessions.exists(ANNA, "b")

    await lifecycle.reset(ANNA, ANNAS_CHAT)
    clean, lines = await say("clean")
    assert (clean.id, lines) == ("d", ["answer 5"])
    assert not await sessions.exists(ANNA, "c")

    foreign, _ = await say("me too", BORIS, BORIS_CHAT)
    assert [words(message.content) for message in foreign.messages] == ["me too", "answer 6"]
    assert not await sessions.exists(BORIS, clean.id)
