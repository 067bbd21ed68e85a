"""The stand-ins and the replicas together: what a test of many processes starts from.

People send numbered lines (`q1001x3.`) and the model answers with the numbers it was asked
(`a1001x3.`), so that what became of each line can be read from journals and documents alone. Every
tenth line gets an answer of several parts.
"""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pymongo import MongoClient

from bot.ops.clock import SystemClock
from bot.standins.claude.answers import Answer, Json, say
from bot.standins.claude.faults import Fault
from bot.standins.claude.journal import Exchange
from bot.standins.claude.rule_model import answer as rule_model_answer
from bot.standins.claude.script import is_summary, last_words
from bot.standins.claude.server import ClaudeServer
from bot.standins.claude.stream import Wait
from bot.standins.telegram.people import Person
from bot.standins.telegram.server import TelegramServer
from tests.process.chaos.fleet import RECHECK, Balancer, Replica

ASKED = re.compile(r"\bq(\d+)x(\d+)\.")
LONG_EVERY = 10
PARTS, PART_LENGTH = 3, 3000
LEASE = 3


@dataclass(frozen=True, slots=True)
class Said:
    """Something a person sent: a numbered line, or a command (number 0)."""

    person: int
    number: int
    update_id: int
    text: str


@dataclass(frozen=True, slots=True)
class Blow:
    """Something that was done to a process, and when; a freeze lasts until `end`."""

    kind: str
    at: datetime
    end: datetime


def parrot(body: Json) -> Answer:
    """Names every line it was asked about."""
    if is_summary(body):
        return rule_model_answer(body)
    words = last_words(body)
    asked = ASKED.findall(words)
    told = " ".join(f"a{person}x{number}." for person, number in asked)
    if any(int(number) % LONG_EVERY == 0 for _, number in asked):
        return say(
            "\n\n".join(
                f"{told} part {part} {'and so on ' * (PART_LENGTH // 10)}" for part in range(PARTS)
            )
        )
    return say(told or f"You said: {words[-80:]}")


def thinks(seconds: float) -> Fault:
    """The model is silent at first, then answers."""
    return Fault("thinks", twist=lambda answer: answer, bend=lambda steps: [Wait(seconds), *steps])


@dataclass
class Environment:
    """Stand-ins, replicas, people, and a record of what people said and what was done to
    processes.
    """

    telegram: TelegramServer
    claude: ClaudeServer
    database: Any
    environ: dict[str, str]
    folder: Path
    dice: random.Random
    replicas: list[Replica] = field(default_factory=list)
    said: list[Said] = field(default_factory=list)
    blows: list[Blow] = field(default_factory=list)
    numbers: dict[int, int] = field(default_factory=dict)

    # ------------------------------------------------------------------------------------ processes

    async def start(self, count: int = 1, *, mutant: str = "", **changes: str) -> list[Replica]:
        """More replicas, ready to answer; with `mutant`, of a bot with that fault planted."""
        module, arguments = (
            ("tests.process.chaos.mutants", (mutant, "run")) if mutant else ("bot", ("run",))
        )
        first = len(self.replicas)
        fresh = [
            Replica(
                self.environ | changes, self.folder / f"{first + number}.log", module, arguments
            )
            for number in range(count)
        ]
        self.replicas += fresh
        for replica in fresh:
            await replica.start()
        for replica in fresh:
            await replica.wait()
        return fresh

    async def kill(self, replica: Replica) -> None:
        self.blows.append(Blow("kill", now(), now()))
        await replica.kill()

    def freeze(self, replica: Replica) -> None:
        replica.freeze()
        self.blows.append(Blow("freeze", now(), datetime.max.replace(tzinfo=UTC)))

    def thaw(self, replica: Replica) -> None:
        replica.thaw()
        last = max(
            place
            for place, blow in enumerate(self.blows)
            if blow.kind == "freeze" and blow.end > now()
        )
        self.blows[last] = Blow("freeze", self.blows[last].at, now())

    # --------------------------------------------------------------------------------------- people

    def person(self, number: int) -> Person:
        return self.telegram.person(number, f"P{number}")

    def line(self, person: Person) -> Said:
        """The person's next numbered line."""
        number = self.numbers[person.id] = self.numbers.get(person.id, 0) + 1
        return self._says(person, number, f"q{person.id}x{number}. please")

    def command(self, person: Person, text: str) -> Said:
        return self._says(person, 0, text)

    def _says(self, person: Person, number: int, text: str) -> Said:
        said = Said(person.id, number, self.telegram.state.updates.next_id, text)
        person.says(text)
        self.said.append(said)
        return said

    def again(self, update: Json) -> None:
        """Telegram hands over an update it has handed over before."""
        updates = self.telegram.state.updates
        following = updates.next_id
        self.telegram.deliver(dict(update))
        updates.next_id = following

    # -------------------------------------------------------------------------------------- waiting

    async def until(self, holds: Callable[[], Any], seconds: float = 20) -> Any:
        """Wait for something in the database or a log, which have no event to wait for."""
        try:
            async with asyncio.timeout(seconds):
                while not (value := await asyncio.to_thread(holds)):  # noqa: ASYNC110 - as the docstring says
                    await asyncio.sleep(RECHECK)
        except TimeoutError:
            logs = "\n".join(
                f"--- {replica.log.name}\n{replica.text[-3000:]}" for replica in self.replicas
            )
            raise AssertionError(
                f"not within {seconds} s\n{self.telegram.journal.tail()}\n{logs}"
            ) from None
        return value

    async def quiet(self, seconds: float = 60) -> None:
        """Until everything that was said has met its fate."""

        def nothing_waits() -> bool:
            if self.telegram.state.updates.pending or self.database["inbox"].count_documents(
                {"state": "queued"}
            ):
                return False
            stored = self.database["inbox"].count_documents({})
            return bool(stored) and self.database["lanes"].count_documents({"ready": True}) == 0

        await self.until(nothing_waits, seconds)

    @property
    def questions(self) -> list[Exchange]:
        """What the model was asked, without summaries."""
        asked = (
            exchange for exchange in self.claude.journal.exchanges if exchange.body.get("messages")
        )
        return [exchange for exchange in asked if not is_summary(exchange.body)]

    async def begun(self, count: int = 1) -> None:
        """Until the model was asked so often."""
        await self.telegram.until(lambda: len(self.questions) >= count, 20)

    async def answered(self, person: Person, words: str, seconds: float = 20) -> None:
        """Until the person reads these words."""
        await self.telegram.until(lambda: words in person.chat.text, seconds)


def now() -> datetime:
    return datetime.now(UTC)


@asynccontextmanager
async def opened(
    uri: str,
    client: MongoClient[Any],
    database: str,
    folder: Path,
    *,
    seed: int = 1,
    **changes: str,
) -> AsyncIterator[Environment]:
    """A town without a replica yet, for long polling."""
    clock = SystemClock()
    async with (
        TelegramServer(clock=clock, pace=0.3) as telegram,
        ClaudeServer(clock=clock, model=parrot) as claude,
        AsyncExitStack() as stack,
    ):
        environ = {
            "TELEGRAM_BOT_TOKEN": telegram.token,
            "TELEGRAM_API_URL": telegram.url,
            "ANTHROPIC_API_KEY": claude.key,
            "ANTHROPIC_BASE_URL": claude.url,
            "MONGODB_URI": uri,
            "MONGODB_DATABASE": database,
            # else the library warns at each 429, and warnings are errors here
            "PTB_TIMEDELTA": "true",
            "LEASE_SECONDS": str(LEASE),
            "GRACE_SECONDS": "5",
            "MESSAGES_PER_MINUTE": "10000",
            "CONTEXT_TRIGGER_MESSAGES": "8",
            "CONTEXT_KEEP_MESSAGES": "4",
        } | changes
        town = Environment(telegram, claude, client[database], environ, folder, random.Random(seed))
        stack.push_async_callback(_end, town)
        yield town


@asynccontextmanager
async def hooked(town: Environment, **ways: float) -> AsyncIterator[Environment]:
    """The town, where Telegram delivers by a webhook to any replica."""
    balancer = Balancer(town.replicas, town.dice, **ways)
    async with balancer.open() as url:
        town.environ |= {
            "WEBHOOK_URL": url,
            "WEBHOOK_SECRET": "a-secret-of-the-tests-as-long-as-asked",
        }
        try:
            yield town
        finally:
            await _end(town)


@asynccontextmanager
async def fail_point(
    town: Environment, collection: str, *commands: str, mode: Any = "alwaysOn", **data: Any
) -> AsyncIterator[None]:
    """The server treats these commands on one collection of this town's database in another way.

    It ends only when no command is held up any more, and the stand-ins must go on meanwhile.
    """
    server = town.database.client.admin
    where = {"failCommands": list(commands), "namespace": f"{town.database.name}.{collection}"}
    await asyncio.to_thread(
        server.command, "configureFailPoint", "failCommand", mode=mode, data=where | data
    )
    try:
        yield
    finally:
        await asyncio.to_thread(server.command, "configureFailPoint", "failCommand", mode="off")


async def _end(town: Environment) -> None:
    for replica in town.replicas:
        if replica.frozen:
            replica.thaw()
        await replica.kill()
