"""How a Session begins and ends when its Owner says so: `/new` and `/reset`.

Both leave the Place with a fresh, empty Session under a new id, so that the next message cannot
find the old one by any search. The old Session is ended before the new one is made: a turn that
still runs in it can then no longer commit, and a crash in between heals itself, because the next
message makes the Session that is missing. Neither asks the model.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass

from bot.errors import AlreadyActive
from bot.owner import Owner, Place
from bot.ports import Archive, Clock, NewId, SessionStore
from bot.session import Session


@dataclass(frozen=True, slots=True)
class Lifecycle:
    """Begins and ends Sessions on their Owner's word."""

    sessions: SessionStore
    archive: Archive
    clock: Clock
    new_id: NewId

    async def new(self, owner: Owner, place: Place) -> None:
        """Close the active Session, keeping it for later, and begin another."""
        await self.sessions.close(owner, place)
        await self._begin(owner, place)

    async def reset(self, owner: Owner, place: Place) -> None:
        """Erase the active Session with all that was archived of it, and begin another."""
        # The Session first: while it lives, a compactor may still add rows to its archive.
        erased = await self.sessions.erase(owner, place)
        if erased is not None:
            await self.archive.erase(owner, erased)
        await self._begin(owner, place)

    async def _begin(self, owner: Owner, place: Place) -> None:
        # Whoever was faster made an equally fresh Session.
        with contextlib.suppress(AlreadyActive):
            await self.sessions.create(
                owner, Session.begin(self.new_id(), owner, place, self.clock.now())
            )
