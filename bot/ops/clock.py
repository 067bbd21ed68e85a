"""Time: the system's clock, and one that stands still for tests."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta


class SystemClock:
    """The machine's time, UTC."""

    def now(self) -> datetime:
        """The present moment."""
        return datetime.now(UTC)


class ManualClock:
    """A clock that stands still until it is moved."""

    def __init__(self, start: datetime = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)) -> None:
        self._now = start

    def now(self) -> datetime:
        """The moment it was last moved to."""
        return self._now

    def advance(self, by: timedelta) -> None:
        """Move forward."""
        self._now += by
