"""A question that was corrected after its answer: its person is asked whether to answer it
again.

Only the last question of a Session can be answered in another's place, and only where it can be
told which of its words were that message's. An edit that changes no word (a link preview that came
late) is nothing to talk about. The button carries the edit and the turn it corrects; both are
looked for among what belongs to whoever pressed.
"""

from __future__ import annotations

from collections.abc import Sequence

from bot.inbox import Entry
from bot.owner import Lane
from bot.ports import Correction
from bot.session import Block
from bot.telegram.commands.table import CommandDependencies
from bot.telegram.inbound.parsing import Reading
from bot.telegram.outbound.buttons import AGAIN, under
from bot.telegram.outbound.replies import TelegramReply
from bot.texts import Language, text


async def offer(
    needs: CommandDependencies,
    edit: Entry,
    reading: Reading,
    language: Language,
    reply: TelegramReply,
) -> bool:
    """Offer to answer the corrected question; False where there is nothing to offer."""
    correction = await needs.corrections.of(edit.lane, edit.update["message"]["message_id"])
    session = await needs.lifecycle.sessions.inspect(
        edit.lane.owner, edit.lane.place, unless_over=needs.alive
    )
    if correction is None or session is None or reading.question is None:
        return False
    if session.before(correction.turn) is None:
        return False
    asked, now = session.question_of(correction.turn), reading.question.content
    if correction.applied(asked, now) is None or not _has_new_words(asked, now):
        return False
    token = f"{edit.id}:{correction.turn}:{correction.part}:{correction.of}"
    await reply.say(text("again_offer", language), under(AGAIN, token, language))
    return True


async def accept(
    needs: CommandDependencies, lane: Lane, edit: int, correction: Correction, language: Language
) -> str | None:
    """Have the corrected question answered; what to say of it, or None where that is no offer to
    this person.
    """
    session = await needs.lifecycle.sessions.inspect(
        lane.owner, lane.place, unless_over=needs.alive
    )
    if session is not None and session.before(correction.turn) is not None:
        is_taken = await needs.corrections.answer_again(lane, edit, correction)
        return text("answering_again", language) if is_taken else None
    return text("again_too_late", language) if await needs.corrections.drop(lane, edit) else None


def _has_new_words(asked: Sequence[Block], now: Sequence[Block]) -> bool:
    """A person's own words stand last, after what they quote or attach."""
    before, words = _texts(asked), _texts(now)
    return bool(words) and words[-1] not in before


def _texts(content: Sequence[Block]) -> list[str]:
    return [block["text"] for block in content if block["type"] == "text"]
