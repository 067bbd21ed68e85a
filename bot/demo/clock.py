"""The demo's clock: the machine's time, moved by the seconds in a file that several processes
share.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path


class ShiftedClock:
    """The machine's time, moved by the seconds in a file.

    It is read at each use, so processes that share it agree.
    """

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
        """Move forward, for everybody who shares the file and at once: nobody reads half a
        number.
        """
        written = self._file.with_name(f"{self._file.name}.new")
        written.write_text(str((self.shift + by).total_seconds()), encoding="ascii")
        written.replace(self._file)
