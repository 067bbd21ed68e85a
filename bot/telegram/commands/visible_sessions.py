"""The Sessions a person may be shown: those that are not over, looked at without keeping them
alive.
"""

from __future__ import annotations

from dataclasses import dataclass

from bot.owner import Lane
from bot.ports import Clock, SessionStore
from bot.session import Alive, Lifetime, Session


@dataclass(frozen=True, slots=True)
class VisibleSessions:
    """Looks up Sessions by the lane in which somebody asks for them."""

    store: SessionStore
    lifetime: Lifetime
    clock: Clock

    async def active(self, lane: Lane) -> Session | None:
        """The Session that goes on in this lane's Place."""
        return await self.store.inspect(lane.owner, lane.place, unless_over=self._alive())

    async def with_turn(self, lane: Lane, turn: int) -> Session | None:
        """The Session, open or closed, in which this turn was answered in this lane's Place."""
        found = await self.store.find_by_update_ids(lane.owner, [turn], unless_over=self._alive())
        return found if found is not None and found.place == lane.place else None

    def is_over(self, session: Session) -> bool:
        """Whether it may be shown no more."""
        now = self.clock.now()
        return session.is_over(now, now, self.lifetime)

    def _alive(self) -> Alive:
        return self.lifetime.at(self.clock.now())
