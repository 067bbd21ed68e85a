"""The folder of a demo, locked so that only one demo uses it at a time.

The lock is the operating system's (flock), not a file with a process id: it ends with its process,
however that ends, so nothing stale can keep a demo from starting.
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
    """The paths inside the folder."""

    path: Path

    @property
    def mongo(self) -> Path:
        """The database's files."""
        return self.path / "mongo"

    @property
    def clock(self) -> Path:
        """The clock's offset, kept because later messages would otherwise lie in the future."""
        return self.path / "clock"

    @property
    def log(self) -> Path:
        """What the bot has logged since its last start."""
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
    """Create the folder if it is missing and lock it for as long as the block runs."""
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
