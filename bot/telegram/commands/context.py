"""What the bot carries of a talk, in words for its person: `/context`, and the button under it that
compacts now.

Looking is no activity: a Session does not live longer for it. The button names a turn of the
Session it was made for; who did not take part in that turn, here, has pressed nothing of his own.
"""

from __future__ import annotations

import logging

from telegram import InlineKeyboardMarkup

from bot.compaction import Compactor
from bot.errors import ModelError, SummaryRejected
from bot.owner import Lane
from bot.ports import SessionStore
from bot.session import Session
from bot.telegram.outbound.buttons import COMPACT, under
from bot.texts import Language, figure, text

log = logging.getLogger(__name__)


def described(session: Session | None, language: Language) -> str:
    """The counts, the size of the last prompt, since when, and the summary."""
    if session is None or session.is_empty:
        return text("context_empty", language)
    lines = [
        text("context_head", language, since=f"{session.created_at:%Y-%m-%d %H:%M} UTC"),
        *_counts(session, language),
    ]
    if session.prompt.tokens:
        lines.append(text("context_tokens", language, tokens=figure(session.prompt.tokens)))
    if session.summary is not None and session.summary.text:
        lines += ["", text("context_summary", language), session.summary.text]
    return "\n".join(lines)


def button(
    session: Session | None, compactor: Compactor, language: Language
) -> InlineKeyboardMarkup | None:
    """The button that compacts now, where there is anything to compact."""
    if session is None or not session.turns or not compactor.can_compact(session):
        return None
    return under(COMPACT, session.turns[-1], language)


async def compacted(
    sessions: SessionStore, compactor: Compactor, lane: Lane, session: Session, language: Language
) -> str:
    """Compact the Session that is active here; what to say of it."""
    try:
        await compactor.compact(lane.owner, session)
    except (ModelError, SummaryRejected) as failure:
        log.warning("Session %s is not compacted on request: %s", session.id, failure)
        return text("context_failed", language)
    now = await sessions.inspect(lane.owner, lane.place)
    return "\n".join([text("context_compacted", language), *_counts(now or session, language)])


def _counts(session: Session, language: Language) -> list[str]:
    archived = session.next_seq - len(session.messages)
    waiting = sum(gap.end - gap.start + 1 for gap in session.summary.gaps) if session.summary else 0
    counts = {
        "verbatim": len(session.messages),
        "summarised": archived - waiting,
        "archived": archived,
    }
    return [
        text("context_counts", language, **{name: str(count) for name, count in counts.items()})
    ]
