"""A signal at every change, for those who wait: long polls, event streams, tests."""

from __future__ import annotations

import asyncio
from contextlib import suppress


class Signal:
    """Wakes everybody who waits at the moment it rings."""

    def __init__(self) -> None:
        self._waiting: set[asyncio.Event] = set()

    def ring(self) -> None:
        """Something changed."""
        for event in self._waiting:
            event.set()

    async def wait(self, seconds: float | None = None) -> None:
        """Return at the next ring, or when the time is over."""
        event = asyncio.Event()
        self._waiting.add(event)
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await event.wait()
        finally:
            self._waiting.discard(event)
