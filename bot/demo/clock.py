"""The demo's clock: the machine's time plus an offset, which processes share through a file."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path


class ShiftedClock:
    """The machine's time plus the seconds in a file.

    The file is read at each use, so all processes that share it agree.
    """

    def __init__(self, file: Path) -> None:
        self._file = file

    def now(self) -> datetime:
        """The machine's time plus the offset."""
        return datetime.now(UTC) + self.shift

    @property
    def shift(self) -> timedelta:
        """The offset; zero while there is no file."""
        try:
            return timedelta(seconds=float(self._file.read_text(encoding="ascii")))
        except (OSError, ValueError):
            return timedelta()

    def advance(self, by: timedelta) -> None:
        """Move the clock forward for every process, atomically: nobody reads half a number."""
        written = self._file.with_name(f"{self._file.name}.new")
        written.write_text(str((self.shift + by).total_seconds()), encoding="ascii")
        written.replace(self._file)
