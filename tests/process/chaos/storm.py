"""A seeded storm: people write, and meanwhile processes are killed and frozen, the primary falls,
calls go wrong.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Any

from bot.standins.claude.faults import Fault as ModelFault
from bot.standins.telegram.faults import Fault
from tests.process.chaos.fleet import Replica
from tests.process.chaos.replica_set import ReplicaSet
from tests.process.chaos.town import LEASE, Blow, Environment, now
from tests.process.chaos.verdict import Verdict

FIRST_PERSON = 5001


@dataclass(frozen=True, slots=True)
class Weather:
    """How much of everything. Counts are of the whole storm, seconds are pauses."""

    people: int
    messages: int
    kills: int
    freezes: int
    primaries: int = 0
    pause: float = 2.0
    """A person's longest pause between two lines."""
    calm: float = 1.0
    """Between two blows."""
    commands: float = 0.02
    faults: int = 6
    again: float = 0.0
    """How often Telegram hands over once more what was taken already (for polling; a webhook's
    balancer does it).
    """


@dataclass
class Storm:
    """One storm over one town."""

    town: Environment
    mongo: ReplicaSet | None
    weather: Weather
    dice: random.Random
    done: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    _talking: bool = True
    _restarts: set[asyncio.Task[None]] = field(default_factory=set)

    async def run(self, patience: float = 120) -> None:
        """Let it pass, then wait until everything that was said has met its fate."""
        begun = time.monotonic()
        async with asyncio.TaskGroup() as group:
            blows = [group.create_task(self._strike()), group.create_task(self._fault())]
            people = [
                group.create_task(self._talk(number)) for number in range(self.weather.people)
            ]
            await asyncio.gather(*people)
            await asyncio.gather(*blows)
        await asyncio.gather(*self._restarts)
        await self.town.quiet(patience)
        self.seconds = time.monotonic() - begun

    # --------------------------------------------------------------------------------------- people

    async def _talk(self, number: int) -> None:
        person = self.town.person(FIRST_PERSON + number)
        dice = random.Random(f"{number} {self.dice.random()}")
        left = self.weather.messages // self.weather.people
        while left > 0:
            for _ in range(min(left, dice.choice((1, 1, 1, 2, 4)))):
                self.town.line(person)
                left -= 1
                self._repeat(dice)
            if dice.random() < self.weather.commands:
                self.town.command(person, dice.choice(("/new", "/reset", "/stop")))
                self.done["commands"] += 1
            await asyncio.sleep(dice.random() * self.weather.pause)

    def _repeat(self, dice: random.Random) -> None:
        if dice.random() < self.weather.again:
            update = self.town.telegram.state.updates.pending[-1].update
            task = asyncio.create_task(self._again(update, dice.random() * 4))
            self._restarts.add(task)

    async def _again(self, update: dict[str, object], seconds: float) -> None:
        await asyncio.sleep(seconds)
        self.town.again(update)
        self.done["again"] += 1

    # ---------------------------------------------------------------------------------------- blows

    async def _strike(self) -> None:
        """Kill and freeze, one after the other, never the last one that serves."""
        blows = ["kill"] * self.weather.kills + ["freeze"] * self.weather.freezes
        self.dice.shuffle(blows)
        falls = _spread(self.weather.primaries, len(blows))
        for number, blow in enumerate(blows):
            await asyncio.sleep(self.weather.calm * (0.5 + self.dice.random()))
            victim = await self._victim()
            if blow == "kill":
                await self.town.kill(victim)
                self.done["killed"] += 1
                self._later(self._restart(victim))
            else:
                self.town.freeze(victim)
                self.done["frozen"] += 1
                self._later(self._wake(victim, LEASE * (1.1 + self.dice.random() / 2)))
            if self.mongo and number in falls:
                await self._fell(self.mongo)

    async def _victim(self) -> Replica:
        async with asyncio.timeout(60):
            while (  # noqa: ASYNC110
                len(serving := [replica for replica in self.town.replicas if replica.serving]) < 2
            ):
                await asyncio.sleep(0.1)
        return self.dice.choice(serving)

    def _later(self, work: Coroutine[Any, Any, None]) -> None:
        self._restarts.add(asyncio.create_task(work))

    async def _restart(self, victim: Replica) -> None:
        await victim.start()
        await victim.wait()

    async def _wake(self, victim: Replica, seconds: float) -> None:
        await asyncio.sleep(seconds)
        self.town.thaw(victim)

    async def _fell(self, mongo: ReplicaSet) -> None:
        node = await self.town.until(mongo.primary)
        at = now()
        mongo.kill(node)
        self.done["primaries"] += 1
        await asyncio.sleep(3)
        mongo.revive(node)
        self.town.blows.append(Blow("primary", at, now()))

    async def _fault(self) -> None:
        """A few calls go wrong: Telegram asks to wait or breaks off after the deed, the model is
        overloaded.
        """
        kinds = (Fault.too_many(1), Fault.too_many(4), Fault.dropped("after"))
        for _ in range(self.weather.faults):
            await asyncio.sleep(self.dice.random() * 2)
            self.town.telegram.faults.next("sendMessage", self.dice.choice(kinds))
            self.town.claude.faults.next(ModelFault.overloaded())
            self.done["faults"] += 2


def _spread(falls: int, blows: int) -> set[int]:
    """After which of the blows the primary falls."""
    return {blows // (falls + 1) * (place + 1) for place in range(falls)}


def table(storm: Storm, verdict: Verdict) -> str:
    """The figures, a line each."""
    rows = {
        "sent": sum(verdict.fates.values()),
        **{
            name: verdict.fates[name]
            for name in ("answered", "declined", "interrupted", "parked", "failed")
        },
        "uncertain": verdict.fates["uncertain"],
        "uncertain sends": verdict.uncertain,
        "lost": len(verdict.faults["lost"]),
        "out of order": len(verdict.faults["out of order"]),
        "committed turns given again": len(verdict.faults["given again"]),
        "of a request frozen half-way": verdict.woken,
        "duplicate sends": verdict.duplicates,
        "commands": storm.done["commands"],
        "killed (-9)": storm.done["killed"],
        "frozen past the lease": storm.done["frozen"],
        "primary kills": storm.done["primaries"],
        "archived rows without a Session": verdict.orphans,
        "seconds": round(storm.seconds, 1),
    }
    return "\n".join(f"{name:<34}{value:>8}" for name, value in rows.items())
