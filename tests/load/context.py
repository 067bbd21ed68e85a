"""What a long dialogue costs: everything resent, the last N messages, and this bot. Run by name, it
prints a table.

    pytest -m load -s tests/load/context.py

All three talk to the same stand-in for the Messages API, whose prompt cache is accounted for as the
real one's: a fixed part of 3,000 tokens, 140 a message, 500 a summary, a question every 40 seconds.
The bot is real from Turns down, over a real mongod; the two others are the loops one writes first,
and keep their messages in one document. Tokens are billed in units of one uncached input token.
"""

from __future__ import annotations

import asyncio
import sys
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, fields
from datetime import timedelta
from itertools import count
from statistics import fmean
from typing import Any

import bson
import pytest
from pymongo import MongoClient

from bot.agent.claude import Claude, Endpoint
from bot.agent.limits import Limits, Pauses
from bot.agent.loop import Agent
from bot.agent.prompt import SYSTEM, Prompt, render
from bot.agent.toolbox.notes import notes_tools
from bot.agent.toolbox.plan import plan_tools
from bot.agent.toolbox.search import search_tools
from bot.agent.tools import Toolbox
from bot.compaction import CompactionPolicy, Compactor, Summariser
from bot.content import Block, Role, text_block
from bot.ops.clock import ManualClock
from bot.owner import Owner, Place
from bot.ports import Run
from bot.session import number
from bot.standins.claude.answers import say
from bot.standins.claude.prompt import Meter
from bot.standins.claude.script import is_summary
from bot.standins.claude.server import ClaudeServer
from bot.store import documents
from bot.store.memory.inbox import MemoryRecord
from bot.store.mongo import collections, schema
from bot.tokens import Tokens
from bot.turn import TurnRunner
from tests.builders import ALIVE, ANNA, BORIS, LIFETIME, NOON, question, session
from tests.raw_store import connect

pytestmark = pytest.mark.load

TURNS = 1_000
BILL = {
    "input_tokens": 1.0,
    "cache_creation_input_tokens": 1.25,
    "cache_read_input_tokens": 0.10,
    "output_tokens": 5.0,
}
FIXED, A_MESSAGE, A_SUMMARY = 3_000, 140, 500
SAWTOOTH = 15
"""Turns from one compaction to the next: (40 + 2 − 12) messages, two a turn."""
PERIODS = 4
MODEL, SUMMARY_MODEL = "claude-sonnet-5-5", "claude-haiku-5-5"


def filler(tokens: int, meter: Meter) -> str:
    """Words of about so many tokens."""
    text = "we talk about this and that and then some more " * 100
    return next(text[:size] for size in range(len(text)) if meter.text(text[:size]) >= tokens)


@dataclass
class Costs:
    """What each turn came to."""

    billed: list[float] = field(default_factory=list)
    prompts: list[int] = field(default_factory=list)
    documents: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def against(self, other: Costs) -> dict[str, float]:
        """The means of a turn's costs as ratios to another one's."""
        return {
            one.name: fmean(getattr(self, one.name)) / fmean(getattr(other, one.name))
            for one in fields(self)
        }

    def row(self, name: str, turns: int, whole: float) -> str:
        billed, last = sum(self.billed[:turns]), self.seconds[turns - SAWTOOTH : turns]
        return (
            f"| {name} | {turns} | {billed / 1e6:.2f} M | {billed / whole:.2f} | "
            f"{max(self.prompts[:turns]):,} "
            f"| {max(self.documents[:turns]) / 1024:,.0f} KB | {fmean(last) * 1000:.0f} ms |"
        )


HEAD = """\
| Way | Turns | Billed | Of everything | Largest prompt | Document | A turn |
|---|---|---|---|---|---|---|"""


class TelegramState:
    """The model's server, its bill, and what is said."""

    def __init__(self, server: ClaudeServer, clock: ManualClock, toolbox: Toolbox) -> None:
        meter = Meter()
        self.server, self.clock, self.toolbox = server, clock, toolbox
        self.claude = Claude(Endpoint(server.url, server.key, caching=True))
        self.answer = filler(A_MESSAGE - 4, meter)
        self.words = filler(
            A_MESSAGE - meter.text('<sent at="2026-01-05 12:00 Monday"/>') - 14, meter
        )
        self.summary = filler(A_SUMMARY - 6, meter)
        self.numbers = count(1)
        bare = meter.prompt(meter.items({"system": SYSTEM, "tools": toolbox.specs, "messages": []}))
        self.prompt = Prompt(MODEL, b"key", system=SYSTEM + filler(FIXED - bare, meter))

    def asked(self) -> str:
        """Each question says something new, or there would be nothing to summarise."""
        return f"Number {next(self.numbers):05d}: {self.words}"

    def say(self, body):
        """An answer; or a summary, which is another one each time."""
        return say(
            f"Summary {next(self.numbers)}: {self.summary}" if is_summary(body) else self.answer
        )

    async def turn(self, costs: Costs, take, size) -> None:
        """One turn, and its bill."""
        self.clock.advance(timedelta(seconds=40))
        before, began = len(self.server.journal.exchanges), time.perf_counter()
        await take()
        costs.seconds.append(time.perf_counter() - began)
        await compactions()
        exchanges = self.server.journal.exchanges[before:]
        costs.billed.append(
            sum(BILL[name] * each.usage.get(name, 0) for each in exchanges for name in BILL)
        )
        costs.prompts.append(
            max(each.prompt.total for each in exchanges if each.prompt and each.body.get("tools"))
        )
        costs.documents.append(size())
        for (
            each
        ) in exchanges:  # a thousand prompts of everything would not fit into this machine's memory
            await self.server.journal.note(each.number, raw=b"", body={})


async def compactions() -> None:
    """What runs after the reply has ended before the next question comes, 40 seconds later."""
    while tasks := [
        task for task in asyncio.all_tasks() if task.get_name().startswith("compaction")
    ]:
        await asyncio.wait(tasks)


async def resending(state: TelegramState, table: Any, last: int | None) -> Costs:
    """The loop one writes first: read the messages, add the question, ask, add the answer, save."""
    costs = Costs()

    async def take():
        found = await table.find_one({"_id": 1}) or {"_id": 1, "messages": []}
        of = session(messages=[documents.to_message(one) for one in found["messages"]])
        asked, now = (text_block(state.asked()),), state.clock.now()
        request = state.prompt.request(ANNA, render(of, asked, now), state.toolbox.specs, "auto")
        completion = await state.claude.complete(request, lambda _delta: None)
        said: tuple[tuple[Role, tuple[Block, ...], int], ...] = (
            ("user", asked, A_MESSAGE),
            ("assistant", completion.content, A_MESSAGE),
        )
        of.messages.extend(number(of, of.next_seq, said, now))
        kept = of.messages if last is None else of.messages[-last:]
        document = {"_id": 1, "messages": [documents.from_message(message) for message in kept]}
        await table.replace_one({"_id": 1}, document, upsert=True)
        sizes.append(len(bson.encode(document)))

    sizes: list[int] = []
    for _ in range(TURNS):
        await state.turn(costs, take, lambda: sizes[-1])
    return costs


class Bot:
    """This bot, from Turns down."""

    def __init__(self, state: TelegramState, store: Any, windows: tuple[int, int]) -> None:
        tokens, self.state, self.updates = Tokens(), state, count(1)
        summariser = Summariser(state.claude, SUMMARY_MODEL, tokens, window=windows[1])
        policy = CompactionPolicy(window=windows[0] - state.prompt.max_tokens)
        compactor = Compactor(store.sessions, store.archive, summariser, policy, state.clock)
        agent = Agent(state.claude, state.toolbox, state.prompt, Limits(), Pauses(lambda: 0.0))
        new_id = lambda: f"{next(self.updates):032x}"  # noqa: E731 - a factory, passed on
        self.turns = TurnRunner(
            store.sessions, agent, compactor, tokens, state.clock, new_id, LIFETIME
        )

    async def turn(self, costs: Costs, look: Any, owner: Owner = ANNA) -> None:
        async def take():
            asked = question(self.state.asked(), next(self.updates), self.state.clock.now())
            await self.turns.answer(
                owner, Place(owner.id), asked, Silence(), Run(MemoryRecord(), asyncio.Event())
            )

        await self.state.turn(costs, take, lambda: len(bson.encode(look({"ownerId": owner.id}))))


async def ours(state: TelegramState, store: Any, look: Any) -> tuple[Costs, Costs, Costs]:
    """The whole dialogue; then its last turns side by side with those of a young one, under the
    same load.
    """
    bot = Bot(
        state,
        store,
        ((await state.claude.card(MODEL)).window, (await state.claude.card(SUMMARY_MODEL)).window),
    )
    whole, old, young = Costs(), Costs(), Costs()
    for _ in range(TURNS):
        await bot.turn(whole, look)
    for _ in range(40 - SAWTOOTH // 2):
        await bot.turn(Costs(), look, BORIS)
    for _ in range(PERIODS * SAWTOOTH):
        await bot.turn(old, look)
        await bot.turn(young, look, BORIS)
    return whole, old, young


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


@asynccontextmanager
async def worlds(mongod: str, database: str):
    """A fresh server for each way, over one store."""
    clock = ManualClock(NOON)
    store = await connect(mongod, database, driver="pymongo")
    await schema.ensure(store.database, collections.Retention(collections.MAX_SECONDS))
    toolbox = Toolbox(
        [
            *notes_tools(store.notes),
            *plan_tools(),
            *search_tools(store.sessions, store.archive, lambda: ALIVE),
        ]
    )

    @asynccontextmanager
    async def fresh():
        made: list[TelegramState] = []

        def model(body):
            return made[0].say(body)

        async with ClaudeServer(clock=clock, model=model) as server:
            made.append(TelegramState(server, clock, toolbox))
            yield made[0]
            await made[0].claude.aclose()

    try:
        yield store, fresh
    finally:
        await store.close()


async def test_a_long_dialogue_costs_a_quarter_and_no_more_at_its_end(
    mongod: str, mongo_client: MongoClient[dict[str, Any]], database: str, capsys
):
    ways: dict[str, Costs] = {}
    async with worlds(mongod, database) as (store, fresh):
        async with fresh() as state:
            ways["this bot"], old, young = await ours(
                state, store, mongo_client[database]["sessions"].find_one
            )
        async with fresh() as state:
            ways["last 40 messages"] = await resending(state, store.database["window"], 40)
        async with fresh() as state:
            ways["resend everything"] = await resending(state, store.database["all"], None)

    whole = {turns: sum(ways["resend everything"].billed[:turns]) for turns in (500, TURNS)}
    mine = ways["this bot"]
    grown = old.against(young)
    lines = [
        HEAD,
        *(costs.row(name, *each) for name, costs in ways.items() for each in whole.items()),
    ]
    lines.append(f"this bot, around turn {TURNS} against around turn 40: {grown}")
    with capsys.disabled():
        sys.stdout.write("\n".join(["", *lines, ""]))

    assert sum(mine.billed[:500]) <= 0.30 * whole[500]
    assert max(grown.values()) <= 1.2
