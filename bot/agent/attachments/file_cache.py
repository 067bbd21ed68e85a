"""Bytes of files, kept at hand for a while: a file is asked for with every request while its
message is in view.

Bounded in bytes and in time, and of this process alone. A file has one content for good, so nothing
here can be stale; whoever has a file's id got it from Telegram, in a message of the person it is
opened for.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

from bot.ports import Files


@dataclass(frozen=True, slots=True)
class Kept:
    """A file's content, and since when it lies here."""

    since: float
    content: bytes


@dataclass(frozen=True, slots=True)
class FileCache:
    """Implements Files before another one. The one asked for least lately gives way first."""

    files: Files
    now: Callable[[], float]
    max_bytes: int = 32 * 2**20
    seconds: float = 600.0
    _kept: OrderedDict[str, Kept] = field(default_factory=OrderedDict)

    async def read(self, file_id: str) -> bytes:
        """The whole file."""
        self._clear()
        if file_id in self._kept:
            self._kept.move_to_end(file_id)
            return self._kept[file_id].content
        content = await self.files.read(file_id)
        self._kept[file_id] = Kept(self.now(), content)
        self._clear()
        return content

    def _clear(self) -> None:
        oldest = self.now() - self.seconds
        for file_id in [file_id for file_id, kept in self._kept.items() if kept.since < oldest]:
            del self._kept[file_id]
        while sum(len(kept.content) for kept in self._kept.values()) > self.max_bytes:
            self._kept.popitem(last=False)
