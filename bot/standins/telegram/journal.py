"""The journal: every call of the Bot API in the order it arrived, with its fate.

An entry is a value; when its call ends it is replaced by one that knows the answer. A call that is
still under way has status 0, and so has one whose connection was dropped.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from bot.standins.telegram.rules import Json

KEPT = 50_000


@dataclass(frozen=True, slots=True)
class Call:
    """One call of one method."""

    number: int
    at: datetime
    method: str
    params: Mapping[str, Any]
    status: int = 0
    result: Any = None
    error: str = ""

    @property
    def chat_id(self) -> int | None:
        """The chat it was about."""
        value = str(self.params.get("chat_id", ""))
        return int(value) if value.lstrip("-").isdecimal() else None

    @property
    def text(self) -> str:
        """The text it carried."""
        return str(self.params.get("text") or self.params.get("caption") or "")

    def json(self) -> Json:
        """For the control API."""
        shown = {
            key: value if isinstance(value, str) else str(value)
            for key, value in self.params.items()
        }
        return {"number": self.number, "at": self.at.isoformat(), "method": self.method, "params": shown,  # noqa: E501
                "status": self.status, "result": self.result, "error": self.error}  # fmt: skip


class Journal:
    """All calls, oldest first."""

    def __init__(self) -> None:
        self._calls: dict[int, Call] = {}
        self._next = 1

    def begin(self, method: str, params: Mapping[str, Any], at: datetime) -> Call:
        """Write down a call as it arrives."""
        call = Call(self._next, at, method, dict(params))
        self._next += 1
        self._calls[call.number] = call
        if len(self._calls) > KEPT:
            del self._calls[next(iter(self._calls))]
        return call

    def end(self, call: Call, status: int, result: Any = None, error: str = "") -> None:
        """Write down how it ended."""
        self._calls[call.number] = replace(call, status=status, result=result, error=error)

    def __iter__(self) -> Iterator[Call]:
        return iter(tuple(self._calls.values()))

    def __len__(self) -> int:
        return len(self._calls)

    def of(self, *methods: str, chat: int | None = None) -> list[Call]:
        """The calls of these methods (all, without any), about one chat where one is named."""
        wanted = {method.lower() for method in methods}
        return [
            call
            for call in self
            if (not wanted or call.method.lower() in wanted)
            and (chat is None or call.chat_id == chat)
        ]

    def since(self, number: int) -> list[Call]:
        """The calls after the one with this number."""
        return [call for call in self if call.number > number]

    def tail(self, count: int = 12) -> str:
        """The last calls but the polls, a line each: what a failed wait shows."""
        calls = [call for call in self if call.method.lower() != "getupdates"][-count:]
        return "\n".join(
            f"{call.number} {call.method} {dict(call.params)} -> {call.status} {call.error}"
            for call in calls
        )
