"""What a press of one of the bot's buttons does.

A button carries its name and a token, which come back from the client and are no authority: what
they name is looked up among what belongs to whoever pressed, in the Place where it was pressed. To
anybody else the button has expired.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial

from bot.owner import Lane
from bot.ports import Correction
from bot.telegram.commands import context, corrections
from bot.telegram.commands.preferences import Kind, choose
from bot.telegram.commands.table import CommandDependencies
from bot.telegram.outbound.buttons import AGAIN, COMPACT, REPEAT, RETRY
from bot.texts import Language, text

MAX_DIGITS = 18
"""Of a number that MongoDB can hold."""
OF_A_CORRECTION = 4
"""Numbers: the edit, the turn it corrects, and which of how many messages."""


@dataclass(frozen=True, slots=True)
class Press:
    """Somebody pressed a button that carries this token."""

    lane: Lane
    language: Language
    token: str

    @property
    def number(self) -> int | None:
        """The token as the update id that ours are; None where it can be none."""
        return _number(self.token)

    @property
    def numbers(self) -> tuple[int, ...]:
        """The token as several of them; none where one of them can be none."""
        found = [_number(part) for part in self.token.split(":")]
        return tuple(number for number in found if number is not None) if None not in found else ()


def _number(token: str) -> int | None:
    return int(token) if token.isascii() and token.isdigit() and len(token) <= MAX_DIGITS else None


@dataclass(frozen=True, slots=True)
class Effect:
    """What comes of a press."""

    answer: str = ""
    """An answer of the model's, to be sent."""
    turn: int | None = None
    """The turn it answered."""
    instead: str = ""
    """A sentence of ours that takes the place of the message with the button."""


async def _choose(kind: Kind, needs: CommandDependencies, press: Press) -> Effect | None:
    """One of what the operator offers counts for whoever pressed, if the button was made for
    them.
    """
    said = await choose(needs.choices, kind, press.lane.owner, press.token, press.language)
    return None if said is None else Effect(instead=said)


Callback = Callable[[CommandDependencies, Press], Awaitable[Effect | None]]


async def run_callback(
    needs: CommandDependencies, lane: Lane, language: Language, pressed: str
) -> Effect | None:
    """Do what the button that carried this asks for; None where it has expired."""
    name, _, token = pressed.partition(":")
    return await CALLBACKS[name](needs, Press(lane, language, token)) if name in CALLBACKS else None


async def _repeat(needs: CommandDependencies, press: Press) -> Effect | None:
    """An answer whose delivery was uncertain, as long as it is among the messages of its
    Session.
    """
    if (turn := press.number) is None:
        return None
    session = await needs.lifecycle.sessions.find_by_update_ids(
        press.lane.owner, [turn], unless_over=needs.alive
    )
    answer = (
        session.answer_to(turn) if session is not None and session.place == press.lane.place else ""
    )
    return Effect(answer=answer, turn=turn) if answer else None


async def _retry(needs: CommandDependencies, press: Press) -> Effect | None:
    """A turn that failed waits once more; where it waits already, or was answered, there is nothing
    to try.
    """
    if (turn := press.number) is None or not await needs.try_again(press.lane, turn):
        return None
    return Effect(instead=text("retrying", press.language))


async def _compact(needs: CommandDependencies, press: Press) -> Effect | None:
    """The person's own active Session here is compacted at once, below every trigger."""
    if (turn := press.number) is None:
        return None
    sessions, lane = needs.lifecycle.sessions, press.lane
    session = await sessions.inspect(lane.owner, lane.place, unless_over=needs.alive)
    if session is None or not session.knows(turn):
        return None
    return Effect(
        instead=await context.compacted(sessions, needs.compactor, lane, session, press.language)
    )


async def _again(needs: CommandDependencies, press: Press) -> Effect | None:
    """A corrected question is answered in the place of the turn that answered it as it was."""
    if len(press.numbers) != OF_A_CORRECTION:
        return None
    edit, turn, part, of = press.numbers
    said = await corrections.accept(
        needs, press.lane, edit, Correction(turn, part, of), press.language
    )
    return None if said is None else Effect(instead=said)


CALLBACKS: Mapping[str, Callback] = {
    REPEAT: _repeat,
    RETRY: _retry,
    COMPACT: _compact,
    AGAIN: _again,
    "model": partial(_choose, "model"),
    "persona": partial(_choose, "persona"),
}
"""By name: every button that the bot makes."""
