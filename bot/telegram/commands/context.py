"""`/context`: shows what the bot remembers of the dialogue; the button below compacts it now.

Looking is no activity: it does not keep a Session alive. The button names a turn of the Session it
was made for; a press by anyone who did not take part in that turn here is ignored.
"""

from __future__ import annotations

import logging

from telegram import InlineKeyboardMarkup

from bot.compaction import Compactor
from bot.errors import BudgetSpent, ModelError, SummaryRejected
from bot.owner import Lane
from bot.session import Session
from bot.telegram.commands.invocation import Effect, Invocation, Press
from bot.telegram.commands.visible_sessions import VisibleSessions
from bot.telegram.outbound.buttons import COMPACT, button_below
from bot.texts import Language, figure, text

log = logging.getLogger(__name__)


async def show_context(sessions: VisibleSessions, compactor: Compactor, call: Invocation) -> None:
    session = await sessions.active(call.lane)
    markup = _button(session, compactor, call.language)
    await call.reply.say(_describe(session, call.language), markup)


async def compact_now(
    sessions: VisibleSessions, compactor: Compactor, press: Press
) -> Effect | None:
    """Compact the person's own active Session at once, whatever its size."""
    session = await sessions.active(press.lane) if press.number is not None else None
    if session is None or press.number is None or not session.knows(press.number):
        return None
    if not await _is_compacted(compactor, press.lane, session):
        return Effect(instead=text("context_failed", press.language))
    now = await sessions.store.inspect(press.lane.owner, press.lane.place)
    lines = [text("context_compacted", press.language), _counts(now or session, press.language)]
    return Effect(instead="\n".join(lines))


async def _is_compacted(compactor: Compactor, lane: Lane, session: Session) -> bool:
    try:
        await compactor.compact(lane.owner, session)
    except (BudgetSpent, ModelError, SummaryRejected) as failure:
        log.warning("Session %s is not compacted on request: %s", session.id, failure)
        return False
    return True


def _button(
    session: Session | None, compactor: Compactor, language: Language
) -> InlineKeyboardMarkup | None:
    """The button that compacts now; None where there is nothing to compact."""
    if session is None or not session.turns or not compactor.can_compact(session):
        return None
    return button_below(COMPACT, session.turns[-1], language)


def _describe(session: Session | None, language: Language) -> str:
    """The counts, the size of the last prompt, since when, and the summary."""
    if session is None or session.is_empty:
        return text("context_empty", language)
    lines = [
        text("context_head", language, since=f"{session.created_at:%Y-%m-%d %H:%M} UTC"),
        _counts(session, language),
    ]
    if session.prompt.tokens:
        lines.append(text("context_tokens", language, tokens=figure(session.prompt.tokens)))
    if session.summary is not None and session.summary.text:
        lines += ["", text("context_summary", language), session.summary.text]
    return "\n".join(lines)


def _counts(session: Session, language: Language) -> str:
    """How many messages are remembered, and how; what is none is not said."""
    archived = session.next_seq - len(session.messages)
    waiting = sum(gap.end - gap.start + 1 for gap in session.summary.gaps) if session.summary else 0
    counts = {
        "verbatim": len(session.messages),
        "summarised": archived - waiting,
        "archived": archived,
    }
    said = (text(f"context_{name}", language, count=str(n)) for name, n in counts.items() if n)
    return "\n".join(said)
