"""An agent with a script, a screen and tools, for the tests that look at one turn of the model."""

from __future__ import annotations

import asyncio

from bot.agent.attachments import Attachments
from bot.agent.limits import Limits, Pauses
from bot.agent.loop import Agent
from bot.agent.prompt import Prompt
from bot.agent.scripted import Scripted, illegal
from bot.agent.tools import Arguments, Tool, Toolbox, ToolContext
from bot.ports import Run
from bot.store.memory.inbox import MemoryRecord
from tests.builders import ANNA, ANNAS_CHAT, NOON, question, session

MODEL = "claude-sonnet-5-5"


class Words(Arguments):
    """Any words."""

    words: str = ""


class StreamedText:
    """A Reply that remembers what its person saw, and each time it was taken back."""

    def __init__(self):
        self.shown = ""
        self.taken_back = []
        self.statuses = []

    def grow(self, delta):
        self.shown += delta

    def restart(self):
        self.taken_back.append(self.shown)
        self.shown = ""

    def status(self, key):
        self.statuses.append(key)

    async def notice(self, key, **values):
        raise AssertionError("the agent gives no notices")

    async def deliver(self, markdown, *, turn):
        raise AssertionError("the agent delivers nothing")


class Sleeps:
    """Pauses that pass at once and are remembered."""

    def __init__(self):
        self.seconds = []

    async def __call__(self, seconds):
        self.seconds.append(seconds)


def tool(name="echo", run=None, arguments=Words, *, has_effect=False):
    async def echo(context, given):
        return f"echo: {given.words}"

    return Tool(name, f"Does {name}.", arguments, run or echo, has_effect)


def tool_context(owner=ANNA, place=ANNAS_CHAT, turn=1, *, record=None, **more):
    """Anna's first turn, of which nothing was recorded before."""
    return ToolContext(owner, place, turn, NOON, record or MemoryRecord(), **more)


def a_run(record=None):
    """A run of a turn that nobody stops."""
    return Run(record or MemoryRecord(), asyncio.Event())


def agent(model, *tools, sleep=None, random=lambda: 0.0, attachments=None, **limits):
    pauses = Pauses(random, sleep=sleep or Sleeps())
    eyes = attachments or Attachments()
    return Agent(
        model, Toolbox(tools), Prompt(MODEL, b"key"), Limits(**limits), pauses, attachments=eyes
    )


async def run(model, *tools, asked="hello", of=None, streamed=None, within=None, **options):
    """One turn of Anna's; a list of lines is a script. What leaves the turn must be legal."""
    model = Scripted(*model) if isinstance(model, list) else model
    of = of or session()
    asks = agent(model, *tools, **options)
    answer = await asks.run(
        ANNA, of, question(asked), streamed or StreamedText(), within or a_run()
    )
    entries = [{"role": "user", "content": [{"type": "text", "text": asked}]}]
    entries += [{"role": role, "content": list(content)} for role, content in answer.exchange]
    assert illegal(entries) == ""
    assert entries[-1]["role"] == "assistant"
    return answer


def results(answer):
    """The tool results in an answer's exchange, in order, as (text, whether an error)."""
    return [
        (block["content"], block.get("is_error", False))
        for _, content in answer.exchange
        for block in content
        if block["type"] == "tool_result"
    ]
