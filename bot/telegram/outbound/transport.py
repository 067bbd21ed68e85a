"""Makes one call to Telegram: at the pace it grants, repeated where that is safe, its refusals
translated into our errors.

What Telegram refuses is repaired and sent again: formatting it cannot parse, a deleted topic, a
group that was migrated. A 429 delays its own chat and no other; a preview is not worth a wait and
goes out only where there is room. A call is repeated only when it cannot have arrived: Telegram has
no idempotency key, so after an unclear failure a second try might send a copy. A 5xx is a refusal
until the tries are spent; a refused token is an outage. Tries and waiting are bounded.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import TypeVar
from weakref import WeakValueDictionary

import httpx
from telegram import Bot
from telegram.error import (
    BadRequest,
    ChatMigrated,
    Forbidden,
    InvalidToken,
    NetworkError,
    RetryAfter,
    TelegramError,
)

from bot.errors import ChatBusy, DeliveryError, StoreError
from bot.owner import Place
from bot.telegram.api_errors import ServerFault, pause_of, reason_of
from bot.telegram.outbound.errors import Outgoing, repair
from bot.telegram.outbound.limiter import Limiter

log = logging.getLogger(__name__)

MAX_WAIT = timedelta(seconds=3)
"""A longer penalty is not slept here: the caller gives its lane back, and the message waits in the
inbox.
"""
UNREACHED_PAUSE = timedelta(seconds=10)
"""How long the lane waits after Telegram could not be reached in `MAX_TRIES` tries."""
MAX_TRIES = 5
MAX_BACKOFF_SECONDS = 8.0
NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
"""Causes after which a request cannot have arrived."""

Sleep = Callable[[float], Awaitable[None]]
Moved = Callable[[int, int], Awaitable[None]]
T = TypeVar("T")


class Transport:
    """The connection to Telegram with its limits; one per process."""

    def __init__(
        self,
        bot: Bot,
        *,
        max_wait: timedelta = MAX_WAIT,
        sleep: Sleep = asyncio.sleep,
        limiter: Limiter | None = None,
        moved: Moved | None = None,
    ) -> None:
        """`moved` is called with the old and the new id of a group that was migrated."""
        self.bot = bot
        self.sleep = sleep
        self.limiter = limiter or Limiter(lambda: asyncio.get_running_loop().time())
        self._max_wait = max_wait
        self._moved = moved
        self._chat_locks: WeakValueDictionary[int, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def chat_lock(self, place: Place) -> AsyncIterator[None]:
        """Keep all other answers and previews out of this chat until several parts are sent.

        Raises ChatBusy where another answer holds the lock for too long, so that waiting for one
        chat does not keep a worker from the others.
        """
        chat_lock = self._chat_locks.setdefault(place.chat_id, asyncio.Lock())
        try:
            async with asyncio.timeout(self._max_wait.total_seconds()):
                await chat_lock.acquire()
        except TimeoutError:
            raise ChatBusy(self._max_wait.total_seconds()) from None
        try:
            yield
        finally:
            chat_lock.release()

    async def call(
        self,
        outgoing: Outgoing,
        attempt: Callable[[Outgoing], Awaitable[T]],
        *,
        is_idempotent: bool = False,
    ) -> T | None:
        """Wait for a slot and make the call until it succeeds; None where it may have arrived.

        Raises DeliveryError.
        """
        remaining = self._max_wait
        for tries in range(MAX_TRIES):
            remaining = await self._wait_for_slot(outgoing.chat_id, remaining)
            try:
                return await attempt(outgoing)
            except RetryAfter as penalty:
                busy = self._penalise(outgoing.chat_id, penalty)
                if remaining < pause_of(penalty):
                    raise busy from penalty
            except (BadRequest, Forbidden, ChatMigrated) as refusal:
                outgoing = await self._repair(outgoing, refusal)
            except InvalidToken as refusal:
                log.error("TELEGRAM_BOT_TOKEN: Telegram refuses the token; trying again later")  # noqa: TRY400 - one line is enough
                raise ChatBusy(UNREACHED_PAUSE.total_seconds()) from refusal
            except NetworkError as failure:
                is_last_refused = isinstance(failure, ServerFault) and tries == MAX_TRIES - 1
                if not is_idempotent and (is_last_refused or _may_have_arrived(failure)):
                    log.warning("delivery is uncertain, not repeated: %s", reason_of(failure))
                    return None
                await self.sleep(min(2**tries / 2, MAX_BACKOFF_SECONDS))
            except TelegramError as failure:
                raise DeliveryError(reason_of(failure)) from failure
        raise ChatBusy(UNREACHED_PAUSE.total_seconds())

    async def call_if_room(
        self, outgoing: Outgoing, attempt: Callable[[Outgoing], Awaitable[T]]
    ) -> T | None:
        """Make the call once, at once; None: there is no room for it now.

        Where Telegram refuses it, it is repaired and tried once more. Raises DeliveryError.
        """
        if not self._has_room(outgoing.chat_id):
            return None
        try:
            try:
                return await attempt(outgoing)
            except BadRequest as refusal:
                return await attempt(repair(outgoing, refusal))
        except RetryAfter as penalty:
            raise self._penalise(outgoing.chat_id, penalty) from penalty
        except TelegramError as failure:
            raise DeliveryError(reason_of(failure)) from failure

    def _has_room(self, chat_id: int) -> bool:
        chat_lock = self._chat_locks.get(chat_id)
        is_locked = chat_lock is not None and chat_lock.locked()
        return not is_locked and self.limiter.has_room(chat_id)

    def _penalise(self, chat_id: int, penalty: RetryAfter) -> ChatBusy:
        pause = pause_of(penalty).total_seconds()
        self.limiter.penalise(chat_id, pause)
        return ChatBusy(pause)

    async def _repair(self, outgoing: Outgoing, refusal: TelegramError) -> Outgoing:
        if isinstance(refusal, ChatMigrated):
            await self._note_move(outgoing.chat_id, refusal.new_chat_id)
        repaired = repair(outgoing, refusal)
        log.info("sending again in another way: %s", reason_of(refusal))
        return repaired

    async def _note_move(self, chat_id: int, new_id: int) -> None:
        try:
            if self._moved is not None:
                await self._moved(chat_id, new_id)
        except StoreError as failure:
            log.warning("the new id of a migrated group could not be stored: %s", failure)

    async def _wait_for_slot(self, chat_id: int, remaining: timedelta) -> timedelta:
        """Sleep until this chat may be called; the wait still allowed. Raises ChatBusy."""
        if penalty := self.limiter.penalty(chat_id):
            remaining -= timedelta(seconds=penalty)
            if remaining < timedelta():
                raise ChatBusy(penalty)
            await self.sleep(penalty)
            self.limiter.served(chat_id)
        if pause := self.limiter.reserve(chat_id):
            await self.sleep(pause)
        return remaining


def _may_have_arrived(failure: NetworkError) -> bool:
    """Whether nobody can know; a 5xx says no, though not for ever."""
    return not isinstance(failure, ServerFault) and not isinstance(failure.__cause__, NOT_SENT)
