"""Sentences for people who will get no answer: said seldom, and without anybody waiting for it.

Neither a stranger who writes a thousand times nor a chat that Telegram slows down may hold up the intake.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from datetime import datetime, timedelta
from typing import Any

from bot.errors import DeliveryError
from bot.ops.stopping import end
from bot.owner import Place
from bot.ports import Clock
from bot.telegram.gateway import Gateway
from bot.telegram.splitting import Chunk
from bot.texts import Language, text

log = logging.getLogger(__name__)

REMEMBERED = 10_000
AGAIN = timedelta(hours=1)
AT_ONCE = 20


class Hints:
    """Says each sentence at most once an hour in a Place, as far as this process remembers."""

    def __init__(self, gateway: Gateway, clock: Clock) -> None:
        self._gateway = gateway
        self._clock = clock
        self._told: dict[tuple[Place, str], datetime] = {}
        self._running: set[asyncio.Task[None]] = set()

    def say(self, place: Place, key: str, language: Language) -> None:
        """Say it, unless it was said here of late or too many are being said."""
        now, told = self._clock.now(), self._told.get((place, key))
        if (told is not None and now - told < AGAIN) or len(self._running) >= AT_ONCE:
            return
        if len(self._told) >= REMEMBERED:
            self._told.clear()
        self._told[place, key] = now
        self._begin(self._send(place, text(key, language)))

    def leave(self, place: Place, key: str, language: Language) -> None:
        """Say why, and leave the chat."""
        self._begin(self._leave(place, text(key, language)))

    def _begin(self, saying: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(saying, name="hint")
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    async def _leave(self, place: Place, sentence: str) -> None:
        await self._send(place, sentence)
        await self._gateway.leave(place)

    async def close(self) -> None:
        """End what is still being said."""
        await end(*self._running)

    async def _send(self, place: Place, sentence: str) -> None:
        try:
            async with self._gateway.floor(place):
                await self._gateway.send(place, Chunk(sentence))
        except DeliveryError as error:
            log.info("a hint could not be delivered: %s", error)
