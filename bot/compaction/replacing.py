"""Puts a summary in the place of the messages it covers.

The messages go to the archive first; then ONE update puts the summary in their place, if no other
compactor did. What the summary does not cover of them is noted as a gap, which the next good
summary fills from the archive.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from bot.compaction.summarising import SummaryDraft
from bot.owner import Owner
from bot.ports import NOTHING_USED, Archive, Clock, SessionStore
from bot.session import CompactionState, Gap, Message, Session, Summary

log = logging.getLogger(__name__)

RECENT_KEPT = 6
FIRST_PAUSE = timedelta(seconds=30)
MAX_PAUSE = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Replacer:
    """Writes what a compaction has made; `model` is who wrote the summaries."""

    sessions: SessionStore
    archive: Archive
    clock: Clock
    model: str

    async def replace(
        self, owner: Owner, session: Session, gone: Sequence[Message], made: SummaryDraft
    ) -> bool:
        """Let the summary stand for the messages that go; False: the Session is gone, or another
        compactor won.
        """
        summary, state = self._replacement(session, gone, made)
        await self.archive.add(owner, session.id, gone)
        if await self.sessions.replace_summary(owner, session, summary, state, made.usage):
            before = len(session.messages)
            log.info(
                "compacted Session %s from %d messages to %d",
                *(session.id, before, before - len(gone)),
            )
            return True
        # Where another compactor won, it relies on the archived rows; only an erased Session leaves
        # none behind.
        if not await self.sessions.exists(owner, session.id):
            await self.archive.erase(owner, session.id)
        return False

    def _replacement(
        self, session: Session, gone: Sequence[Message], made: SummaryDraft
    ) -> tuple[Summary, CompactionState]:
        before, now = session.summary, self.clock.now()
        uncovered = [message for message in gone if message.seq > made.up_to]
        summary = Summary(
            text=made.text,
            # Folding may have ended inside an old gap: then no message goes.
            up_to=gone[-1].seq if gone else before.up_to if before else -1,
            epoch=session.epoch + 1,
            tokens=made.tokens,
            model=self.model,
            at=now,
            gaps=_with_gap(_open_gaps(before, made.up_to), uncovered),
        )
        compacted = CompactionState(recent=(*session.compaction.recent, now)[-RECENT_KEPT:])
        return summary, postponed(session.compaction, now) if uncovered else compacted


def nothing_new(before: Summary | None) -> SummaryDraft:
    """What is left of a summary that did not come: the one before, which covers nothing more."""
    return SummaryDraft(
        before.text if before else "", -1, before.tokens if before else 0, NOTHING_USED
    )


def _with_gap(gaps: tuple[Gap, ...], uncovered: Sequence[Message]) -> tuple[Gap, ...]:
    """The gaps with one more at their end, if anything is uncovered; two that touch are one."""
    if not uncovered:
        return gaps
    start, end = uncovered[0].seq, uncovered[-1].seq
    if gaps and gaps[-1].end + 1 == start:
        return (*gaps[:-1], Gap(gaps[-1].start, end))
    return (*gaps, Gap(start, end))


def _open_gaps(before: Summary | None, up_to: int) -> tuple[Gap, ...]:
    """What of the gaps is not covered yet by a summary that reaches up to `up_to`."""
    gaps = before.gaps if before else ()
    return tuple(Gap(max(gap.start, up_to + 1), gap.end) for gap in gaps if gap.end > up_to)


def postponed(state: CompactionState, now: datetime) -> CompactionState:
    """The state after one more failure: the next try comes after a pause twice as long."""
    pause = min(FIRST_PAUSE * 2**state.fails, MAX_PAUSE)
    return replace(state, fails=state.fails + 1, next_at=now + pause)
