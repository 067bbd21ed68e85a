"""`/help`: lists the commands."""

from __future__ import annotations

from bot.telegram.command_names import COMMANDS
from bot.telegram.commands.invocation import Invocation
from bot.texts import text


async def show_help(call: Invocation) -> None:
    lines = (command.help(call.language) for command in COMMANDS.values())
    head, tail = (text(key, call.language) for key in ("help_head", "help_tail"))
    await call.reply.say("\n".join((head, "", *lines, "", tail)))
