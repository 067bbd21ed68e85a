"""The journal of requests, in order, as frozen values; a test can wait for one.

An entry appears when its request arrives and is replaced when it ends, so a test can wait for
either. Keys never get in: the headers that carry them are left out.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal

from bot.standins.claude.cache import PromptUsage

SECRET_HEADERS = {"authorization", "x-api-key", "cookie", "proxy-authorization"}
State = Literal["open", "answered", "refused", "faulted", "left"]


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request and its fate.

    `left`: the client went away before the end; `reason`: why refused, or which fault.
    """

    number: int
    path: str
    raw: bytes
    body: Mapping[str, Any]
    headers: Mapping[str, str]
    at: datetime
    state: State = "open"
    reason: str = ""
    prompt: PromptUsage | None = None
    answer: Mapping[str, Any] | None = None
    written: str = ""
    """What the model had written when the stream ended, broke or was left."""

    @property
    def usage(self) -> Mapping[str, Any]:
        """The usage as it was returned; empty for a request that cost nothing."""
        return self.answer["usage"] if self.answer else {}


class Journal:
    """The exchanges of one server."""

    def __init__(self) -> None:
        self._exchanges: list[Exchange] = []
        self._changed = asyncio.Condition()

    @property
    def exchanges(self) -> Sequence[Exchange]:
        """Every request so far, in the order of arrival."""
        return tuple(self._exchanges)

    @property
    def refusals(self) -> Sequence[Exchange]:
        """The requests the API found unacceptable."""
        return tuple(exchange for exchange in self._exchanges if exchange.state == "refused")

    def open(self, path: str, raw: bytes, headers: Mapping[str, str], at: datetime) -> int:
        """Note a request; its number."""
        public = {
            name.lower(): value
            for name, value in headers.items()
            if name.lower() not in SECRET_HEADERS
        }
        self._exchanges.append(Exchange(len(self._exchanges), path, raw, {}, public, at))
        return len(self._exchanges) - 1

    async def note(self, number: int, **changes: Any) -> None:
        """Complete an entry."""
        self._exchanges[number] = replace(self._exchanges[number], **changes)
        async with self._changed:
            self._changed.notify_all()

    def wrote(self, number: int, written: str) -> None:
        """More of the answer was written."""
        if written:
            known = self._exchanges[number]
            self._exchanges[number] = replace(known, written=known.written + written)

    async def leave(self, number: int) -> None:
        """The client went away; what was decided before stays decided."""
        if self._exchanges[number].state == "open":
            await self.note(number, state="left")

    async def until(
        self, holds: Callable[[Sequence[Exchange]], bool], seconds: float = 60
    ) -> Sequence[Exchange]:
        """Wait for the journal to look like this; TimeoutError when it does not in time."""
        async with asyncio.timeout(seconds), self._changed:
            await self._changed.wait_for(lambda: holds(self.exchanges))
        return self.exchanges
