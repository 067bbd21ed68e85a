"""The queue of updates: numbered in order, kept for a day, handed out until acknowledged.

An update that was never handed out cannot be acknowledged by an offset, so that a redelivered or
freshly renumbered one, whose id lies below the poller's offset, still arrives.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from bot.standins.clock import Clock
from bot.standins.telegram.rules import PENDING_HOURS, Json
from bot.standins.telegram.signal import Signal

OPTIONAL = ("chat_member", "message_reaction", "message_reaction_count")
"""Kinds a bot gets only when it asks for them by name."""


@dataclass(slots=True)
class Pending:
    """An update that waits."""

    update: Json
    at: datetime
    handed_out: bool = False

    @property
    def id(self) -> int:
        """Its update id."""
        return int(self.update["update_id"])

    @property
    def lane(self) -> int:
        """The chat whose order it keeps."""
        for payload in self.update.values():
            if isinstance(payload, dict):
                chat = (
                    payload.get("chat")
                    or payload.get("message", {}).get("chat")
                    or payload.get("from")
                    or {}
                )
                return int(chat.get("id", 0))
        return 0


class Updates:
    """What happened and was not yet taken by the bot."""

    def __init__(self, clock: Clock, signal: Signal, first_id: int) -> None:
        self._clock = clock
        self._signal = signal
        self.next_id = first_id
        self.allowed: tuple[str, ...] = ()
        self._pending: list[Pending] = []

    def allows(self, kind: str) -> bool:
        """Whether the bot asked for this kind."""
        return kind in self.allowed if self.allowed else kind not in OPTIONAL

    def add(self, kind: str, payload: Json) -> int | None:
        """Queue an update under the next id; None when the bot did not ask for its kind."""
        if not self.allows(kind):
            return None
        return self.deliver({"update_id": self.next_id, kind: payload})

    def deliver(self, update: Json) -> int:
        """Queue a raw update as it is, whatever its kind; it gets the next id unless it has one."""
        numbered = {"update_id": self.next_id, **update}
        self.next_id = numbered["update_id"] + 1
        self._pending.append(Pending(numbered, self._clock.now()))
        self._signal.ring()
        return int(numbered["update_id"])

    @property
    def pending(self) -> Sequence[Pending]:
        """What waits, oldest first, nothing older than a day."""
        oldest = self._clock.now() - timedelta(hours=PENDING_HOURS)
        self._pending = [pending for pending in self._pending if pending.at > oldest]
        return tuple(self._pending)

    def acknowledge(self, offset: int) -> None:
        """Forget what was handed out below `offset`; a negative one keeps only so many from the
        end.
        """
        if offset < 0:
            self._pending = self._pending[offset:]
        else:
            self._pending = [
                item for item in self._pending if item.id >= offset or not item.handed_out
            ]
        self._signal.ring()

    def hand_out(self, limit: int) -> list[Json]:
        """The first that wait; they stay until acknowledged."""
        chosen = self.pending[:limit]
        for item in chosen:
            item.handed_out = True
        return [item.update for item in chosen]

    def drop(self, item: Pending) -> None:
        """It arrived (or was given up)."""
        self._pending = [other for other in self._pending if other is not item]
        self._signal.ring()

    def clear(self) -> None:
        """Forget everything that waits."""
        self._pending = []
