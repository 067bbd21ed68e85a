"""The core, put together from the parts that ship for this: the store in memory and a model that
follows a script.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from itertools import count

import pytest

from bot.agent.limits import Limits, Pauses
from bot.agent.loop import Agent
from bot.agent.prompt import Prompt
from bot.agent.scripted import Scripted
from bot.agent.toolbox.notes import notes_tools
from bot.agent.toolbox.plan import plan_tools
from bot.agent.tools import Toolbox
from bot.compaction import CompactionPolicy, Compactor, Summariser
from bot.lifecycle import Lifecycle
from bot.ops.clock import ManualClock
from bot.ports import Run
from bot.store.memory.archive import MemoryArchive
from bot.store.memory.inbox import MemoryRecord
from bot.store.memory.notes import MemoryNotes
from bot.store.memory.sessions import MemorySessions
from bot.turn import TurnRunner
from tests.builders import ANNA, ANNAS_CHAT, LIFETIME, NOON, question


@dataclass
class StreamedText:
    """A Reply that shows everything to the test."""

    delivered: list[str] = field(default_factory=list)
    turns: list[int] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    grown: str = ""

    @property
    def shown(self):
        return self.grown

    def grow(self, delta):
        self.grown += delta

    def restart(self):
        self.grown = ""

    def status(self, key):
        pass

    async def notice(self, key, **values):
        self.notices.append(key)

    async def deliver(self, markdown, *, turn):
        self.delivered.append(markdown)
        self.turns.append(turn)


async def count_words(text):
    return len(text.split())


class House:
    """One process: what it remembers between two turns is in its store."""

    def __init__(self, *script, policy=None, summaries=(), otherwise=None, summarise=None):
        self.sessions, self.archive, self.notes = MemorySessions(), MemoryArchive(), MemoryNotes()
        self.model = Scripted(*script, otherwise=otherwise)
        self.summary_model = Scripted(*summaries, otherwise=summarise)
        self.clock = ManualClock(NOON)
        self.policy = policy or CompactionPolicy()
        self._ids = count(1)
        self._updates = count(1)
        self.open()

    def open(self):
        """Put the parts together anew, as a process does at its start."""
        toolbox = Toolbox([*notes_tools(self.notes), *plan_tools()])
        pauses = Pauses(lambda: 0.0, sleep=self._sleep)
        agent = Agent(self.model, toolbox, Prompt("model", b"key"), Limits(), pauses)
        summariser = Summariser(self.summary_model, "small-model", count_words)
        self.compactor = Compactor(self.sessions, self.archive, summariser, self.policy, self.clock)
        self.turns = TurnRunner(
            self.sessions, agent, self.compactor, count_words, self.clock, self.new_id, LIFETIME
        )
        self.lifecycle = Lifecycle(self.sessions, self.archive, self.clock, self.new_id)

    def new_id(self):
        return f"{next(self._ids):032x}"

    async def _sleep(self, seconds):
        await asyncio.sleep(0)

    async def ask(self, words, owner=ANNA, place=ANNAS_CHAT, *, update_id=None, stop=None, at=None):
        """One turn; the screen its person looks at."""
        asked = question(words, update_id or next(self._updates), at or self.clock.now())
        return await self.answer(asked, owner, place, stop=stop)

    async def answer(self, asked, owner=ANNA, place=ANNAS_CHAT, *, stop=None):
        """One run of a turn, as a worker starts it."""
        streamed = StreamedText()
        await self.turns.answer(
            owner, place, asked, streamed, Run(MemoryRecord(), stop or asyncio.Event())
        )
        return streamed

    async def active(self, owner=ANNA, place=ANNAS_CHAT):
        """The active Session as the store has it."""
        now = self.clock.now()
        return await self.sessions.load(owner, place, at=now, now=now, lifetime=LIFETIME)


@pytest.fixture
def house():
    """Make a House whose model follows the given script."""
    return House
