"""The real command with one fault planted: `python -m tests.process.chaos.mutants NAME run`.

Each fault is what a careless change would do to one promise of the protocol. The rest of the program is as it is.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from bot import cli
from bot.compaction import Compactor, covered
from bot.session import CompactionState, Session
from bot.store.inbox import NEVER, MongoInbox, MongoRecord
from bot.store.sessions import MongoSessions
from bot.telegram.receiver import Receiver


def no_dedupe() -> None:
    """An update that comes again waits again."""

    async def insert(self: Any, entries: Any) -> bool:
        if not await plain(self, entries):
            for entry in entries:
                await self.entries.update_one({"_id": entry.id}, {"$set": {"state": "queued", "update": entry.update}})
        return True

    plain = MongoInbox._insert
    MongoInbox._insert = insert  # type: ignore[method-assign]
    Session.knows = lambda _self, _update_id: False  # type: ignore[method-assign]


def forgets_what_it_committed() -> None:
    """A run that follows a crash does not look for the turn of the run before."""
    Session.knows = lambda _self, _update_id: False  # type: ignore[method-assign]


def no_revision() -> None:
    """A commit does not mind what happened since the load."""

    async def commit(self: Any, owner: Any, where: Any, session: Any, turn: Any) -> None:
        await plain(self, owner, {name: value for name, value in where.items() if name != "revision"}, session, turn)

    plain = MongoSessions._commit
    MongoSessions._commit = commit  # type: ignore[method-assign]


def acknowledges_before_it_stores() -> None:
    """Telegram may forget an update while it is still in this process's hands."""

    async def receive(self: Any, *updates: Any) -> None:
        async def later() -> None:
            await asyncio.sleep(2)
            await plain(self, *updates)

        tasks.add(asyncio.create_task(later()))

    tasks: set[asyncio.Task[None]] = set()
    plain = Receiver.receive
    Receiver.receive = receive  # type: ignore[method-assign]


def no_fence() -> None:
    """A process that lost its lease while it was frozen goes on as if nothing had been."""

    async def push(self: Any, turn: int, _where: Any, field: str, value: Any) -> bool:
        await self._inbox.entries.update_one({"_id": turn}, {"$push": {field: value}})
        return True

    async def keep(_self: Any, _claims: Any) -> set[str]:
        return set()

    MongoInbox.holds = lambda _self, _claim: True  # type: ignore[method-assign]
    MongoInbox.keep = keep  # type: ignore[method-assign, assignment]
    MongoRecord._push = push  # type: ignore[method-assign]


def no_lease() -> None:
    """Whoever finds a lane takes it, whoever else may be at it."""
    plain = MongoInbox.claim

    async def claim(self: Any, busy: Any) -> Any:
        await self._lanes.update_many({"ready": True, "_id": {"$nin": list(busy)}}, {"$set": {"leaseUntil": NEVER}})
        return await plain(self, busy)

    MongoInbox.claim = claim  # type: ignore[method-assign]


def removes_before_it_archives() -> None:
    """Compaction takes messages out of the Session before they are anywhere else."""

    async def compact(self: Any, owner: Any, session: Any) -> bool:
        old = covered(session.messages, self._triggers)
        if not old:
            return False
        summary = await self._summarise(session, old)
        done = await self._sessions.replace_summary(owner, session, summary, CompactionState())
        await self._archive.add(owner, session.id, old)
        return bool(done)

    Compactor.compact = compact  # type: ignore[method-assign]


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
    )
}

if __name__ == "__main__":
    _, name, *arguments = sys.argv
    FAULTS[name]()
    cli.main(arguments)
