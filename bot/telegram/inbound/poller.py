"""Long polling that confirms an update only when it is stored.

The offset moves past an update once the inbox has it. One that was fetched and not stored, because
the process was stopped or the store was away, is delivered again. python-telegram-bot's own polling
confirms what it has in memory, where a crash loses it, and reads a batch whole or not at all, so
one update it cannot read would stop the rest; here they come raw. Whatever Telegram or the store
answers, polling goes on, with one log line for a whole outage.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, timedelta
from typing import TypeGuard

from telegram import Bot
from telegram.error import Conflict, NetworkError, RetryAfter, TelegramError

from bot.errors import StoreError
from bot.ops.logs import whereabouts
from bot.ports import Clock, Json
from bot.telegram.api_errors import pause_of, reason_of

log = logging.getLogger(__name__)

ALLOWED_UPDATES = (
    "message",
    "edited_message",
    "callback_query",
    "my_chat_member",
    "stopped_message_generation",
)
POLL_TIMEOUT = timedelta(seconds=25)
ANSWER_SECONDS = 5
"""How much longer than the poll itself its answer may take."""
MAX_PAUSE = 30
STUCK_PAUSE = 2
"""Where all that came is unusable and cannot be confirmed: what comes beside it must not wait for
long.
"""
MAX_ID = 2**53
"""What a language with doubles for numbers can hold; MongoDB holds more."""
CONFLICT_PAUSE = 10


class NothingUsable(NetworkError):
    """All that Telegram delivered is no update."""


def is_update(found: object) -> TypeGuard[Json]:
    """Whether it can be stored under its id, and confirmed by it: an offset beyond all sense would
    confirm the rest.
    """
    return (
        isinstance(found, dict)
        and type(number := found.get("update_id")) is int
        and abs(number) < MAX_ID
    )


class Poller:
    """Fetches updates for one receiver, for ever."""

    def __init__(
        self,
        bot: Bot,
        receive: Callable[..., Awaitable[None]],
        clock: Clock,
        *,
        timeout: timedelta = POLL_TIMEOUT,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._bot = bot
        self._receive = receive
        self._clock = clock
        self._timeout = timeout
        self._sleep = sleep
        self._offset: int | None = None
        self._failures = 0
        self._explained: set[type[Exception]] = set()
        self.last_poll: datetime | None = None
        """When Telegram last answered; None: not yet."""

    async def run(self) -> None:
        """Receive until cancelled.

        What was fetched and not stored then is Telegram's to deliver again.
        """
        while not await self._attempt(self._end_webhook):
            pass
        while True:
            await self._attempt(self._poll)

    async def _end_webhook(self) -> None:
        """A webhook that was set forbids polling."""
        await self._bot.delete_webhook(drop_pending_updates=False)
        self.last_poll = self._clock.now()

    async def _poll(self) -> None:
        updates = await self._fetch()
        self.last_poll = self._clock.now()
        if updates:
            await self._receive(*updates)
            self._offset = max(update["update_id"] for update in updates) + 1
        else:
            # Everything is confirmed. Asking without an offset is right even where the ids begin
            # again at a lower number, as they do after a week of silence.
            self._offset = None

    async def _fetch(self) -> Sequence[Json]:
        # In lower case, which Telegram does not mind: the library warns of the name it has a method
        # for.
        answer: object = await self._bot.do_api_request(
            "getupdates",
            {"offset": self._offset, "timeout": self._timeout, "allowed_updates": ALLOWED_UPDATES},
            read_timeout=self._timeout.total_seconds() + ANSWER_SECONDS,
        )
        found = answer if isinstance(answer, list) else [answer]
        updates = [update for update in found if is_update(update)]
        if found and not updates:
            raise NothingUsable("the answer holds no updates")
        return updates

    async def _attempt(self, step: Callable[[], Awaitable[None]]) -> bool:
        try:
            await step()
        except Exception as failure:  # noqa: BLE001 - the library has no error of its own for some answers
            self._failures += 1
            self._explain(failure)
            await self._sleep(self._pause(failure))
            return False
        if self._failures:
            log.info("receiving again")
            self._failures = 0
            self._explained.clear()
        return True

    def _explain(self, failure: Exception) -> None:
        if type(failure) not in self._explained:
            log.warning("cannot receive, trying on: %s", _explained(failure))
        self._explained.add(type(failure))

    def _pause(self, failure: Exception) -> float:
        if isinstance(failure, RetryAfter):
            return pause_of(failure).total_seconds()
        if isinstance(failure, Conflict):
            return CONFLICT_PAUSE
        longest = STUCK_PAUSE if isinstance(failure, NothingUsable) else MAX_PAUSE
        return float(min(2 ** min(self._failures - 1, 5), longest))


def _explained(failure: Exception) -> str:
    if isinstance(failure, Conflict):
        return (
            "another process takes this bot's updates (a second poller with the same token, "
            "or a webhook)"
        )
    if isinstance(failure, TelegramError):
        return reason_of(failure)
    return (
        f"{type(failure).__name__}: {failure}"
        if isinstance(failure, StoreError)
        else whereabouts(failure)
    )
