"""Sentences for people who will get no answer: said seldom, and without anybody waiting for it.

Neither a stranger who writes a thousand times nor a chat that Telegram slows down may hold up the
intake. What is said to strangers is a courtesy: it goes out only where there is room, so that a
million of them delay no answer.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from datetime import datetime, timedelta

from bot.aio import cancel_and_wait
from bot.errors import DeliveryError
from bot.owner import Place
from bot.ports import Clock
from bot.telegram.outbound.chat_actions import answer_callback_query, leave_chat
from bot.telegram.outbound.messages import Messages
from bot.telegram.outbound.splitting import Chunk
from bot.texts import Language, text

log = logging.getLogger(__name__)

MAX_REMEMBERED = 10_000
AGAIN = timedelta(hours=1)
ABOVE_BUTTONS = "above buttons"
SOONER_AGAIN = {"too_fast": timedelta(minutes=1), ABOVE_BUTTONS: timedelta(seconds=1)}
TO_STRANGERS = frozenset({"access_refused", "anonymous_hint"})
AT_ONCE = 20


class ThrottledNotices:
    """Says each sentence at most once an hour in a chat, whatever the topic, as far as this process
    remembers.
    """

    def __init__(self, messages: Messages, clock: Clock) -> None:
        self._messages = messages
        self._clock = clock
        self._told: dict[tuple[int, str], datetime] = {}
        self._running: set[asyncio.Task[None]] = set()

    def say(self, place: Place, key: str, language: Language) -> None:
        """Say it, unless it was said here of late or too many are being said."""
        if self._may_say(place, key):
            self._begin(self._tell(place, key, language))

    def answer(self, query_id: str, place: Place, key: str, language: Language) -> None:
        """Say it above the button that was pressed: a flood of presses hears it once a second."""
        if self._may_say(place, ABOVE_BUTTONS):
            transport = self._messages.transport
            self._begin(answer_callback_query(transport, query_id, text(key, language)))

    def leave(self, place: Place, key: str, language: Language) -> None:
        """Say why, and leave the chat."""
        self._begin(self._leave(place, text(key, language)))

    def _may_say(self, place: Place, key: str) -> bool:
        """Whether so little is being said that this may be, too; if so, it counts as said."""
        now, told = self._clock.now(), self._told.get((place.chat_id, key))
        is_recent = told is not None and now - told < SOONER_AGAIN.get(key, AGAIN)
        if is_recent or len(self._running) >= AT_ONCE:
            return False
        self._note(place, key, now)
        return True

    def _begin(self, notice: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(notice, name="hint")
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    def _note(self, place: Place, key: str, now: datetime) -> None:
        """The latest comes last, so what is forgotten is what was said longest ago."""
        self._told.pop((place.chat_id, key), None)
        if len(self._told) >= MAX_REMEMBERED:
            del self._told[next(iter(self._told))]
        self._told[place.chat_id, key] = now

    async def _tell(self, place: Place, key: str, language: Language) -> None:
        sentence = _sentence(place, key, language)
        if key not in TO_STRANGERS:
            await self._send(place, sentence)
        elif not await self._offer(place, sentence):
            self._told.pop((place.chat_id, key), None)

    async def _leave(self, place: Place, sentence: str) -> None:
        await self._offer(place, sentence)
        await leave_chat(self._messages.transport, place)

    async def close(self) -> None:
        """End what is still being said."""
        await cancel_and_wait(*self._running)

    async def _send(self, place: Place, sentence: str) -> None:
        try:
            async with self._messages.transport.chat_lock(place):
                await self._messages.send(place, Chunk(sentence))
        except DeliveryError as error:
            log.info("a hint could not be delivered: %s", error)

    async def _offer(self, place: Place, sentence: str) -> bool:
        """Say it if there is room now; False: there is none."""
        try:
            return await self._messages.send_preview(place, Chunk(sentence)) is not None
        except DeliveryError as error:
            log.info("a hint could not be delivered: %s", error)
            return True


def _sentence(place: Place, key: str, language: Language) -> str:
    """The sentence; in private a stranger is told the id by which he can be let in."""
    if key == "access_refused" and place.is_private:
        return text("access_refused_private", language, id=str(place.chat_id))
    return text(key, language)
