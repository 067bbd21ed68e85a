"""A person's dialogues as they list, open, rename and erase them, by ids that are no authority.

An id comes back from a button, so every method looks it up among the Sessions that this Owner may
see from this Place and that are not over: in private all of the Owner's, in a group those of that
Place. A foreign, an unknown and an ended one are the same None.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from bot.owner import Owner, Place
from bot.session import Alive, Session, Status

DIALOGUES_A_PAGE = 8


@dataclass(frozen=True, slots=True)
class Overview:
    """What a list shows of a Session; `messages` counts all that were ever said in it."""

    id: str
    title: str
    place: Place
    status: Status
    created_at: datetime
    last_active: datetime
    messages: int


@dataclass(frozen=True, slots=True)
class TitlePrompt:
    """A message of the bot that asked for the title of a Session, to be sent in reply to it."""

    message: int
    session_id: str


@dataclass(frozen=True, slots=True)
class Cursor:
    """Where a page begins: beside the Session last active `at`, whose id starts with `id_start`.

    `newer`: the page before that Session, not the one behind it.
    """

    at: datetime
    id_start: str = ""
    newer: bool = False


@dataclass(frozen=True, slots=True)
class DialoguePage:
    """At most DIALOGUES_A_PAGE rows, newest first, and whether there are more on either side."""

    rows: Sequence[Overview] = ()
    has_newer: bool = False
    has_older: bool = False


class Dialogues(Protocol):
    """The dialogues of one Owner; empty Sessions are none."""

    async def page(
        self, owner: Owner, place: Place, alive: Alive, cursor: Cursor | None = None
    ) -> DialoguePage:
        """The dialogues that may be seen from here, newest first; without a cursor the newest."""

    async def previous(self, owner: Owner, place: Place, alive: Alive) -> Overview | None:
        """The closed dialogue of exactly this Place that was active last."""

    async def find(
        self, owner: Owner, place: Place, session_id: str, alive: Alive
    ) -> Session | None:
        """The dialogue of this id, as it stands; looking at it keeps nothing alive."""

    async def activate(
        self, owner: Owner, place: Place, session_id: str, alive: Alive
    ) -> Session | None:
        """Make this the active Session here; None, and nothing changes, where there is no such one.

        The one that was active here is closed first, so no moment has two; doing it again completes
        what a crash cut off, and changes nothing where it is done. One that was active in another
        Place moves here, and a turn that runs in it there can no longer commit.
        """

    async def rename(
        self, owner: Owner, place: Place, session_id: str, title: str, alive: Alive
    ) -> bool:
        """Give it another title; False where there is no such one."""

    async def erase(self, owner: Owner, place: Place, session_id: str, alive: Alive) -> bool:
        """Delete it, active or not; its archive is the caller's to erase after it."""
