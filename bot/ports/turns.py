"""What a turn has to answer, the way back to who asked, and the only source of time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Protocol

from bot.content import Block
from bot.errors import TooLate
from bot.owner import Lane
from bot.session import Session


class Clock(Protocol):
    """The only source of time."""

    def now(self) -> datetime:
        """The present moment, timezone-aware, UTC."""


@dataclass(frozen=True, slots=True)
class Part:
    """One message of a question: content blocks, and when its sender sent it (Telegram's own
    date).

    Its text is clean and never blank: what came in was cleaned as it arrived.
    """

    update_id: int
    content: tuple[Block, ...]
    at: datetime


@dataclass(frozen=True, slots=True)
class Correction:
    """Which question was corrected: the turn that answered it, and which of its messages is another
    one now.
    """

    turn: int
    part: int = 0
    of: int = 1

    def applied(self, asked: Sequence[Block], now: Sequence[Block]) -> tuple[Block, ...] | None:
        """What is asked now; None where it cannot be told which of the old words were that
        message's.
        """
        if self.of == 1:
            return tuple(now)
        if len(asked) != self.of or len(now) != 1 or self.part >= self.of:
            return None
        return (*asked[: self.part], *now, *asked[self.part + 1 :])


@dataclass(frozen=True, slots=True)
class Question:
    """What one turn has to answer: at least one part, in the order sent."""

    parts: tuple[Part, ...]
    is_retry: bool = False
    """An earlier run may have died after it committed this turn."""
    replaces: Correction | None = None
    """The turn in whose place it is answered."""

    @property
    def turn(self) -> int:
        """The turn's name: the update id of its first message."""
        return self.parts[0].update_id

    @property
    def at(self) -> datetime:
        """When the first of its messages was sent."""
        return self.parts[0].at

    @property
    def update_ids(self) -> tuple[int, ...]:
        """Those of all its messages."""
        return tuple(part.update_id for part in self.parts)

    @property
    def content(self) -> tuple[Block, ...]:
        """The blocks of all its messages, as the one message of a Session that they become."""
        return tuple(block for part in self.parts for block in part.content)

    def followed_by(self, block: Block) -> Question:
        """The question with one more block at its end."""
        *parts, last = self.parts
        return replace(self, parts=(*parts, replace(last, content=(*last.content, block))))

    def unknown_to(self, session: Session) -> Question | None:
        """The question without the parts this Session has answered already; None when nothing is
        left of it.
        """
        parts = tuple(part for part in self.parts if not session.knows(part.update_id))
        return replace(self, parts=parts) if parts else None

    def opened_for(self, session: Session) -> Session:
        """The Session as this is asked in it: without the turn whose place it takes.

        Raises TooLate.
        """
        if self.replaces is None:
            return session
        if (before := session.before(self.replaces.turn)) is None:
            raise TooLate
        return before

    def completed(self, session: Session) -> Question:
        """The question, with what stays of the one it corrects beside its own content.

        Raises TooLate.
        """
        if self.replaces is None:
            return self
        whole = self.replaces.applied(session.question_of(self.replaces.turn), self.content)
        if whole is None:
            raise TooLate
        return replace(self, parts=(replace(self.parts[0], content=whole),))


class Corrections(Protocol):
    """Answered questions that their person corrects, each by the message it was."""

    async def of(self, lane: Lane, message_id: int) -> Correction | None:
        """What another wording of this message of the lane would correct.

        None where that is not known, and where an earlier edit of it is on offer: that one has the
        newest words.
        """

    async def answer_again(self, lane: Lane, edit: int, correction: Correction) -> bool:
        """Have an edit that was offered answered in the place of a turn, once however often its
        person asks.

        Whoever asks holds the lane and goes on with what waits in it. False: there is no such offer
        (any more).
        """

    async def drop(self, lane: Lane, edit: int) -> bool:
        """Take back an offer that came to nothing. False: there is no such offer (any more)."""


class Reply(Protocol):
    """The way back to the Place a question came from, in its person's language."""

    @property
    def shown(self) -> str:
        """The text grown so far, since the last `restart`."""

    def grow(self, delta: str) -> None:
        """More text of the answer has arrived. Never blocks, never fails."""

    def restart(self) -> None:
        """What `grow` has shown so far is void: the model call is being repeated."""

    def status(self, key: str) -> None:
        """What is being done beside writing, named by its key in `texts`; empty: nothing.

        Never blocks, never fails.
        """

    async def notice(self, key: str, **values: str) -> None:
        """Say one of our own sentences, named by its key in `texts`."""

    async def deliver(self, markdown: str, *, turn: int) -> None:
        """Send the answer of this turn, in as many parts as it needs, from the first part that was
        not sent yet.

        Raises ChatUnreachable when nobody can receive it, ChatBusy when Telegram asks to wait.
        """
