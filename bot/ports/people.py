"""What is kept of a person beyond their Sessions: notes, choices, and what they have used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from bot.owner import Owner, Place
from bot.usage import Usage


@dataclass(frozen=True, slots=True)
class Note:
    """What an Owner asked to be remembered across Sessions. `id` names it to its Owner only."""

    id: str
    text: str
    at: datetime


class Notes(Protocol):
    """Notes outlive Sessions.

    A private chat has its own, a group sees only those made in that group.
    """

    async def add(self, owner: Owner, place: Place, note: Note) -> None:
        """Store the note; a second one with the same id (a repeated operation) changes nothing."""

    async def of(self, owner: Owner, place: Place) -> Sequence[Note]:
        """The notes visible here, oldest first."""

    async def remove(self, owner: Owner, place: Place, note_id: str) -> bool:
        """Delete one note; False when there is none of that id here, whoever else may own one."""


@dataclass(frozen=True, slots=True)
class Preferences:
    """What an Owner has chosen, for every Session.

    None: nothing, so the operator's settings count.
    """

    model: str | None = None
    persona: str | None = None


@dataclass(frozen=True, slots=True)
class Reservation:
    """What is set aside of an Owner's day for one turn before its model is called: `minimum` to
    `maximum` tokens.

    One that is older than `keep` counts no more: whoever made it has died.
    """

    turn: int
    minimum: int
    maximum: int
    keep: timedelta


class UsageStore(Protocol):
    """What each Owner has used of models, by day (UTC), and what is set aside for turns that
    run.
    """

    async def add(self, owner: Owner, at: datetime, usage: Usage, turn: int) -> None:
        """Book what was used on the day of `at`; nothing is set aside for this turn any more."""

    async def reserve(self, owner: Owner, at: datetime, hold: Reservation, budget: int) -> int:
        """Set aside tokens for a turn, in place of what was set aside for it: how many are left, up
        to the reservation's maximum.

        Where those are fewer than its minimum, nothing changes. What was used and what is set aside
        stay within `budget` together, however many ask at once.
        """

    async def of(self, owner: Owner, at: datetime) -> Usage:
        """All that was booked on that day."""


class Owners(Protocol):
    """What is known of Owners beyond their Sessions."""

    async def preferences(self, owner: Owner) -> Preferences:
        """What this Owner has chosen."""

    async def prefer(self, owner: Owner, preferences: Preferences) -> None:
        """Keep these choices; where one is None, the earlier one stays."""

    async def unreachable(self, owner: Owner, at: datetime) -> None:
        """Nobody reads what is sent to this Owner in private any more: blocked, deactivated,
        gone.
        """

    async def reached(self, owner: Owner) -> None:
        """This Owner has spoken again."""


class Chats(Protocol):
    """Groups that Telegram has moved to a new id.

    What an Owner has there moves when it is next looked for.
    """

    async def moved(self, chat_id: int, new_id: int) -> None:
        """Keep where this group has gone."""
