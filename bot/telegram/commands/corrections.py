"""An answered question that was edited: offers to answer it anew.

Only the last question of a Session can be answered in another's place, and only where it is known
which of its words were the edited message's. An edit that changes no word (a link preview that was
added later) offers nothing. The button carries the edit and the turn it corrects; both are looked
up among what belongs to whoever pressed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bot.content import Block
from bot.ports import Correction, Corrections, Question
from bot.telegram.commands.invocation import Effect, Invocation, Press
from bot.telegram.commands.visible_sessions import VisibleSessions
from bot.telegram.outbound.buttons import AGAIN, button_below
from bot.texts import text

TOKEN_NUMBERS = 4
"""The edit, the turn it corrects, and which of how many messages of that turn was edited."""


@dataclass(frozen=True, slots=True)
class Edit:
    """A message as it was edited, and the update that brought it."""

    update_id: int
    message_id: int
    question: Question | None
    """None: nothing in it can be read."""


async def offer(
    sessions: VisibleSessions, corrections: Corrections, edit: Edit, call: Invocation
) -> bool:
    """Offer to answer the edited question; False where there is nothing to offer."""
    correction = await corrections.of(call.lane, edit.message_id)
    session = await sessions.active(call.lane)
    if correction is None or session is None or edit.question is None:
        return False
    if session.before(correction.turn) is None:
        return False
    asked, now = session.question_of(correction.turn), edit.question.content
    if correction.applied(asked, now) is None or not _has_new_words(asked, now):
        return False
    token = f"{edit.update_id}:{correction.turn}:{correction.part}:{correction.of}"
    markup = button_below(AGAIN, token, call.language)
    await call.reply.say(text("again_offer", call.language), markup)
    return True


async def accept(
    sessions: VisibleSessions, corrections: Corrections, press: Press
) -> Effect | None:
    """Queue the edited question to be answered in place of the turn that answered it before."""
    if len(press.numbers) != TOKEN_NUMBERS:
        return None
    edit, turn, part, of = press.numbers
    session = await sessions.active(press.lane)
    if session is not None and session.before(turn) is not None:
        is_taken = await corrections.answer_again(press.lane, edit, Correction(turn, part, of))
        return Effect(instead=text("answering_again", press.language)) if is_taken else None
    is_dropped = await corrections.drop(press.lane, edit)
    return Effect(instead=text("again_too_late", press.language)) if is_dropped else None


def _has_new_words(asked: Sequence[Block], now: Sequence[Block]) -> bool:
    """Whether the person's own words changed: they come last, after what they quote or attach."""
    before, words = _texts(asked), _texts(now)
    return bool(words) and words[-1] not in before


def _texts(content: Sequence[Block]) -> list[str]:
    return [block["text"] for block in content if block["type"] == "text"]
