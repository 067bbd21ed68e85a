"""The dialogues a person may list, open, rename and erase from where they ask."""

from __future__ import annotations

from dataclasses import dataclass

from bot.owner import Lane
from bot.ports import Archive, Clock, Cursor, DialoguePage, Dialogues
from bot.session import Alive, Lifetime, Session
from bot.title import title


@dataclass(frozen=True, slots=True)
class VisibleDialogues:
    """Looks up dialogues by the lane in which somebody asks for them; ids are no authority."""

    store: Dialogues
    archive: Archive
    lifetime: Lifetime
    clock: Clock

    async def page(self, lane: Lane, cursor: Cursor | None = None) -> DialoguePage:
        """Those that may be seen here, newest first."""
        return await self.store.page(lane.owner, lane.place, self._alive(), cursor)

    async def find(self, lane: Lane, session_id: str) -> Session | None:
        """One of them, as it stands."""
        return await self.store.find(lane.owner, lane.place, session_id, self._alive())

    async def open(self, lane: Lane, session_id: str) -> Session | None:
        """Make it the one that goes on here."""
        return await self.store.activate(lane.owner, lane.place, session_id, self._alive())

    async def rename(self, lane: Lane, session_id: str, words: str) -> str | None:
        """Name it after these words; its new title, None where there is no such one."""
        named = title(words)
        is_done = await self.store.rename(lane.owner, lane.place, session_id, named, self._alive())
        return named if is_done else None

    async def erase(self, lane: Lane, session_id: str) -> bool:
        """Delete it with all that was archived of it; False where there is no such one."""
        # The Session first: while it lives, a compactor may still add rows to its archive.
        is_gone = await self.store.erase(lane.owner, lane.place, session_id, self._alive())
        if is_gone:
            await self.archive.erase(lane.owner, session_id)
        return is_gone

    def _alive(self) -> Alive:
        return self.lifetime.at(self.clock.now())
