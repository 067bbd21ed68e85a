"""How a Session begins and ends: by itself, and when its Owner says so with `/new` or `/reset`.

A question that finds no active Session, or comes too late for it, begins one. Both commands leave
the Place with a fresh, empty Session under a new id, so that the next message cannot find the old
one by any search. The old Session is ended before the new one is made: a turn that still runs in it
can then no longer commit, and a crash in between heals itself, because the next message makes the
Session that is missing. Neither asks the model.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from bot.agent.answers import finish_known
from bot.agent.attachments import files_of
from bot.agent.previous_dialogue import describe_previous
from bot.errors import AlreadyActive, SessionGone, StoreUnavailable, TooLate
from bot.owner import Owner, Place
from bot.ports import Archive, Clock, CountTokens, NewId, Question, Reply, SessionStore
from bot.session import ClosedTurn, Lifetime, Session

MAX_OPENINGS = 5
"""Tries to load or begin the active Session while others begin one at the same moment."""


@dataclass(frozen=True, slots=True)
class ActiveSession:
    """The active Session of an Owner in a Place, for a question sent there `at` some moment."""

    owner: Owner
    place: Place
    sessions: SessionStore
    clock: Clock
    new_id: NewId
    lifetime: Lifetime
    recall: CountTokens | None = None
    """Counts what the model is told of a dialogue that expired; None: it is told nothing."""

    async def open(self, question: Question, reply: Reply) -> Session:
        """The active Session, or a new one where none is left or the question comes too late for
        it. Raises TooLate for the correction of another question.
        """
        for _ in range(MAX_OPENINGS):
            if (found := await self.load(question.at)) is not None:
                return found
            if question.replaces is not None:
                raise TooLate
            with contextlib.suppress(AlreadyActive):  # another replica was faster: load that
                return await self._begin(question.at, reply)
        raise StoreUnavailable("the active Session could neither be loaded nor begun")

    async def load(self, at: datetime) -> Session | None:
        """The active Session; None: there is none, or `at` is too late for it."""
        return await self.sessions.load(
            self.owner, self.place, at=at, now=self.latest(at), lifetime=self.lifetime
        )

    async def find_answered(self, update_ids: Sequence[int]) -> Session | None:
        """The Session of any Place and status that has answered one of these updates."""
        return await self.sessions.find_by_update_ids(self.owner, update_ids)

    async def unanswered(self, question: Question, reply: Reply) -> Question | None:
        """What of the question no Session has answered; of the rest the delivery is finished.

        Where an earlier run died, its turn may be in any Session. Files are opened only for what is
        not answered yet: a second time they may be gone, and the answer with them.
        """
        if not question.is_retry and not files_of(question.content):
            return question
        answered = await self.find_answered(question.update_ids)
        return question if answered is None else await finish_known(answered, question, reply)

    async def commit(self, session: Session, closed: ClosedTurn) -> None:
        """Write the whole turn. Raises SessionGone, SessionTooLarge."""
        await self.sessions.commit(self.owner, session, closed)

    async def reload(self, session: Session, at: datetime) -> Session:
        """The same Session as it is stored now. Raises SessionGone where a turn has moved it on."""
        found = await self.load(at)
        if found is None or (found.id, found.revision) != (session.id, session.revision):
            raise SessionGone
        return found

    async def _begin(self, at: datetime, reply: Reply) -> Session:
        now = self.latest(at)
        expired = await self.sessions.expire(
            self.owner, self.place, at=at, now=now, lifetime=self.lifetime
        )
        session = Session.begin(self.new_id(), self.owner, self.place, now)
        session.previous = await self._previous(expired, at, now)
        await self.sessions.create(self.owner, session)
        if expired is not None and not expired.is_empty:
            is_idle = at - expired.last_active > self.lifetime.idle
            await reply.notice("session_expired" if is_idle else "session_expired_age")
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
