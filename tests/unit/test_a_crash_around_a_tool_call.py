"""A process dies around a tool call, or just before the commit: the talk goes on, and the deed was
done once.

The next run finds what a process leaves behind: the Session as it was before the turn, and the
turn's record.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace

import pytest

from bot.agent.scripted import calls, says
from bot.agent.tools import Toolbox
from bot.compaction import CompactionPolicy
from bot.content import words
from bot.ports import Run
from bot.store.memory.inbox import MemoryRecord
from bot.store.memory.sessions import MemorySessions
from tests.agents import tool
from tests.builders import ANNA, ANNAS_CHAT, question
from tests.unit.conftest import StreamedText

SUMMARY = "Tea was ordered. " + " ".join(f"fact{number}" for number in range(20))
UNKNOWN = "outcome is unknown"


class KilledError(BaseException):
    """The process ends here; nothing of it runs any more."""


@dataclass
class Process:
    """Where a process dies, the first time it comes there, and what was done to the world
    outside.
    """

    dies: str
    sent: list[str] = field(default_factory=list)

    def reaches(self, point):
        if point == self.dies:
            self.dies = ""
            raise KilledError


class Record(MemoryRecord):
    """What is kept of the turn; the process may die just before it writes that the deed begins."""

    def __init__(self, process):
        super().__init__()
        self.process = process

    async def effect_begins(self, turn, name, arguments):
        self.process.reaches("before the call")
        return await super().effect_begins(turn, name, arguments)


class Sessions(MemorySessions):
    """The process may die just before it commits."""

    def __init__(self, process):
        super().__init__()
        self.process = process

    async def commit(self, owner, session, turn):
        self.process.reaches("before the commit")
        await super().commit(owner, session, turn)


def orders(process):
    """A tool that acts on the world; the process may die in the middle of it."""

    async def send(context, given):
        process.sent.append(given.words)
        process.reaches("during the call")
        return "Sent."

    return tool("send", send, has_effect=True)


def model(process):
    """Orders tea when asked to, and says what came of it; the process may die when it has the
    result.
    """

    def answers(request):
        last = request.messages[-1]["content"]
        if last[0]["type"] == "tool_result":
            process.reaches("after the call")
            return says(f"Result: {last[0]['content']}")
        return calls("send", words="tea") if "Send tea" in words(last) else says("Of course.")

    return answers


@pytest.mark.parametrize(
    ("point", "knows"),
    [
        ("before the call", True),
        ("during the call", False),
        ("after the call", True),
        ("before the commit", True),
    ],
    ids=["before the call", "during the call", "after the call", "before the commit"],
)
async def test_the_next_run_heals_the_turn_and_the_talk_goes_on(house, point, knows):
    """C7: the history is one that a strict model takes, also when it is compacted later."""
    process = Process(point)
    policy = CompactionPolicy(messages=100, keep_messages=2)
    at = house(otherwise=model(process), policy=policy, summarise=lambda request: says(SUMMARY))
    at.sessions = Sessions(process)
    at.open()
    at.turns = replace(at.turns, agent=replace(at.turns.agent, toolbox=Toolbox([orders(process)])))
    run, asked, streamed = (
        Run(Record(process), asyncio.Event()),
        question("Send tea", 1, at.clock.now()),
        StreamedText(),
    )

    with pytest.raises(KilledError):
        await at.turns.answer(ANNA, ANNAS_CHAT, asked, StreamedText(), run)
    await at.turns.answer(ANNA, ANNAS_CHAT, replace(asked, is_retry=True), streamed, run)
    assert process.sent == ["tea"]
    [told] = streamed.delivered
    assert (told == "Result: Sent.") is knows
    assert (UNKNOWN in told) is not knows

    for number in (2, 3):
        assert (await at.ask("And now?", update_id=number)).delivered == ["Of course."]
    session = await at.active()
    assert [block["type"] for entry in session.messages[:4] for block in entry.content] == [
        "text",
        "tool_use",
        "tool_result",
        "text",
    ]
    assert await at.compactor.compact(ANNA, session)
    assert (await at.ask("And now?", update_id=4)).delivered == ["Of course."]
