"""Where dialogues live: the Session store, and the archive of what compaction took out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from bot.owner import Owner, Place
from bot.session import Alive, ClosedTurn, CompactionState, Lifetime, Message, Session, Summary
from bot.usage import Usage

NOTHING_USED = Usage()
NewId = Callable[[], str]
"""A factory of Session ids: 32 random hex digits; never derived, never taken from input."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A message that was searched for, and the Session it was said in."""

    session_id: str
    message: Message


class SessionStore(Protocol):
    """Where Sessions live.

    A plain turn costs one `load` and one `commit`, each a single database command.
    """

    async def load(
        self, owner: Owner, place: Place, *, at: datetime, now: datetime, lifetime: Lifetime
    ) -> Session | None:
        """The active Session if a message sent `at` still belongs to it, touched so that it cannot
        expire mid-turn.
        """

    async def inspect(
        self, owner: Owner, place: Place, *, unless_over: Alive | None = None
    ) -> Session | None:
        """The active Session as it stands: looking at it is no activity and keeps nothing alive.

        Whoever shows anything of it to somebody passes `unless_over`; without it, age does not
        matter.
        """

    async def create(self, owner: Owner, session: Session) -> None:
        """Insert a new active Session. Raises AlreadyActive when another one got there first."""

    async def expire(
        self, owner: Owner, place: Place, *, at: datetime, now: datetime, lifetime: Lifetime
    ) -> Session | None:
        """Close the active Session if a message sent `at` comes too late for it; the closed one, or
        None.
        """

    async def close(self, owner: Owner, place: Place) -> Session | None:
        """Close the active Session whatever its age; a turn still running in it can no longer
        commit.
        """

    async def erase(self, owner: Owner, place: Place) -> str | None:
        """Delete the active Session whatever its age; its id, so that its archive can follow."""

    async def commit(self, owner: Owner, session: Session, turn: ClosedTurn) -> None:
        """Write the whole turn, compare-and-set on `session.revision`, and let `session` absorb
        it.

        Where the turn replaces the last one, `session` is what it was before that
        (`Session.before`), and the old one is taken out by the same update; a compaction meanwhile
        makes it miss. Never an upsert. Raises SessionGone when the Session was closed, erased or
        moved on meanwhile (the session is then unchanged), SessionTooLarge when the turn would push
        the document over the cap.
        """

    async def replace_summary(
        self,
        owner: Owner,
        session: Session,
        summary: Summary,
        state: CompactionState,
        usage: Usage = NOTHING_USED,
    ) -> bool:
        """Put `summary` in place of the messages it covers, in one update, if the Session still has
        `session.epoch`.

        `usage` is what the summary cost, added to the Session's.

        Does not move the revision, so it never costs a running turn its commit. False: the Session
        is gone, or another compactor won.
        """

    async def follow(self, owner: Owner, place: Place, previous: str) -> bool:
        """Let the model be told of the dialogue before, in the active Session while it is empty.

        False where it is not.
        """

    async def postpone(self, owner: Owner, session: Session, state: CompactionState) -> None:
        """Record a failed try of compaction; nothing else changes."""

    async def find_by_update_ids(
        self, owner: Owner, update_ids: Sequence[int], *, unless_over: Alive | None = None
    ) -> Session | None:
        """The Session of any status that has committed one of these updates.

        Recovery asks whatever its age: an answer that was committed is still to be delivered.
        """

    async def exists(self, owner: Owner, session_id: str) -> bool:
        """Whether this Owner has a Session of that id, of any status.

        A foreign id equals an unknown one.
        """

    async def seen_from(self, owner: Owner, place: Place, unless_over: Alive) -> Sequence[str]:
        """The ids of the Sessions that may be read here and are not over.

        In private these are all of the Owner's, in a group that Place's.
        """

    async def search(
        self, owner: Owner, session_ids: Sequence[str], wanted: Sequence[str], maximum: int
    ) -> Sequence[Hit]:
        """The latest `maximum` messages of these Sessions that contain all `wanted` words or parts
        of words.
        """


class Archive(Protocol):
    """Messages that compaction took out of a Session. Written before the Session forgets them."""

    async def add(self, owner: Owner, session_id: str, messages: Sequence[Message]) -> None:
        """Store the messages; those already stored (same Session and seq) are left as they are."""

    async def of(self, owner: Owner, session_id: str) -> Sequence[Message]:
        """All archived messages of one Session, in order."""

    async def search(
        self, owner: Owner, session_ids: Sequence[str], wanted: Sequence[str], maximum: int
    ) -> Sequence[Hit]:
        """The latest `maximum` archived messages of these Sessions that contain all `wanted` words
        or parts of words.
        """

    async def erase(self, owner: Owner, session_id: str) -> None:
        """Delete what was archived of one Session."""
