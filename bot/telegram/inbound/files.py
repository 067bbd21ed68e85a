"""Files at Telegram: asked for by their id, read up to a bound, within a deadline, a few at a
time.

The address of a file has the bot's token in it, so no error from here has an address or a vendor's
text.
"""

from __future__ import annotations

import asyncio
import logging

from telegram import Bot
from telegram.error import BadRequest, TelegramError

from bot.errors import FileGone, FileTooLarge, FileUnavailable
from bot.telegram.connection import Connection

log = logging.getLogger(__name__)

MAX_BYTES = 20 * 2**20
"""What Telegram lets a bot fetch."""
SECONDS = 30.0
"""For one file, its turn to be fetched included: a talk does not wait longer for all that is in
view.
"""
AT_A_TIME = 8


class TelegramFiles:
    """Implements Files."""

    def __init__(self, bot: Bot, *, seconds: float = SECONDS) -> None:
        self._bot = bot
        self._seconds = seconds
        self._gate = asyncio.Semaphore(AT_A_TIME)

    async def read(self, file_id: str) -> bytes:
        """The whole file. Raises FileGone, FileTooLarge or FileUnavailable."""
        try:
            async with asyncio.timeout(self._seconds), self._gate:
                return await self._fetched(file_id)
        except BadRequest as refusal:
            raise (FileTooLarge if "too big" in refusal.message.lower() else FileGone) from None
        except (TelegramError, TimeoutError) as failure:
            log.warning("a file cannot be fetched: %s", type(failure).__name__)
            raise FileUnavailable from None

    async def _fetched(self, file_id: str) -> bytes:
        found, connection = await self._bot.get_file(file_id), self._bot.request
        if not found.file_path or not isinstance(connection, Connection):
            raise FileUnavailable
        return await connection.fetch(found.file_path, MAX_BYTES)
