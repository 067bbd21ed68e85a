"""Sentences for people who will get no answer: said once, at most, and without anybody waiting for it.

Neither a stranger who writes a thousand times nor a chat that Telegram slows down may hold up the intake.
"""

from __future__ import annotations

import asyncio
import logging

from bot.errors import DeliveryError
from bot.ops.stopping import end
from bot.owner import Place
from bot.telegram.gateway import Gateway
from bot.telegram.splitting import Chunk
from bot.texts import Language, text

log = logging.getLogger(__name__)

REMEMBERED = 10_000
AT_ONCE = 20


class Hints:
    """Says each sentence once in a Place, as far as this process remembers."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._told: set[tuple[Place, str]] = set()
        self._running: set[asyncio.Task[None]] = set()

    def say(self, place: Place, key: str, language: Language) -> None:
        """Say it, unless it was said here already or too many are being said."""
        if (place, key) in self._told or len(self._running) >= AT_ONCE:
            return
        if len(self._told) >= REMEMBERED:
            self._told.clear()
        self._told.add((place, key))
        task = asyncio.create_task(self._send(place, text(key, language)), name="hint")
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    async def close(self) -> None:
        """End what is still being said."""
        await end(*self._running)

    async def _send(self, place: Place, sentence: str) -> None:
        try:
            await self._gateway.send(place, Chunk(sentence))
        except DeliveryError as error:
            log.info("a hint could not be delivered: %s", error)
