"""The schedule of faults: `server.faults.next(Fault.overloaded())`, first planned, first served.

A fault that bends a stream waits for a request that asks for one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bot.standins.claude.answers import Json
from bot.standins.claude.faults import Fault

When = Callable[[Json], bool]


def any_request(_body: Json) -> bool:
    """Every request."""
    return True


@dataclass(slots=True)
class _Entry:
    fault: Fault
    when: When
    times: int | None


class Faults:
    """What goes wrong with the requests to come, and how slowly answers are written."""

    def __init__(self) -> None:
        self._entries: list[_Entry] = []
        self.pace = 0.0

    def next(self, *faults: Fault, when: When = any_request, times: int | None = 1) -> None:
        """Let each fault happen to that many requests (None: to all) that satisfy `when`."""
        self._entries.extend(_Entry(fault, when, times) for fault in faults)

    def slow(self, seconds_per_piece: float) -> None:
        """Answer slowly, piece by piece, until told otherwise."""
        self.pace = seconds_per_piece

    def clear(self) -> None:
        """Everything works again."""
        self._entries.clear()
        self.pace = 0.0

    def take(self, body: Json) -> Fault | None:
        """What goes wrong with this request."""
        for entry in self._entries:
            if entry.when(body) and (body.get("stream") or entry.fault.bend is None):
                return self._use(entry)
        return None

    def _use(self, entry: _Entry) -> Fault:
        if entry.times is not None:
            entry.times -= 1
            if not entry.times:
                self._entries.remove(entry)
        return entry.fault
