"""Updates that Telegram delivers by itself: stored first, answered 200 only then, never kept
waiting for a model.

Telegram repeats what is not answered with 2xx, and holds the chat's next update back meanwhile. So:
200 once the inbox has the update, also for one that came again, and for what can never be taken in,
which is dropped with one log line; 503 while it cannot be stored. Everybody can reach this address,
so what does not carry the secret learns nothing, and nothing that was sent comes back in an answer.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

from aiohttp import web
from telegram import Bot
from telegram.error import TelegramError

from bot.errors import StartError, StoreError
from bot.telegram.api_errors import reason_of
from bot.telegram.inbound.poller import ALLOWED_UPDATES, is_update
from bot.telegram.wire_json import read_json

log = logging.getLogger(__name__)

SECRET_HEADER = "X-Telegram-Bot-Api-Secret-Token"  # noqa: S105 - the header's name
MAX_UPDATE_BYTES = 1_000_000
BODY_SECONDS = 10.0
"""How long a body may take to arrive."""
AGAIN_SECONDS = 2


class Webhook:
    """One address for updates, and the secret that opens it."""

    def __init__(
        self,
        url: str,
        secret: str,
        receive: Callable[..., Awaitable[None]],
        *,
        body_seconds: float = BODY_SECONDS,
    ) -> None:
        self._url = url
        self._secret = secret
        self._receive = receive
        self._body_seconds = body_seconds

    async def announce(self, bot: Bot) -> None:
        """Tell Telegram where to deliver. What waits there is not dropped."""
        try:
            await bot.set_webhook(
                self._url,
                secret_token=self._secret,
                allowed_updates=ALLOWED_UPDATES,
                drop_pending_updates=False,
            )
        except TelegramError as refusal:
            raise StartError(f"WEBHOOK_URL: Telegram refuses it ({reason_of(refusal)}).") from None

    def routes(self) -> list[web.RouteDef]:
        """The address, by the path that WEBHOOK_URL ends in."""
        return [web.post(urlsplit(self._url).path or "/", self._post)]

    async def _post(self, request: web.Request) -> web.Response:
        if status := self._refusal(request):
            return web.Response(status=status)
        update = read_json(await self._read(request))
        if not is_update(update):
            log.warning("what was delivered is no update, or too large, and is dropped")
            return web.Response()
        try:
            await self._receive(update)
        except StoreError:
            return web.Response(status=503, headers={"Retry-After": str(AGAIN_SECONDS)})
        return web.Response()

    def _refusal(self, request: web.Request) -> int:
        """The status that refuses a request by its head alone; 0: it may go on."""
        if not self._is_telegram(request):
            return 403
        if request.content_type != "application/json":
            return 415
        return 0

    async def _read(self, request: web.Request) -> bytes:
        """The body; empty where it is too large, which the application's own limit, just above
        ours, finds where its size was not announced.
        """
        if (request.content_length or 0) > MAX_UPDATE_BYTES:
            return b""
        try:
            async with asyncio.timeout(self._body_seconds):
                return await request.read()
        except web.HTTPRequestEntityTooLarge:
            return b""
        except (TimeoutError, ConnectionError):
            raise web.HTTPRequestTimeout(text="") from None

    def _is_telegram(self, request: web.Request) -> bool:
        given = request.headers.get(SECRET_HEADER, "")
        return hmac.compare_digest(given.encode(errors="surrogateescape"), self._secret.encode())
