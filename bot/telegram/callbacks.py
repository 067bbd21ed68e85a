"""The callbacks in one table: what a press of each of the bot's buttons does.

A button carries its name and a token, which come back from the client and are no authority: what
they name is looked up among what belongs to whoever pressed, in the Place where it was pressed. For
anyone else the button has expired.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial

from bot.owner import Lane
from bot.telegram.commands.context import compact_now
from bot.telegram.commands.corrections import accept
from bot.telegram.commands.invocation import Callback, Effect, Press
from bot.telegram.commands.new import take_topic
from bot.telegram.commands.preferences import choose
from bot.telegram.commands.sessions import (
    ask_title,
    ask_to_delete,
    erase_session,
    open_session,
    turn_page,
)
from bot.telegram.commands.table import CommandDependencies
from bot.telegram.commands.visible_sessions import VisibleSessions
from bot.telegram.outbound.buttons import (
    AGAIN,
    COMPACT,
    DELETE,
    ERASE,
    OPEN,
    PAGE,
    RENAME,
    REPEAT,
    RETRY,
    TAKE,
)
from bot.texts import text


async def _repeat(sessions: VisibleSessions, press: Press) -> Effect | None:
    """Send an answer again whose delivery was uncertain, while its Session still has it."""
    if (turn := press.number) is None:
        return None
    session = await sessions.with_turn(press.lane, turn)
    answer = session.answer_to(turn) if session is not None else ""
    return Effect(answer=answer, turn=turn) if answer else None


async def _retry(try_again: Callable[[Lane, int], Awaitable[bool]], press: Press) -> Effect | None:
    """Queue a failed turn once more; one that is queued already, or was answered, has expired."""
    if (turn := press.number) is None or not await try_again(press.lane, turn):
        return None
    return Effect(instead=text("retrying", press.language))


CALLBACKS: Mapping[str, Callable[[CommandDependencies], Callback]] = {
    REPEAT: lambda parts: partial(_repeat, parts.sessions),
    RETRY: lambda parts: partial(_retry, parts.try_again),
    COMPACT: lambda parts: partial(compact_now, parts.sessions, parts.compactor),
    TAKE: lambda parts: partial(take_topic, parts.lifecycle, parts.sessions, parts.count),
    AGAIN: lambda parts: partial(accept, parts.sessions, parts.corrections),
    PAGE: lambda parts: partial(turn_page, parts.dialogues),
    OPEN: lambda parts: partial(open_session, parts.dialogues),
    RENAME: lambda parts: partial(ask_title, parts.dialogues),
    DELETE: lambda parts: partial(ask_to_delete, parts.dialogues),
    ERASE: lambda parts: partial(erase_session, parts.dialogues),
    "model": lambda parts: partial(choose, "model", parts.choices),
    "persona": lambda parts: partial(choose, "persona", parts.choices),
}
"""By name, what a press of each button does and needs."""


def callbacks(parts: CommandDependencies) -> Mapping[str, Callback]:
    """What to run, by the name of each button."""
    return {name: bind(parts) for name, bind in CALLBACKS.items()}
