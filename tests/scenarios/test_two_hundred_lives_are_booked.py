"""200 people live through stops, failures of every kind, voice, tools and compactions: what was billed is booked."""

from __future__ import annotations

import asyncio
from math import ceil
from random import Random

import pytest

from bot.demo.claude.answers import call, say, think
from bot.demo.claude.faults import Fault
from bot.demo.claude.script import is_chat
from bot.demo.transcribing import TranscribeServer

LIVES = 200
AT_ONCE = 20
FLOOR, CEILING = 0.98, 1.25
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
    Fault.unknown_block,
    lambda: Fault.status(401),
)
LONG = "The grey heron stands in shallow water and waits. " * 12


class Life:
    """One person, known by a word that nobody else says, and what becomes of each message."""

    def __init__(self, world, number):
        self.world = world
        self.random = Random(number)
        self.word = f"bird-{number}-of-{LIVES}"
        self.person = world.telegram.person(5000 + number, f"Person {number}")
        self.sent = 0
        self.spoken: list[int] = []
        """How many seconds each recording lasts."""

    def is_mine(self, body):
        return is_chat(body) and self.word in str(body["messages"])

    async def live(self):
        for _ in range(3):
            happens = self.random.choice(
                [self.talks, self.fails, self.fails, self.is_stopped, self.uses_tools, self.speaks]
            )
            await happens()
            await self.is_quiet()

    async def talks(self):
        self.says("Tell me of it. " * self.random.randrange(1, 40))

    async def fails(self):
        self.world.claude.faults.next(self.random.choice(FAULTS)(), when=self.is_mine)
        self.world.claude.script(call("remember", {"text": LONG}), say(LONG), when=self.is_mine)
        self.says("What do you say?")

    async def is_stopped(self):
        asked = self.random.choice([Fault.silence(), Fault.stalled(after=9), Fault.pinging(after=7)])
        self.world.claude.faults.next(asked, when=self.is_mine)
        self.world.claude.script(self.random.choice([say(LONG), think(LONG, LONG)]), when=self.is_mine)
        before = self.mine()
        self.says("Count to a hundred.")
        await self.world.claude.until(lambda _: self.mine() > before, seconds=60)
        self.person.says("/stop")

    async def uses_tools(self):
        self.world.claude.script(call("remember", {"text": LONG}), call("recall_notes"), say(LONG), when=self.is_mine)
        self.says("Remember this.")

    async def speaks(self):
        self.spoken.append(self.random.randrange(1, 200))
        self.sent += 1
        self.person.sends_voice(b"OggS" + self.word.encode(), seconds=self.spoken[-1])

    def says(self, words):
        self.sent += 1
        self.person.says(f"{self.word}: {words}")

    def mine(self):
        return sum(self.is_mine(one.body) for one in self.world.claude.journal.exchanges if one.body)

    async def is_quiet(self):
        ended = {"ownerId": self.person.id, "kind": "content", "state": {"$ne": "queued"}}
        await self.world.eventually(
            lambda: self.world.database["inbox"].count_documents(ended) == self.sent, seconds=120
        )


@pytest.fixture
async def ears(world):
    async with TranscribeServer() as server:
        world.environ |= {"TRANSCRIBE_URL": server.url, "TRANSCRIBE_KEY": server.key}
        server.words = "Tell me about herons. "
        yield server


def used(world):
    kinds = ("inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens")
    return sum(row[kind] for row in world.database["usage"].find() for kind in kinds)


async def test_what_was_billed_is_booked(world, ears):
    """C149: never less than 0.98 of it, and not much more."""
    gate = asyncio.Semaphore(AT_ONCE)

    async def live(life):
        async with gate:
            await life.live()

    settings = {"DAILY_TOKEN_BUDGET": "10000000", "SILENCE_SECONDS": "1", "WORKERS": "40"}
    lives = [Life(world, number) for number in range(LIVES)]
    async with world.bot(**settings, CONTEXT_TRIGGER_MESSAGES="6", CONTEXT_KEEP_MESSAGES="2"):
        await asyncio.gather(*map(live, lives))
        await world.eventually(lambda: not world.database["usage"].count_documents({"holds.0": {"$exists": True}}), 60)

    recordings = [seconds for life in lives for seconds in life.spoken]
    spoken = sum(ceil(seconds / 60) * MINUTE for seconds in recordings)
    billed = sum(world.claude.billed(exchange) for exchange in world.claude.journal.exchanges)
    assert len(ears.heard) == len(recordings) > 0
    assert FLOOR * (billed + spoken) <= used(world) <= CEILING * (billed + spoken)
