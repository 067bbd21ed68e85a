"""Sets the menu of commands and the descriptions that Telegram shows.

English is what it shows to people whose language it has no other text for.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Collection
from functools import partial

from telegram import Bot, BotCommand
from telegram.error import TelegramError

from bot.telegram.command_names import COMMANDS
from bot.texts import LANGUAGES, text

log = logging.getLogger(__name__)


async def publish(bot: Bot, *, hidden: Collection[str] = ()) -> None:
    """Set the menu in every language, without the `hidden` commands.

    A failure is only logged, since the bot works without.
    """
    shown = [command for name, command in COMMANDS.items() if name not in hidden]
    for language in LANGUAGES:
        code = None if language == "en" else language
        menu = [BotCommand(one.name, one.description(language)) for one in shown]
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
