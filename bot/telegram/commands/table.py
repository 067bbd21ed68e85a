"""The commands, in one table: what they are called, what they do, and whether they end a running
turn.

`/help`, the menu Telegram shows and the receiver's notion of what cancels are all made from this
table. A confirmation is sent only after the deed.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial

from telegram import Bot, BotCommand
from telegram.error import TelegramError

from bot.agent.preferences import PreferenceOptions
from bot.budget import TokenBudget
from bot.compaction import Compactor
from bot.lifecycle import Lifecycle
from bot.owner import Lane
from bot.ports import Corrections
from bot.session import Alive, Lifetime
from bot.telegram.commands import context
from bot.telegram.commands.names import COMMANDS
from bot.telegram.commands.plan import plan_text
from bot.telegram.commands.preferences import Kind, menu
from bot.telegram.commands.usage import usage_text
from bot.telegram.outbound.replies import TelegramReply
from bot.texts import LANGUAGES, Language, duration, text

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CommandDependencies:
    """What commands need to do their work."""

    lifecycle: Lifecycle
    choices: PreferenceOptions
    lifetime: Lifetime
    try_again: Callable[[Lane, int], Awaitable[bool]]
    """Have a failed turn of this lane handled once more; False where there is none of that name."""
    compactor: Compactor
    corrections: Corrections
    token_budget: TokenBudget

    @property
    def alive(self) -> Alive:
        """Which Sessions are not over now."""
        return self.lifetime.at(self.lifecycle.clock.now())

    async def lost(self, lane: Lane) -> None:
        """Nobody reads in this lane what is sent there.

        Of a group that says nothing about its members.
        """
        if lane.place.is_private:
            await self.choices.owners.unreachable(lane.owner, self.lifecycle.clock.now())

    async def found(self, lane: Lane) -> None:
        """Somebody has written here who was not to be reached."""
        if lane.place.is_private:
            await self.choices.owners.reached(lane.owner)


@dataclass(frozen=True, slots=True)
class Invocation:
    """A command that somebody gave."""

    lane: Lane
    language: Language
    argument: str
    reply: TelegramReply


async def start(needs: CommandDependencies, call: Invocation) -> None:
    idle, age = (
        duration(span, call.language) for span in (needs.lifetime.idle, needs.lifetime.max_age)
    )
    await call.reply.notice("start", idle=idle, age=age)


async def help_(_needs: CommandDependencies, call: Invocation) -> None:
    lines = (command.help(call.language) for command in COMMANDS.values())
    head, tail = (text(key, call.language) for key in ("help_head", "help_tail"))
    await call.reply.say("\n".join((head, "", *lines, "", tail)))


async def new(needs: CommandDependencies, call: Invocation) -> None:
    await needs.lifecycle.new(call.lane.owner, call.lane.place)
    await call.reply.notice("new_done")


async def reset(needs: CommandDependencies, call: Invocation) -> None:
    await needs.lifecycle.reset(call.lane.owner, call.lane.place)
    await call.reply.notice("reset_done")


async def offer(kind: Kind, needs: CommandDependencies, call: Invocation) -> None:
    await call.reply.say(*await menu(needs.choices, kind, call.lane.owner, call.language))


async def plan(needs: CommandDependencies, call: Invocation) -> None:
    await call.reply.say(
        await plan_text(needs.lifecycle.sessions, call.lane, needs.alive, call.language)
    )


async def stop(_needs: CommandDependencies, call: Invocation) -> None:
    # The turn it stops has ended by now: the command kept its place in the lane.
    await call.reply.notice("stop_done")


async def show_context(needs: CommandDependencies, call: Invocation) -> None:
    session = await needs.lifecycle.sessions.inspect(
        call.lane.owner, call.lane.place, unless_over=needs.alive
    )
    markup = context.button(session, needs.compactor, call.language)
    await call.reply.say(context.described(session, call.language), markup)


async def usage(needs: CommandDependencies, call: Invocation) -> None:
    await call.reply.say(
        await usage_text(
            needs.token_budget, needs.lifecycle.sessions, call.lane, needs.alive, call.language
        )
    )


RUN: Mapping[str, Callable[[CommandDependencies, Invocation], Awaitable[None]]] = {
    "start": start,
    "help": help_,
    "model": partial(offer, "model"),
    "persona": partial(offer, "persona"),
    "plan": plan,
    "new": new,
    "reset": reset,
    "stop": stop,
    "context": show_context,
    "usage": usage,
}


async def publish(bot: Bot) -> None:
    """Tell Telegram the menu and the descriptions; English is what it shows where it knows no
    better.
    """
    for language in LANGUAGES:
        code = None if language == "en" else language
        menu = [
            BotCommand(command.name, command.description(language)) for command in COMMANDS.values()
        ]
        operations = (
            partial(bot.set_my_commands, menu),
            partial(bot.set_my_description, text("description", language)),
            partial(bot.set_my_short_description, text("short_description", language)),
        )
        for operation in operations:
            await _attempt(partial(operation, language_code=code))


async def _attempt(operation: Callable[[], Awaitable[bool]]) -> None:
    try:
        await operation()
    except TelegramError as failure:
        log.warning("the command menu or a description could not be set: %s", failure.message)
