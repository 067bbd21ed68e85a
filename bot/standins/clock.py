"""The clock that the stand-ins take: anything with a `now`."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Says what time it is, in UTC."""

    def now(self) -> datetime:
        """Return the present moment."""


class SystemClock:
    """The machine's time, UTC."""

    def now(self) -> datetime:
        """Return the present moment."""
        return datetime.now(UTC)
