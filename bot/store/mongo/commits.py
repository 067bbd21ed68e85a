"""Commits a turn to a Session in MongoDB, and finds out what became of it where the server did not
say.

A commit is compare-and-set on `revision` and never an upsert, so a Session that was closed, erased
or has expired cannot come back. Its outcome is unknown after a lost connection: what is stored is
then read and decides, before the same write is tried again. A cancelled commit runs to its end,
since stopping it half-way would only hide what became of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass

from pymongo.asynchronous.collection import AsyncCollection

from bot.errors import SessionGone, StoreRefused, StoreUnavailable, Uncertain
from bot.owner import Owner
from bot.session import ClosedTurn, Session
from bot.store import turn_documents
from bot.store.documents import Document
from bot.store.filters import owned
from bot.store.mongo import queries
from bot.store.mongo.driver_gate import DriverGate, within


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How long a commit may take in all, and the pauses before each look at what became of it."""

    seconds: float = 30.0
    pauses: Sequence[float] = (0.1, 0.2, 0.4, 0.8, 1.6, 2.0)


COMMIT_RETRIES = RetryPolicy()


@dataclass(frozen=True, slots=True)
class Commits:
    """The commits of a running bot."""

    sessions: AsyncCollection[Document]
    calls: DriverGate
    retries: RetryPolicy

    async def commit(self, owner: Owner, session: Session, turn: ClosedTurn) -> None:
        """Write the turn and let `session` absorb it. Raises SessionGone, SessionTooLarge."""
        turn = turn_documents.as_stored(turn)
        turn_documents.require_room(session, turn)
        await _to_the_end(self._commit(owner, session, turn))

    async def _commit(self, owner: Owner, session: Session, turn: ClosedTurn) -> None:
        async with within(self.retries.seconds):
            try:
                if not await self._update(owner, session, turn):
                    raise SessionGone
            except Uncertain:
                await self._find_out(owner, session, turn)
        session.absorb(turn)

    async def _find_out(self, owner: Owner, session: Session, turn: ClosedTurn) -> None:
        """Return once the turn is known to be stored.

        Session ids are random, so they spread the replicas' tries.
        """
        failure = StoreUnavailable("MongoDB did not say what became of a turn.")
        for pause in self.retries.pauses:
            await asyncio.sleep(pause * (0.5 + int(session.id[:2], 16) / 256))
            try:
                if await self._has(owner, session, turn) or await self._update(
                    owner, session, turn
                ):
                    return
            except StoreRefused as refused:
                failure = refused
            except StoreUnavailable:
                continue
        raise failure

    async def _update(self, owner: Owner, session: Session, turn: ClosedTurn) -> bool:
        where, update = queries.commit(owner, session, turn)
        async with self.calls:
            return (await self.sessions.update_one(where, update)).matched_count == 1

    async def _has(self, owner: Owner, session: Session, turn: ClosedTurn) -> bool:
        async with self.calls:
            found = await self.sessions.find_one(owned(owner, _id=session.id))
        if found and turn_documents.contains_turn(found, turn):
            return True
        if not found or found["status"] != "active" or found["revision"] != session.revision:
            raise SessionGone
        return False


async def _to_the_end(work: Coroutine[object, object, None]) -> None:
    """Await `work`; a cancellation is passed on only once `work` has ended."""
    task = asyncio.ensure_future(work)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task})
        task.exception()
        raise
