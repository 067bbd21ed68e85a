"""Time: the system's clock, one that several processes move together ("an hour passes" in the demo), one for tests."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path


class SystemClock:
    """The machine's time, UTC."""

    def now(self) -> datetime:
        """The present moment."""
        return datetime.now(UTC)


class ShiftedClock:
    """The machine's time, moved by the seconds in a file. It is read at each use, so processes that share it agree."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def now(self) -> datetime:
        """The present moment, as far as the file says."""
        return datetime.now(UTC) + self.shift

    @property
    def shift(self) -> timedelta:
        """How far it was moved; not at all while there is no file."""
        try:
            return timedelta(seconds=float(self._file.read_text(encoding="ascii")))
        except (OSError, ValueError):
            return timedelta()

    def advance(self, by: timedelta) -> None:
        """Move forward, for everybody who shares the file and at once: nobody reads half a number."""
        written = self._file.with_name(f"{self._file.name}.new")
        written.write_text(str((self.shift + by).total_seconds()), encoding="ascii")
        written.replace(self._file)


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
