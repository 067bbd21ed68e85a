"""Files that people sent: fetched when they are needed, never kept.

A file stands in a message as one block:

    {"type": "file", "kind": "picture" | "pdf" | "text" | "voice" | "audio", "file_id": …,
    "unique_id": …,
     "name": a harmless one or "", "bytes": …, "tokens": an estimate, once it was opened, "album":
     where it is in one}

`file_id` is Telegram's name for it, as the update of an authenticated sender had it, and means
nothing to another bot; `unique_id` is the same wherever the file turns up again.
"""

from __future__ import annotations

from typing import Protocol


class Files(Protocol):
    """Where the bytes of files are."""

    async def read(self, file_id: str) -> bytes:
        """The whole file, of bounded size. Raises FileGone, FileTooLarge or FileUnavailable."""


class Transcribe(Protocol):
    """Writes down what was said."""

    async def __call__(self, sound: bytes, name: str) -> str:
        """The words of the recording; `name` tells its format by its ending.

        Raises NotTranscribed.
        """
