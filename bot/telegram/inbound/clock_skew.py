"""Compares the host's clock with Telegram's: one WARNING when they are far apart, and a metric.

A date from the future shows at once that the host is behind. A date from the past may belong to an
update that waited, so the host counts as ahead only after several deliveries, each of one update,
were all late: then nothing is waiting, and lateness is the clock's.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Awaitable, Callable, Iterator

from bot.ports import Clock, Json

MAX_SKEW_SECONDS = 30.0
MIN_DELIVERIES = 5

log = logging.getLogger(__name__)


class ClockSkew:
    """Measures by the dates of updates as they come in; warns once in the life of a process."""

    def __init__(self, clock: Clock, show: Callable[[float], None]) -> None:
        self._clock = clock
        self._show = show
        self._late: deque[float] = deque(maxlen=MIN_DELIVERIES)
        self._has_warned = False

    def watching(self, receive: Callable[..., Awaitable[None]]) -> Callable[..., Awaitable[None]]:
        """The same intake, whose updates are also measured by."""

        async def watch(*updates: Json) -> None:
            self._note(list(_dates(*updates)), is_alone=len(updates) == 1)
            await receive(*updates)

        return watch

    def _note(self, dates: list[float], *, is_alone: bool) -> None:
        if not dates:
            return
        skew = self._clock.now().timestamp() - max(dates)
        if skew < -MAX_SKEW_SECONDS:
            self._tell(skew)
        elif is_alone:
            self._late.append(skew)
            if len(self._late) == MIN_DELIVERIES:
                self._tell(min(self._late))

    def _tell(self, skew: float) -> None:
        self._show(skew)
        if abs(skew) > MAX_SKEW_SECONDS and not self._has_warned:
            self._has_warned = True
            log.warning("the host's clock differs from Telegram's by %.0f seconds", skew)


def _dates(*updates: Json) -> Iterator[float]:
    """When messages were sent; the dates of edits and presses are those of older messages."""
    for update in updates:
        if isinstance(message := update.get("message"), dict) and isinstance(
            date := message.get("date"), int
        ):
            yield float(date)
