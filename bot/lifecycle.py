"""How a Session begins and ends: by itself, and when its Owner says so with `/new` or `/reset`.

A question that finds no active Session, or comes too late for it, begins one. Both commands leave
the Place with a fresh, empty Session under a new id, so that the next message cannot find the old
one by any search. The old Session is ended before the new one is made: a turn that still runs in it
can then no longer commit, and a crash in between heals itself, because the next message makes the
Session that is missing. Neither asks the model.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from datetime import datetime

from bot.agent.previous_dialogue import describe_previous
from bot.errors import AlreadyActive, SessionGone, StoreUnavailable, TooLate
from bot.owner import Owner, Place
from bot.ports import Archive, Clock, CountTokens, NewId, Question, Reply, SessionStore
from bot.session import Lifetime, Session

MAX_OPENINGS = 5
"""Tries to load or begin the active Session while others begin one at the same moment."""


@dataclass(frozen=True, slots=True)
class ActiveSessions:
    """The active Session of each Place, for a question sent there `at` some moment."""

    sessions: SessionStore
    clock: Clock
    new_id: NewId
    lifetime: Lifetime
    recall: CountTokens | None = None
    """Counts what the model is told of a dialogue that expired; None: it is told nothing."""

    async def open(self, owner: Owner, place: Place, question: Question, reply: Reply) -> Session:
        """The active Session, or a new one where none is left or the question comes too late for
        it. Raises TooLate for the correction of another question.
        """
        for _ in range(MAX_OPENINGS):
            if (found := await self.load(owner, place, question.at)) is not None:
                return found
            if question.replaces is not None:
                raise TooLate
            with contextlib.suppress(AlreadyActive):  # another replica was faster: load that
                return await self._begin(owner, place, question.at, reply)
        raise StoreUnavailable("the active Session could neither be loaded nor begun")

    async def load(self, owner: Owner, place: Place, at: datetime) -> Session | None:
        """The active Session; None: there is none, or `at` is too late for it."""
        now = self.latest(at)
        return await self.sessions.load(owner, place, at=at, now=now, lifetime=self.lifetime)

    async def reload(self, owner: Owner, session: Session, at: datetime) -> Session:
        """The same Session as it is stored now. Raises SessionGone where a turn has moved it on."""
        found = await self.load(owner, session.place, at)
        if found is None or (found.id, found.revision) != (session.id, session.revision):
            raise SessionGone
        return found

    async def _begin(self, owner: Owner, place: Place, at: datetime, reply: Reply) -> Session:
        now = self.latest(at)
        expired = await self.sessions.expire(owner, place, at=at, now=now, lifetime=self.lifetime)
        session = Session.begin(self.new_id(), owner, place, now)
        session.previous = await self._previous(expired, at, now)
        await self.sessions.create(owner, session)
        if expired is not None and not expired.is_empty:
            await reply.notice("session_expired")
        return session

    async def _previous(self, expired: Session | None, at: datetime, now: datetime) -> str:
        """What is told of the Session that has expired; nothing once it is over for good."""
        if self.recall is None or expired is None or expired.is_empty:
            return ""
        if expired.is_over(at, now, self.lifetime):
            return ""
        return await describe_previous(expired, self.recall)

    def latest(self, at: datetime) -> datetime:
        """The later of the host's time and Telegram's: the next question's date is compared with
        it.
        """
        return max(self.clock.now(), at)


@dataclass(frozen=True, slots=True)
class Lifecycle:
    """Begins and ends Sessions on their Owner's word."""

    sessions: SessionStore
    archive: Archive
    clock: Clock
    new_id: NewId

    async def new(self, owner: Owner, place: Place) -> Session | None:
        """Close the active Session, keeping it for later, and begin another; the closed one."""
        closed = await self.sessions.close(owner, place)
        await self._begin(owner, place)
        return closed

    async def take_along(
        self, owner: Owner, place: Place, closed: Session, count: CountTokens
    ) -> bool:
        """Tell the model in the new Session what the closed one was about.

        False once something was said in the new one.
        """
        return await self.sessions.follow(owner, place, await describe_previous(closed, count))

    async def reset(self, owner: Owner, place: Place) -> None:
        """Erase the active Session with all that was archived of it, and begin another."""
        # The Session first: while it lives, a compactor may still add rows to its archive.
        erased = await self.sessions.erase(owner, place)
        if erased is not None:
            await self.archive.erase(owner, erased)
        await self._begin(owner, place)

    async def _begin(self, owner: Owner, place: Place) -> None:
        # Whoever was faster made an equally fresh Session.
        with contextlib.suppress(AlreadyActive):
            await self.sessions.create(
                owner, Session.begin(self.new_id(), owner, place, self.clock.now())
            )
