"""The commands, in one table: what they are called, what they do, and whether they end a running turn.

`/help`, the menu Telegram shows and the receiver's notion of what cancels are all made from this table. A confirmation
is sent only after the deed.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial

from telegram import Bot, BotCommand
from telegram.error import TelegramError

from bot.agent.choices import Choices
from bot.compaction import Compactor
from bot.lifecycle import Lifecycle
from bot.owner import Lane
from bot.ports import Corrections
from bot.purse import Purse
from bot.session import Alive, Lifetime
from bot.telegram import carried
from bot.telegram.chosen import Kind, menu
from bot.telegram.planned import planned
from bot.telegram.replies import TelegramReply
from bot.telegram.spending import spent
from bot.texts import LANGUAGES, Language, duration, text

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Desk:
    """What commands need to do their work."""

    lifecycle: Lifecycle
    choices: Choices
    lifetime: Lifetime
    try_again: Callable[[Lane, int], Awaitable[bool]]
    """Have a failed turn of this lane handled once more; False where there is none of that name."""
    compactor: Compactor
    corrections: Corrections
    purse: Purse

    @property
    def alive(self) -> Alive:
        """Which Sessions are not over now."""
        return self.lifetime.at(self.lifecycle.clock.now())

    async def lost(self, lane: Lane) -> None:
        """Nobody reads in this lane what is sent there. Of a group that says nothing about its members."""
        if lane.place.is_private:
            await self.choices.owners.unreachable(lane.owner, self.lifecycle.clock.now())

    async def found(self, lane: Lane) -> None:
        """Somebody has written here who was not to be reached."""
        if lane.place.is_private:
            await self.choices.owners.reached(lane.owner)


@dataclass(frozen=True, slots=True)
class Call:
    """A command that somebody gave."""

    lane: Lane
    language: Language
    argument: str
    reply: TelegramReply


@dataclass(frozen=True, slots=True)
class Command:
    """One command.

    `cancels`: it ends its lane's running turn and overtakes what waits before it. `aside`: it does not touch the
    Session and is answered at once, whatever runs.
    """

    name: str
    run: Callable[[Desk, Call], Awaitable[None]]
    cancels: bool = False
    aside: bool = False

    def description(self, language: Language) -> str:
        """What the menu says of it."""
        return text(f"command_{self.name}", language)

    def help(self, language: Language) -> str:
        """Its line in `/help`."""
        return f"/{self.name} — {text(f'help_{self.name}', language)}"


async def start(desk: Desk, call: Call) -> None:
    idle, age = (duration(span, call.language) for span in (desk.lifetime.idle, desk.lifetime.max_age))
    await call.reply.notice("start", idle=idle, age=age)


async def help_(_desk: Desk, call: Call) -> None:
    lines = (command.help(call.language) for command in COMMANDS.values())
    head, tail = (text(key, call.language) for key in ("help_head", "help_tail"))
    await call.reply.say("\n".join((head, "", *lines, "", tail)))


async def new(desk: Desk, call: Call) -> None:
    await desk.lifecycle.new(call.lane.owner, call.lane.place)
    await call.reply.notice("new_done")


async def reset(desk: Desk, call: Call) -> None:
    await desk.lifecycle.reset(call.lane.owner, call.lane.place)
    await call.reply.notice("reset_done")


async def offer(kind: Kind, desk: Desk, call: Call) -> None:
    await call.reply.say(*await menu(desk.choices, kind, call.lane.owner, call.language))


async def plan(desk: Desk, call: Call) -> None:
    await call.reply.say(await planned(desk.lifecycle.sessions, call.lane, desk.alive, call.language))


async def stop(_desk: Desk, call: Call) -> None:
    # The turn it stops has ended by now: the command kept its place in the lane.
    await call.reply.notice("stop_done")


async def show_carried(desk: Desk, call: Call) -> None:
    session = await desk.lifecycle.sessions.inspect(call.lane.owner, call.lane.place, unless_over=desk.alive)
    markup = carried.button(session, desk.compactor, call.language)
    await call.reply.say(carried.described(session, call.language), markup)


async def usage(desk: Desk, call: Call) -> None:
    await call.reply.say(await spent(desk.purse, desk.lifecycle.sessions, call.lane, desk.alive, call.language))


_TABLE = (
    Command("start", start, aside=True),
    Command("help", help_, aside=True),
    Command("model", partial(offer, "model"), aside=True),
    Command("persona", partial(offer, "persona"), aside=True),
    Command("plan", plan, aside=True),
    Command("new", new, cancels=True),
    Command("reset", reset, cancels=True),
    Command("stop", stop, cancels=True),
    Command("context", show_carried, aside=True),
    Command("usage", usage, aside=True),
)
COMMANDS = {command.name: command for command in _TABLE}


async def publish(bot: Bot) -> None:
    """Tell Telegram the menu and the descriptions; English is what it shows where it knows no better."""
    for language in LANGUAGES:
        code = None if language == "en" else language
        menu = [BotCommand(command.name, command.description(language)) for command in COMMANDS.values()]
        deeds = (
            partial(bot.set_my_commands, menu),
            partial(bot.set_my_description, text("description", language)),
            partial(bot.set_my_short_description, text("short_description", language)),
        )
        for deed in deeds:
            await _attempt(partial(deed, language_code=code))


async def _attempt(deed: Callable[[], Awaitable[bool]]) -> None:
    try:
        await deed()
    except TelegramError as failure:
        log.warning("the command menu or a description could not be set: %s", failure.message)
