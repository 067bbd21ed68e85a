"""`/new`: closes the active Session; the next message opens another.

The button under the confirmation takes the topic along: the model is then told what the closed one
was about. It names a turn of that Session; for anyone who did not take part in it here, it has
expired.
"""

from __future__ import annotations

from bot.lifecycle import Lifecycle
from bot.ports import CountTokens
from bot.telegram.commands.invocation import Effect, Invocation, Press
from bot.telegram.commands.visible_sessions import VisibleSessions
from bot.telegram.outbound.buttons import TAKE, button_below
from bot.texts import text


async def new(lifecycle: Lifecycle, sessions: VisibleSessions, call: Invocation) -> None:
    closed = await lifecycle.new(call.lane.owner, call.lane.place)
    offered = closed is not None and closed.turns and not sessions.is_over(closed)
    markup = button_below(TAKE, closed.turns[-1], call.language) if closed and offered else None
    await call.reply.say(text("new_done", call.language), markup)


async def take_topic(
    lifecycle: Lifecycle, sessions: VisibleSessions, count: CountTokens, press: Press
) -> Effect | None:
    """Take the topic of the closed Session along into the new one, while that is empty."""
    closed = await sessions.with_turn(press.lane, press.number) if press.number else None
    if closed is None or closed.status != "closed":
        return None
    owner, place = press.lane.owner, press.lane.place
    if not await lifecycle.take_along(owner, place, closed, count):
        return None
    return Effect(instead=text("topic_taken", press.language))
