"""python-telegram-bot over connections of our own, for answers that are not Telegram's: a proxy's
page, half a body.

The library prints such a body, which may hold what people wrote, and trips over JSON that is no
object. Here it is a NetworkError like any other break on the way: whether the request was carried
out, nobody can say. A 5xx says that it was not.
"""

from __future__ import annotations

import ssl
from functools import cache
from http import HTTPStatus
from typing import Any

import httpx
from telegram import Bot
from telegram.error import NetworkError
from telegram.request import HTTPXRequest

from bot.errors import FileGone, FileTooLarge, FileUnavailable
from bot.telegram.api_errors import ServerFault
from bot.telegram.wire_json import read_json

POOL_SECONDS = 10
CONNECTIONS = 256


def bot_at(api_url: str, token: str) -> Bot:
    """The bot of this token, over connections of its own: one of them for updates alone."""
    return Bot(
        token,
        base_url=f"{api_url}/bot",
        base_file_url=f"{api_url}/file/bot",
        request=Connection(CONNECTIONS, POOL_SECONDS),
        get_updates_request=Connection(1),
    )


@cache
def tls_context() -> ssl.SSLContext:
    """What httpx would make for each client of its own; it takes as long as 40 ms."""
    return httpx.create_ssl_context()


class Connection(HTTPXRequest):
    """The library's connections, with our reading of what comes back."""

    def __init__(self, connections: int, pool_seconds: float = 1.0) -> None:
        super().__init__(
            connections, pool_timeout=pool_seconds, httpx_kwargs={"verify": tls_context()}
        )

    async def fetch(self, url: str, max_bytes: int) -> bytes:
        """A file.

        The library would read one of any size. Raises FileGone, FileTooLarge or FileUnavailable.
        """
        got = bytearray()
        try:
            async with self._client.stream(
                "GET", url, headers={"Accept-Encoding": "identity"}
            ) as response:
                if response.status_code == HTTPStatus.NOT_FOUND:
                    raise FileGone
                response.raise_for_status()
                async for piece in response.aiter_raw():
                    got += piece
                    if len(got) > max_bytes:
                        raise FileTooLarge
        except (httpx.HTTPError, httpx.InvalidURL) as failure:
            raise FileUnavailable(f"it cannot be fetched: {type(failure).__name__}") from None
        return bytes(got)

    async def do_request(self, *given: Any, **options: Any) -> tuple[int, bytes]:
        """The status and the body of an answer. Raises ServerFault for a 5xx."""
        code, payload = await super().do_request(*given, **options)
        if code >= HTTPStatus.INTERNAL_SERVER_ERROR:
            raise ServerFault(f"status {code}")
        return code, payload

    @staticmethod
    def parse_json_payload(payload: bytes) -> dict[str, object]:
        """An answer of the Bot API. Raises NetworkError for anything else."""
        answer = read_json(payload)
        if not isinstance(answer, dict) or (
            "result" not in answer and answer.get("ok") is not False
        ):
            raise NetworkError("the answer is not one of the Bot API")
        return answer
