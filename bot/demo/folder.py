"""Where a demo keeps its things, and that only one demo at a time uses them.

The lock is the operating system's (flock), not a file with a process id: it is gone the moment its
holder is, however that ended, so nothing stale can keep a demo from starting.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from bot.errors import StartError

NAME = "bot-demo"


@dataclass(frozen=True, slots=True)
class Folder:
    """The places inside the folder."""

    path: Path

    @property
    def mongo(self) -> Path:
        """What MongoDB writes."""
        return self.path / "mongo"

    @property
    def clock(self) -> Path:
        """By how much the demo's clock was moved; kept, or what was said later would lie in the
        future.
        """
        return self.path / "clock"

    @property
    def log(self) -> Path:
        """What the bot's process logged since it was started last."""
        return self.path / "bot.log"


def default_folder(environ: Mapping[str, str], platform: str = sys.platform) -> Path:
    """The usual place of an application's data on this system."""
    home = Path.home()
    if platform == "darwin":
        return home / "Library" / "Application Support" / NAME
    if platform == "win32":
        return Path(environ.get("LOCALAPPDATA") or home / "AppData" / "Local") / NAME
    return Path(environ.get("XDG_DATA_HOME") or home / ".local" / "share") / NAME


@contextmanager
def held(path: Path) -> Iterator[Folder]:
    """The folder, made if it is missing, ours alone for as long as the block runs."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.chmod(0o700)  # also where it was there before: all that is said is in it
        file = (path / "lock").open("a", encoding="ascii")
    except OSError as fault:
        raise StartError(f"{path} cannot be used as the demo's folder: {fault.strerror}.") from None
    with file:
        try:
            _lock(file)
        except OSError:
            raise StartError(
                f"Another `bot demo` is using {path}: end it, or name another --folder."
            ) from None
        yield Folder(path)


def _lock(file: TextIO) -> None:
    if sys.platform == "win32":
        import msvcrt  # noqa: PLC0415 - each system has only one of the two

        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
    else:
        import fcntl  # noqa: PLC0415 - as above

        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
