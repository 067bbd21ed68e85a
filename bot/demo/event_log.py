"""The demo's event log: what happened to Sessions, the bot and the clock, without anybody's words.

An event is a small JSON object with a growing number; `page_server` documents its fields. Only the
latest are kept, and each wakes those who wait for the next one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any

from bot.demo.json_values import to_json
from bot.ports import Clock
from bot.standins.telegram.signal import Signal

KEPT = 500
Event = dict[str, Any]


@dataclass(frozen=True, slots=True)
class About:
    """Whom an event is about; every field may be unknown."""

    person: int | None = None
    chat: int | None = None
    thread: int | None = None
    session: str | None = None


NOBODY = About()


class EventLog:
    """The events of one demo."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._signal = Signal()
        self._kept: deque[Event] = deque(maxlen=KEPT)
        self._number = 0

    def note(self, what: str, about: About = NOBODY, **fields: Any) -> None:
        """Add an event."""
        self._number += 1
        whom = {
            "person": about.person,
            "chat": about.chat,
            "thread": about.thread,
            "session": about.session,
        }
        self._kept.append(
            {
                "number": self._number,
                "at": to_json(self._clock.now()),
                "what": what,
                **whom,
                **fields,
            }
        )
        self._signal.ring()

    def since(self, number: int) -> Sequence[Event]:
        """Return the events after this number, oldest first; all, if the number is of an earlier
        demo.
        """
        number = number if number <= self._number else 0
        return [event for event in self._kept if event["number"] > number]

    async def follow(self, number: int, max_wait: float) -> AsyncIterator[Sequence[Event]]:
        """Yield the events after this number, then new ones as they come; an empty list after
        `max_wait` seconds without any.
        """
        while True:
            fresh = self.since(number)
            yield fresh
            number = fresh[-1]["number"] if fresh else number
            if not self.since(number):
                await self._signal.wait(max_wait)
