"""Compaction: a summary takes the place of old turns, so that a dialogue of any length stays a
prompt of bounded size.

Order of writes: the summary's text is made first, with nothing written; then the covered messages
go to the archive; then ONE update puts the summary in their place, if no other compactor did.
Whatever fails on the way, the messages stay where they were and the talk goes on.

The usual compaction runs after the reply: it holds no lease and does not move the Session's
revision, so it never costs a turn its commit. Only where a turn could not begin at all is room made
before it; should the summariser fail then, the oldest turns go to the archive unsummarised and the
Session notes the gap, which the next good summary fills from there.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field

from bot.aio import cancel_and_wait
from bot.budget import TokenBudget
from bot.compaction.cutting import CompactionPolicy, has_gaps, is_due, is_full, removable_messages
from bot.compaction.prompt_size import PromptSizeEstimator
from bot.compaction.replacing import Replacer, nothing_new, postponed
from bot.compaction.summarising import Summariser, SummaryDraft, draft_summary
from bot.errors import BotError, ModelError, SummaryRejected
from bot.owner import Owner
from bot.ports import Archive, Clock, SessionStore, UsageMeter
from bot.session import Message, Session

__all__ = ["CompactionPolicy", "Compactor", "Summariser"]

log = logging.getLogger(__name__)


@dataclass(slots=True, eq=False)
class Compactor:
    """Compacts Sessions; in the background at most one run per Session at a time."""

    _sessions: SessionStore
    _archive: Archive
    _summariser: Summariser
    _policy: CompactionPolicy
    _clock: Clock
    token_budget: TokenBudget | None = None
    """Who pays for summaries; None: nobody counts."""
    estimator: PromptSizeEstimator = field(default_factory=PromptSizeEstimator)
    _running: dict[str, asyncio.Task[None]] = field(default_factory=dict, init=False)

    @property
    def _replacer(self) -> Replacer:
        return Replacer(self._sessions, self._archive, self._clock, self._summariser.name)

    # -------------------------------------------------------------------------------- after a reply

    def consider(self, owner: Owner, session: Session) -> None:
        """Start a compaction if one is due; returns at once. The caller hands `session` over."""
        if session.id in self._running or not self._is_due(session):
            return
        task = asyncio.create_task(self._attempt(owner, session), name=f"compaction {session.id}")
        self._running[session.id] = task
        task.add_done_callback(lambda ended: self._ended(session.id, ended))

    def _is_due(self, session: Session) -> bool:
        now = self._clock.now()
        return is_due(
            session,
            self._policy,
            now,
            self.estimator.expected(session),
            ratio=self.estimator.ratio(session),
        )

    def _ended(self, session_id: str, task: asyncio.Task[None]) -> None:
        del self._running[session_id]
        if not task.cancelled() and (failure := task.exception()) is not None:
            log.error("the compaction of Session %s broke", session_id, exc_info=failure)

    async def aclose(self) -> None:
        """Give up what still runs: an unfinished compaction has changed nothing."""
        await cancel_and_wait(*self._running.values())

    async def _attempt(self, owner: Owner, handed: Session) -> None:
        try:
            if (session := await self._still_due(owner, handed)) is not None:
                await self.compact(owner, session)
        except BotError as failure:
            state = postponed(handed.compaction, self._clock.now())
            log.warning(
                "Session %s is not compacted (failure %d): %s", handed.id, state.fails, failure
            )
            await self._sessions.postpone(owner, handed, state)

    async def _still_due(self, owner: Owner, handed: Session) -> Session | None:
        """The Session as it stands: while the turn ran, an earlier turn's compaction may have been
        at it.
        """
        session = await self._sessions.inspect(owner, handed.place)
        if session is None or session.id != handed.id or not self._is_due(session):
            return None
        return session

    def can_compact(self, session: Session) -> bool:
        """Whether there is anything a summary could stand for."""
        return bool(self._removable(session)) or has_gaps(session)

    def _removable(self, session: Session, minimum: int = 1) -> tuple[Message, ...]:
        return removable_messages(
            session.messages, self._policy, minimum=minimum, ratio=self.estimator.ratio(session)
        )

    async def compact(self, owner: Owner, session: Session) -> bool:
        """Compact now; whether the Session changed.

        Raises a BotError with the messages as they were.
        """
        if not self.can_compact(session):
            return False
        old = self._removable(session)
        made = await self._draft(owner, session, old)
        _require_news(session, made)
        gone = [message for message in old if message.seq <= made.up_to]
        return await self._replacer.replace(owner, session, gone, made)

    # -------------------------------------------------------------------------------- before a call

    def is_full(self, session: Session, coming: int) -> bool:
        """Whether a turn whose question has `coming` tokens cannot begin before room is made."""
        return is_full(session, self._policy, self.estimator.expected(session, coming))

    async def make_room(self, owner: Owner, session: Session) -> bool:
        """Compact a Session in which no turn can begin; whether it changed.

        The person waits for this, and not in vain: what no summary covers is archived as a gap.
        """
        if not (old := self._removable(session, minimum=0) or tuple(session.messages)):
            return False
        try:
            made = await self._draft(owner, session, old)
        except (ModelError, SummaryRejected) as failure:
            log.warning("Session %s makes room without a summary: %s", session.id, failure)
            made = nothing_new(session.summary)
        return await self._replacer.replace(owner, session, old, made)

    async def _draft(self, owner: Owner, session: Session, old: Sequence[Message]) -> SummaryDraft:
        """A summary of the messages, and of those in the gaps, which are in the archive."""
        gaps = session.summary.gaps if session.summary else ()
        archived = await self._archive.of(owner, session.id) if gaps else ()
        missed = [
            message
            for message in archived
            if any(gap.start <= message.seq <= gap.end for gap in gaps)
        ]
        covering = [*missed, *old]
        if self.token_budget is None:
            return await draft_summary(self._summariser, session.summary, covering, UsageMeter())
        # A turn may run beside this: what is set aside for the summary must not take the place of
        # what is for the turn.
        meter, paid_as = UsageMeter(), -session.messages[-1].turn if session.messages else 0
        try:
            maximum = self._summariser.max_cost(session.summary, covering)
            await self.token_budget.reserve(owner, paid_as, maximum, maximum)
            return await draft_summary(self._summariser, session.summary, covering, meter)
        finally:
            await self.token_budget.settle(owner, paid_as, meter)


def _require_news(session: Session, made: SummaryDraft) -> None:
    """A summary that repeats the old one is refused once.

    Asked again it may insist: nothing was worth a word.
    """
    if session.summary and made.text == session.summary.text and not session.compaction.fails:
        raise SummaryRejected("the summary is the previous one, although messages came")
