"""What each Owner has used by day (UTC), in memory."""

from __future__ import annotations

from datetime import datetime

from bot.owner import Owner
from bot.ports import Reservation
from bot.store.filters import day_of, owner_document
from bot.usage import Usage


class MemoryUsage:
    """What was used, in a dict."""

    def __init__(self) -> None:
        self._days: dict[tuple[int, datetime], Usage] = {}
        self._holds: dict[tuple[int, datetime], dict[int, tuple[int, datetime]]] = {}

    async def add(self, owner: Owner, at: datetime, usage: Usage, turn: int) -> None:
        self._days[self._key(owner, at)] = await self.of(owner, at) + usage
        self._holds.get(self._key(owner, at), {}).pop(turn, None)

    async def reserve(self, owner: Owner, at: datetime, hold: Reservation, budget: int) -> int:
        holds = self._holds.setdefault(self._key(owner, at), {})
        others = [
            tokens
            for turn, (tokens, since) in holds.items()
            if turn != hold.turn and since > at - hold.keep
        ]
        left = budget - (await self.of(owner, at)).tokens - sum(others)
        granted = max(min(left, hold.maximum), 0)
        if granted >= hold.minimum:
            holds[hold.turn] = (granted, at)
        return granted

    async def of(self, owner: Owner, at: datetime) -> Usage:
        return self._days.get(self._key(owner, at), Usage())

    def _key(self, owner: Owner, at: datetime) -> tuple[int, datetime]:
        return owner_document(owner)["_id"], day_of(at)
