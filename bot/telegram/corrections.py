"""A question that was corrected after its answer: its person is asked whether to answer it again.

Only the last question of a Session can be answered in another's place, and only where it was one message. An edit that
changes no word (a link preview that came late) is nothing to talk about. The button carries the edit and the turn it
corrects; both are looked for among what belongs to whoever pressed.
"""

from __future__ import annotations

from collections.abc import Sequence

from bot.agent.prompt import user_content
from bot.inbox import Entry
from bot.owner import Lane
from bot.session import Block, Session
from bot.telegram.buttons import AGAIN, under
from bot.telegram.commands import Desk
from bot.telegram.inputs import Reading
from bot.telegram.replies import TelegramReply
from bot.texts import Language, text


async def offer(desk: Desk, edit: Entry, reading: Reading, language: Language, reply: TelegramReply) -> bool:
    """Offer to answer the corrected question; False where there is nothing to offer."""
    turn = await desk.corrections.turn_of(edit.lane, edit.update["message"]["message_id"])
    session = await desk.lifecycle.sessions.inspect(edit.lane.owner, edit.lane.place)
    if turn is None or session is None or reading.question is None or not _is_open(desk, session, turn):
        return False
    asked = next(message for message in session.messages if message.turn == turn)
    before, now = _texts(asked.content), _texts(user_content(reading.question))
    if not now or now[-1] in before:
        return False
    await reply.say(text("again_offer", language), under(AGAIN, f"{edit.id}:{turn}", language))
    return True


async def accept(desk: Desk, lane: Lane, edit: int, turn: int, language: Language) -> str | None:
    """Have the corrected question answered; what to say of it, or None where that is no offer to this person."""
    session = await desk.lifecycle.sessions.inspect(lane.owner, lane.place)
    if _is_open(desk, session, turn):
        return text("answering_again", language) if await desk.corrections.answer_again(lane, edit, turn) else None
    return text("again_too_late", language) if await desk.corrections.drop(lane, edit) else None


def _texts(content: Sequence[Block]) -> list[str]:
    """Its texts; a person's own words stand last, after what they quote or attach."""
    return [block["text"] for block in content if block["type"] == "text"]


def _is_open(desk: Desk, session: Session | None, turn: int) -> bool:
    """Whether this Session goes on, and this is its last turn."""
    now = desk.lifecycle.clock.now()
    return session is not None and session.before(turn) is not None and not session.is_over(now, now, desk.lifetime)
