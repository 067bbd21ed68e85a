"""Pushing updates to a webhook as Telegram does.

One queue per chat: the next update of a chat waits for the answer to the one before. An answer that
is not 2xx is tried again after 1, 2, 4 … 60 seconds, or after what Retry-After asks (an hour at
most); a day later it is given up; 23 hours of 410 remove the webhook. `pace` shortens Telegram's
seconds for those who cannot wait.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import datetime, timedelta

import aiohttp

from bot.standins.telegram.state import TelegramState, Webhook
from bot.standins.telegram.updates import Pending

ANSWER_SECONDS = 60
MAX_DELAY_SECONDS, MAX_ASKED = 60.0, 3600.0
GONE = timedelta(hours=23)
SECRET_HEADER = "X-Telegram-Bot-Api-Secret-Token"  # noqa: S105 - a header's name


@dataclass(frozen=True, slots=True)
class Push:
    """One try to deliver one update; status 0: no answer.

    `wait` is what followed a failure, in Telegram's seconds.
    """

    update_id: int
    lane: int
    at: datetime
    status: int
    wait: float = 0


class Pusher:
    """Delivers what waits, while a webhook is set."""

    def __init__(self, state: TelegramState, pace: float) -> None:
        self._state = state
        self._pace = pace
        self._lanes: dict[int, asyncio.Task[None]] = {}
        self.pushes: list[Push] = []

    async def run(self) -> None:
        """Push until cancelled."""
        async with aiohttp.ClientSession(
            timeout=aiohttp.ClientTimeout(total=ANSWER_SECONDS)
        ) as http:
            try:
                while True:
                    self._begin(http)
                    await self._state.signal.wait()
            finally:
                await self._end()

    def _begin(self, http: aiohttp.ClientSession) -> None:
        hook = self._state.webhook
        for item in self._state.updates.pending if hook.url else ():
            if item.lane not in self._lanes and len(self._lanes) < hook.connections:
                self._lanes[item.lane] = asyncio.create_task(self._deliver(http, hook, item))

    async def _end(self) -> None:
        tasks = tuple(self._lanes.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _deliver(self, http: aiohttp.ClientSession, hook: Webhook, item: Pending) -> None:
        delay = 1.0
        try:
            while self._state.webhook is hook and item in self._state.updates.pending:
                if (wait := await self._attempt(http, hook, item, delay)) is None:
                    self._state.updates.drop(item)
                    return
                await asyncio.sleep(wait * self._pace)
                delay = min(delay * 2, MAX_DELAY_SECONDS)
        finally:
            del self._lanes[item.lane]
            self._state.signal.ring()

    async def _attempt(
        self, http: aiohttp.ClientSession, hook: Webhook, item: Pending, delay: float
    ) -> float | None:
        """None: delivered. Otherwise how long to wait."""
        status, asked = await self._post(http, hook, item)
        delivered = status // 100 == 2  # noqa: PLR2004 - the class of the status
        wait = 0.0 if delivered else min(asked, MAX_ASKED) or delay
        self.pushes.append(Push(item.id, item.lane, self._state.now, status, wait))
        self._watch_gone(hook, status)
        self._state.signal.ring()
        return None if delivered else wait

    async def _post(
        self, http: aiohttp.ClientSession, hook: Webhook, item: Pending
    ) -> tuple[int, float]:
        headers = {SECRET_HEADER: hook.secret} if hook.secret else {}
        try:
            async with http.post(
                hook.url, json=item.update, headers=headers, allow_redirects=False
            ) as answer:
                await answer.read()
                if not answer.ok:
                    hook.last_error = (
                        self._state.now,
                        f"Wrong response from the webhook: {answer.status} {answer.reason}",
                    )
                asked = answer.headers.get("Retry-After", "")
                return answer.status, float(asked) if asked.isdecimal() else 0.0
        except TimeoutError:
            hook.last_error = self._state.now, "Read timeout expired"
        except aiohttp.ClientError:
            hook.last_error = self._state.now, "Connection refused"
        return 0, 0.0

    def _watch_gone(self, hook: Webhook, status: int) -> None:
        now = self._state.now
        if status != 410:  # noqa: PLR2004 - Gone
            hook.gone_since = None
        elif hook.gone_since is None:
            hook.gone_since = now
        elif now - hook.gone_since >= GONE:
            self._state.webhook = Webhook()
