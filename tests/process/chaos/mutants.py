"""The real command with one fault planted: `python -m tests.process.chaos.mutants NAME run`.

Each fault is what a careless change would do to one promise of the protocol. The rest of the
program is as it is.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from typing import Any

from bot import cli
from bot.compaction import Compactor
from bot.session import Session
from bot.store.batches import next_batch
from bot.store.mongo import inbox, queries
from bot.store.mongo.arrivals import Arrivals
from bot.store.mongo.inbox import MongoInbox
from bot.store.mongo.lane_leases import LaneLeases
from bot.store.mongo.queries import NEVER
from bot.store.mongo.turn_records import MongoRecord
from bot.telegram.inbound.receiver import Receiver
from bot.turn import TurnRunner


def _plant(place: Any, name: str, fault: Any) -> None:
    setattr(place, name, fault)


def no_dedupe() -> None:
    """An update that comes again waits again."""

    async def insert(self: Any, entries: Any) -> bool:
        if not await plain(self, entries):
            for entry in entries:
                again = {"state": "queued", "update": dict(entry.update)}
                await self._entries.update_one({"_id": entry.id}, {"$set": again})
        return True

    plain = Arrivals._insert
    _plant(Arrivals, "_insert", insert)
    _plant(Session, "knows", lambda _self, _update_id: False)


def forgets_what_it_committed() -> None:
    """A run that follows a crash does not look for the turn of the run before."""
    _plant(Session, "knows", lambda _self, _update_id: False)


def no_revision() -> None:
    """A commit does not mind what happened since the load."""

    def commit(owner: Any, session: Any, turn: Any) -> Any:
        where, update = plain(owner, session, turn)
        return {name: value for name, value in where.items() if name != "revision"}, update

    plain = queries.commit
    _plant(queries, "commit", commit)


def acknowledges_before_it_stores() -> None:
    """Telegram may forget an update while it is still in this process's hands."""

    async def receive(self: Any, *updates: Any) -> None:
        async def later() -> None:
            await asyncio.sleep(2)
            await plain(self, *updates)

        tasks.add(asyncio.create_task(later()))

    tasks: set[asyncio.Task[None]] = set()
    plain = Receiver.receive
    _plant(Receiver, "receive", receive)


def no_fence() -> None:
    """A process that lost its lease while it was frozen goes on as if nothing had been."""

    async def write(self: Any, turn: int, _where: Any, update: Any) -> bool:
        await self._entries.update_one({"_id": turn}, update)
        return True

    async def keep(_self: Any, _claims: Any) -> set[str]:
        return set()

    _plant(LaneLeases, "is_valid", lambda _self, _claim: True)
    _plant(MongoInbox, "keep", keep)
    _plant(MongoRecord, "_write", write)


def no_lease() -> None:
    """Whoever finds a lane takes it, whoever else may be at it, and does not mind either."""
    no_fence()
    plain = MongoInbox.claim

    async def claim(self: Any, busy: Any, full_shares: Any = ()) -> Any:
        free = {"leaseBy": None, "leaseUntil": NEVER, "tries": 0}
        await self._lanes.update_many({"ready": True, "_id": {"$nin": list(busy)}}, {"$set": free})
        return await plain(self, busy, full_shares)

    _plant(MongoInbox, "claim", claim)


def removes_before_it_archives() -> None:
    """Compaction takes messages out of the Session before they are anywhere else."""

    async def write(self: Any, owner: Any, session: Any, gone: Any, made: Any) -> bool:
        await self._sessions.replace_summary(owner, session, made.summary, made.state, made.usage)
        await self._archive.add(owner, session.id, gone)
        return True

    _plant(Compactor, "_write", write)


def newest_first() -> None:
    """What was said last is answered first."""
    _plant(
        inbox, "next_batch", lambda claim, waiting, now: next_batch(claim, list(waiting)[-1:], now)
    )


def dies_of_poison() -> None:
    """One message ends the process, whoever handles it."""

    async def answer(
        self: Any, owner: Any, place: Any, question: Any, reply: Any, run: Any
    ) -> None:
        if any(block.get("text") == "poison" for part in question.parts for block in part.content):
            sys.stderr.write("Killed by poison\n")
            sys.stderr.flush()
            os.kill(os.getpid(), signal.SIGKILL)
        await plain(self, owner, place, question, reply, run)

    plain = TurnRunner.answer
    _plant(TurnRunner, "answer", answer)


FAULTS = {
    fault.__name__: fault
    for fault in (
        no_dedupe,
        forgets_what_it_committed,
        no_revision,
        acknowledges_before_it_stores,
        no_fence,
        no_lease,
        removes_before_it_archives,
        newest_first,
        dies_of_poison,
    )
}

if __name__ == "__main__":
    _, name, *arguments = sys.argv
    FAULTS[name]()
    cli.main(arguments)
