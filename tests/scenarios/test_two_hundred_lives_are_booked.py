"""People live through stops, failures of every kind, voice, tools and compactions, and what was
billed is booked. A few lives with the other tests, two hundred by name: `pytest -n 0 -m chaos -s`.
"""

from __future__ import annotations

import asyncio
from math import ceil
from random import Random

import pytest

from bot.standins.claude.answers import call, say, think
from bot.standins.claude.faults import Fault
from bot.standins.claude.script import is_chat
from bot.standins.transcriber import TranscribeServer

FEW, MANY = 6, 200
AT_ONCE = 20
FLOOR, CEILING = 0.98, 1.25
"""Of what was billed, what is booked; a call that was cut short is booked by estimate."""
MINUTE = 1_000
FAULTS = (
    Fault.overloaded,
    Fault.rate_limited,
    Fault.server_error,
    Fault.bad_gateway,
    Fault.local_loading,
    Fault.too_large,
    Fault.silence,
    Fault.error_event,
    lambda: Fault.error_event("api_error", after=2),
    Fault.dropped,
    lambda: Fault.dropped(after=5, inside="input_json_delta"),
    Fault.stalled,
    Fault.pinging,
    Fault.ends_early,
    Fault.ends_in_call,
    Fault.empty,
    Fault.bad_event_json,
    Fault.wrong_index,
    Fault.no_message_stop,
    Fault.dropped_at_the_end,
    Fault.refusal,
    Fault.cut_in_call,
    Fault.paused,
    Fault.window_exceeded,
    Fault.wordless,
    Fault.portal,
    lambda: Fault.status(401),
)
LONG = "The grey heron stands in shallow water and waits. " * 12


class Life:
    """One person, known by a word that nobody else says, and what becomes of each message."""

    def __init__(self, state, number):
        self.state = state
        self.number, self.random = number, Random(number)
        self.word = f"bird-{number}-of-{MANY}"
        self.person = state.telegram.person(5000 + number, f"Person {number}")
        self.sent = 0
        self.spoken: list[int] = []
        """How many seconds each recording lasts."""

    def is_mine(self, body):
        return is_chat(body) and self.word in str(body["messages"])

    async def live(self):
        ways = (self.talks, self.fails, self.is_stopped, self.uses_tools, self.speaks)
        first = ways[self.number % len(ways)]
        for happens in (first, *self.random.choices((*ways, self.fails), k=2)):
            await happens()
            await self.is_quiet()

    async def talks(self):
        self.says("Tell me of it. " * self.random.randrange(1, 40))

    async def fails(self):
        self.state.claude.faults.next(self.random.choice(FAULTS)(), when=self.is_mine)
        self.state.claude.script(call("remember", {"text": LONG}), say(LONG), when=self.is_mine)
        self.says("What do you say?")

    async def is_stopped(self):
        asked = self.random.choice(
            [Fault.silence(), Fault.stalled(after=9), Fault.pinging(after=7)]
        )
        self.state.claude.faults.next(asked, when=self.is_mine)
        self.state.claude.script(
            self.random.choice([say(LONG), think(LONG, LONG)]), when=self.is_mine
        )
        before = self.mine()
        self.says("Count to a hundred.")
        await self.state.claude.until(lambda _: self.mine() > before, seconds=60)
        self.person.says("/stop")

    async def uses_tools(self):
        self.state.claude.script(
            call("remember", {"text": LONG}), call("recall_notes"), say(LONG), when=self.is_mine
        )
        self.says("Remember this.")

    async def speaks(self):
        self.spoken.append(self.random.randrange(1, 200))
        self.sent += 1
        self.person.sends_voice(b"OggS" + bytes(10) + self.word.encode(), seconds=self.spoken[-1])

    def says(self, words):
        self.sent += 1
        self.person.says(f"{self.word}: {words}")

    def mine(self):
        return sum(
            self.is_mine(one.body) for one in self.state.claude.journal.exchanges if one.body
        )

    async def is_quiet(self):
        ended = {"ownerId": self.person.id, "kind": "content", "state": {"$ne": "queued"}}
        await self.state.eventually(
            lambda: self.state.database["inbox"].count_documents(ended) == self.sent, seconds=120
        )


@pytest.fixture
async def ears(state):
    async with TranscribeServer() as server:
        state.environ |= {"TRANSCRIBE_URL": server.url, "TRANSCRIBE_KEY": server.key}
        server.words = "Tell me about herons. "
        yield server


def booked(state):
    kinds = ("inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens")
    return {
        row["ownerId"]: sum(row[kind] for kind in kinds) for row in state.database["usage"].find()
    }


def billed(state, life):
    """What the model's calls and the recordings of one life cost."""
    spoken = sum(ceil(seconds / 60) * MINUTE for seconds in life.spoken)
    exchanges = (one for one in state.claude.journal.exchanges if life.word in str(one.body))
    return spoken + sum(state.claude.billed(exchange) for exchange in exchanges)


@pytest.mark.parametrize("count", [FEW, pytest.param(MANY, marks=pytest.mark.chaos)])
async def test_what_was_billed_is_booked(state, ears, count):
    """C149: never less than 0.98 of it, and not much more."""
    gate = asyncio.Semaphore(AT_ONCE)

    async def live(life):
        async with gate:
            await life.live()

    settings = {"DAILY_TOKEN_BUDGET": "10000000", "SILENCE_SECONDS": "1", "WORKERS": "40"}
    lives = [Life(state, number) for number in range(count)]
    async with state.bot(**settings, CONTEXT_TRIGGER_MESSAGES="6", CONTEXT_KEEP_MESSAGES="2"):
        await asyncio.gather(*map(live, lives))
        held = {"holds.0": {"$exists": True}}
        await state.eventually(lambda: not state.database["usage"].count_documents(held), 60)

    recordings = [seconds for life in lives for seconds in life.spoken]
    assert len(ears.heard) == len(recordings) > 0
    rows, costs = booked(state), {life.person.id: billed(state, life) for life in lives}
    shares = {person: rows.get(person, 0) / cost for person, cost in costs.items() if cost}
    total = sum(rows.values()) / sum(costs.values())
    worst, best = min(shares.values()), max(shares.values())
    print(f"booked / billed: {total:.4f} in all, {worst:.4f} to {best:.4f} in one life")  # noqa: T201 - what the long run is for
    assert all(rows.get(person, 0) == 0 for person, cost in costs.items() if not cost)
    assert FLOOR <= total <= CEILING
