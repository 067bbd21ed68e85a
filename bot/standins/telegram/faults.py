"""Scheduled faults, and Telegram's flood rules.

A fault is queued for a method (or for any, "*"), optionally for one chat, and used once, in order.
A dropped connection breaks before the call takes effect or after it; after it, the bot cannot know
whether its message was delivered.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal

from bot.standins.telegram.rules import Json, Refused, bad, forbidden, too_many

When = Literal["before", "after"]
PAGE = "<html><head><title>{0}</title></head><body><center><h1>{0}</h1></center></body></html>"


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that goes wrong with one call."""

    refusal: Refused | None = None
    page: int = 0
    """Answer with this status and an HTML page, as a proxy would, or with `body`."""
    body: str = ""
    drop: bool = False
    seconds: float = 0
    gate: asyncio.Event | None = None
    """Wait until it is set."""
    when: When = "before"
    """Whether it strikes before or after the call took effect."""

    @staticmethod
    def too_many(seconds: int) -> Fault:
        """429 with `retry_after`."""
        return Fault(too_many(seconds))

    @staticmethod
    def forbidden(description: str = "bot was blocked by the user") -> Fault:
        """403."""
        return Fault(forbidden(description))

    @staticmethod
    def refused(description: str) -> Fault:
        """400 in the given words."""
        return Fault(bad(description))

    @staticmethod
    def broken(status: int = 502, when: When = "before") -> Fault:
        """500, 502 and the like: an HTML page instead of JSON."""
        return Fault(page=status, when=when)

    @staticmethod
    def garbled(body: str, status: int = 200, when: When = "before") -> Fault:
        """An answer that is none of Telegram's: half a body, or JSON of another kind."""
        return Fault(page=status, body=body, when=when)

    @staticmethod
    def dropped(when: When = "before") -> Fault:
        """The connection breaks; "after": the message was delivered all the same."""
        return Fault(drop=True, when=when)

    @staticmethod
    def delay(seconds: float, when: When = "before") -> Fault:
        """A slow answer."""
        return Fault(seconds=seconds, when=when)

    @staticmethod
    def hold(gate: asyncio.Event, when: When = "before") -> Fault:
        """An answer that waits for the test."""
        return Fault(gate=gate, when=when)

    async def wait(self) -> None:
        """Take the time this fault takes."""
        if self.gate is not None:
            await self.gate.wait()
        if self.seconds:
            await asyncio.sleep(self.seconds)


@dataclass(slots=True)
class _Order:
    method: str
    chat: int | None
    faults: deque[Fault]
    lasting: bool = False


class FaultSchedule:
    """The faults that wait for their call."""

    def __init__(self) -> None:
        self._orders: list[_Order] = []

    def next(self, method: str, *faults: Fault, chat: int | None = None) -> None:
        """The next calls of `method` go wrong in this order, one fault each."""
        self._orders.append(_Order(method.lower(), chat, deque(faults)))

    def always(self, method: str, fault: Fault, chat: int | None = None) -> None:
        """Every call of `method` goes wrong until `clear`."""
        self._orders.append(_Order(method.lower(), chat, deque([fault]), lasting=True))

    def clear(self) -> None:
        """Nothing goes wrong any more."""
        self._orders.clear()

    def take(self, method: str, chat: int | None) -> Fault | None:
        """The fault due for this call."""
        for order in self._orders:
            if (
                order.method in {"*", method.lower()}
                and order.chat in {None, chat}
                and order.faults
            ):
                return order.faults[0] if order.lasting else order.faults.popleft()
        return None


@dataclass(slots=True)
class RateModel:
    """Telegram's flood rules: a second between messages of a chat, 30 a second in all, 20 a minute
    in a group.

    Short bursts pass, as they do in reality; edits, drafts and chat actions count as well. Who goes
    on during a penalty is told what is left of it.
    """

    burst: int = 3
    penalty: int = 5
    in_all: int = 30
    in_group: int = 20
    _calls: dict[int, deque[datetime]] = field(default_factory=dict)
    _until: dict[int, datetime] = field(default_factory=dict)

    def check(self, chat_id: int, now: datetime) -> None:
        """Refuse the call that comes too soon."""
        left = (self._until.get(chat_id, now) - now).total_seconds()
        if left > 0:
            raise too_many(-int(-left // 1))
        calls = self._calls.setdefault(chat_id, deque())
        calls.append(now)
        if self._crowded(chat_id, calls, now):
            self._until[chat_id] = now + timedelta(seconds=self.penalty)
            raise too_many(self.penalty)

    def _crowded(self, chat_id: int, calls: deque[datetime], now: datetime) -> bool:
        minute, second = now - timedelta(seconds=60), now - timedelta(seconds=1)
        while calls and calls[0] <= minute:
            calls.popleft()
        everywhere = sum(at > second for chat in self._calls.values() for at in chat)
        crowded = [_within(calls, second) > self.burst, everywhere > self.in_all]
        return any(crowded) or (chat_id < 0 and len(calls) > self.in_group)


def _within(calls: Sequence[datetime], since: datetime) -> int:
    return sum(at > since for at in calls)


def fault_from(order: Json) -> Fault:
    """A fault as the control API names it: ``{"kind": "too_many", "seconds": 27}``."""
    when: When = "after" if order.get("when") == "after" else "before"
    seconds = float(order.get("seconds", 1))
    makers = {
        "too_many": lambda: Fault.too_many(int(seconds)),
        "forbidden": lambda: Fault.forbidden(str(order.get("text", "bot was blocked by the user"))),
        "refused": lambda: Fault.refused(str(order.get("text", "refused"))),
        "broken": lambda: Fault.broken(int(order.get("status", 502)), when),
        "dropped": lambda: Fault.dropped(when),
        "delay": lambda: Fault.delay(seconds, when),
    }
    kind = str(order.get("kind"))
    if kind not in makers:
        raise ValueError(f"unknown fault {kind!r}; there are {', '.join(makers)}")
    return makers[kind]()
