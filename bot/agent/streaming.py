"""What the person has seen of a turn so far, on a Reply that can only grow or start over."""

from __future__ import annotations

from bot.agent.echoes import EchoFilter
from bot.ports import Reply


class StreamedText:
    """The words shown, call by call, so that a repeated call takes back its own and no others."""

    def __init__(self, reply: Reply) -> None:
        self._reply = reply
        self._kept = self._gap = self.fresh = ""
        self._status = ""
        self._echoes = EchoFilter()

    def grow(self, delta: str) -> None:
        """More words of the running call; tags of ours among them are not shown."""
        self._show(self._echoes.feed(delta))

    def _show(self, delta: str) -> None:
        if not (delta if self.fresh else delta.strip()):
            return
        self.status("")
        self._reply.grow(delta if self.fresh else self._gap + delta)
        self.fresh += delta

    def status(self, key: str) -> None:
        """What is being done beside writing; empty: nothing."""
        if key != self._status:
            self._status = key
            self._reply.status(key)

    def keep(self, gap: str) -> None:
        """The running call is done; should more words follow, `gap` stands before them."""
        self._show(self._echoes.rest())
        self._kept += self._gap + self.fresh if self.fresh else ""
        self._gap, self.fresh = gap if self._kept else "", ""

    def take_back(self) -> None:
        self.status("")
        self._echoes = EchoFilter()
        kept, gap = self._kept, self._gap
        if self.fresh:
            self.clear()
            self._kept, self._gap = kept, gap
            if kept:
                self._reply.grow(kept)

    def clear(self) -> None:
        """Nothing of a turn that failed is stored, so nothing of it stays in sight."""
        self.status("")
        if self._kept or self.fresh:
            self._kept = self._gap = self.fresh = ""
            self._reply.restart()
