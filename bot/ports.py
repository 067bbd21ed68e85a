"""The Protocols between the core and the world, and the values that cross them.

One rule runs through all of them: what belongs to a person takes the Owner as its first argument and filters by it.
Ids that came in as input (callback data, tool arguments, deep links) are never authority. An implementation raises
only members of the tree in `errors`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal, Protocol

from bot.owner import Owner, Place
from bot.session import Block, ClosedTurn, CompactionState, Lifetime, Message, Session, Summary, Usage, words

Json = Mapping[str, Any]
NOTHING_USED = Usage()
NewId = Callable[[], str]
"""A factory of Session ids: 32 random hex digits; never derived, never taken from input."""


class Clock(Protocol):
    """The only source of time."""

    def now(self) -> datetime:
        """The present moment, timezone-aware, UTC."""


# ------------------------------------------------------------------------------------------------ sessions


@dataclass(frozen=True, slots=True)
class Hit:
    """A message that was searched for, and the Session it was said in."""

    session_id: str
    message: Message


class SessionStore(Protocol):
    """Where Sessions live. A plain turn costs one `load` and one `commit`, each a single database command."""

    async def load(
        self, owner: Owner, place: Place, *, at: datetime, now: datetime, lifetime: Lifetime
    ) -> Session | None:
        """The active Session if a message sent `at` still belongs to it, touched so that it cannot expire mid-turn."""

    async def inspect(self, owner: Owner, place: Place) -> Session | None:
        """The active Session whatever its age, as it stands: looking at it is no activity and keeps nothing alive."""

    async def create(self, owner: Owner, session: Session) -> None:
        """Insert a new active Session. Raises AlreadyActive when another one got there first."""

    async def expire(
        self, owner: Owner, place: Place, *, at: datetime, now: datetime, lifetime: Lifetime
    ) -> Session | None:
        """Close the active Session if a message sent `at` comes too late for it; the closed one, or None."""

    async def close(self, owner: Owner, place: Place) -> Session | None:
        """Close the active Session whatever its age; a turn still running in it can no longer commit."""

    async def erase(self, owner: Owner, place: Place) -> str | None:
        """Delete the active Session whatever its age; its id, so that its archive can follow."""

    async def commit(self, owner: Owner, session: Session, turn: ClosedTurn) -> None:
        """Write the whole turn, compare-and-set on `session.revision`, and let `session` absorb it.

        Never an upsert. Raises SessionGone when the Session was closed, erased or moved on meanwhile (the session is
        then unchanged), SessionTooLarge when the turn would push the document over the cap.
        """

    async def replace_summary(
        self, owner: Owner, session: Session, summary: Summary, state: CompactionState, usage: Usage = NOTHING_USED
    ) -> bool:
        """Put `summary` in place of the messages it covers, in one update, if the Session still has `session.epoch`.

        `usage` is what the summary cost, added to the Session's.

        Does not move the revision, so it never costs a running turn its commit. False: the Session is gone, or
        another compactor won.
        """

    async def postpone(self, owner: Owner, session: Session, state: CompactionState) -> None:
        """Record a failed try of compaction; nothing else changes."""

    async def having(self, owner: Owner, update_ids: Sequence[int]) -> Session | None:
        """The Session of any status that has committed one of these updates."""

    async def exists(self, owner: Owner, session_id: str) -> bool:
        """Whether this Owner has a Session of that id, of any status. A foreign id equals an unknown one."""

    async def seen_from(self, owner: Owner, place: Place) -> Sequence[str]:
        """The ids of the Sessions that may be read here: in private all of the Owner's, in a group that Place's."""

    async def search(self, owner: Owner, session_ids: Sequence[str], wanted: Sequence[str], most: int) -> Sequence[Hit]:
        """The latest `most` messages of these Sessions that contain all `wanted` words or parts of words."""


class Archive(Protocol):
    """Messages that compaction took out of a Session. Written before the Session forgets them."""

    async def add(self, owner: Owner, session_id: str, messages: Sequence[Message]) -> None:
        """Store the messages; those already stored (same Session and seq) are left as they are."""

    async def of(self, owner: Owner, session_id: str) -> Sequence[Message]:
        """All archived messages of one Session, in order."""

    async def search(self, owner: Owner, session_ids: Sequence[str], wanted: Sequence[str], most: int) -> Sequence[Hit]:
        """The latest `most` archived messages of these Sessions that contain all `wanted` words or parts of words."""

    async def erase(self, owner: Owner, session_id: str) -> None:
        """Delete what was archived of one Session."""


@dataclass(frozen=True, slots=True)
class Note:
    """What an Owner asked to be remembered across Sessions. `id` names it to its Owner only."""

    id: str
    text: str
    at: datetime


class Notes(Protocol):
    """Notes outlive Sessions. A private chat has its own, a group sees only those made in that group."""

    async def add(self, owner: Owner, place: Place, note: Note) -> None:
        """Store the note; a second one with the same id (a repeated operation) changes nothing."""

    async def of(self, owner: Owner, place: Place) -> Sequence[Note]:
        """The notes visible here, oldest first."""

    async def remove(self, owner: Owner, place: Place, note_id: str) -> bool:
        """Delete one note; False when there is none of that id here, whoever else may own one."""


@dataclass(frozen=True, slots=True)
class Preferences:
    """What an Owner has chosen, for every Session. None: nothing, so the operator's settings count."""

    model: str | None = None
    persona: str | None = None


class Books(Protocol):
    """What each Owner has used of models, by day (UTC)."""

    async def add(self, owner: Owner, at: datetime, usage: Usage) -> None:
        """Book what was used on the day of `at`."""

    async def of(self, owner: Owner, at: datetime) -> Usage:
        """All that was booked on that day."""


class Owners(Protocol):
    """What is known of Owners beyond their Sessions."""

    async def preferences(self, owner: Owner) -> Preferences:
        """What this Owner has chosen."""

    async def prefer(self, owner: Owner, preferences: Preferences) -> None:
        """Keep these choices; where one is None, the earlier one stays."""


# --------------------------------------------------------------------------------------------------- turns


@dataclass(frozen=True, slots=True)
class Part:
    """One message of a question: content blocks, and when its sender sent it (Telegram's own date)."""

    update_id: int
    content: tuple[Block, ...]
    at: datetime


@dataclass(frozen=True, slots=True)
class Question:
    """What one turn has to answer: at least one part, in the order sent."""

    parts: tuple[Part, ...]
    is_retry: bool = False
    """An earlier run may have died after it committed this turn."""

    @property
    def turn(self) -> int:
        """The turn's name: the update id of its first message."""
        return self.parts[0].update_id

    @property
    def at(self) -> datetime:
        """When the first of its messages was sent."""
        return self.parts[0].at

    def unknown_to(self, session: Session) -> Question | None:
        """The question without the parts this Session has answered already; None when nothing is left of it."""
        parts = tuple(part for part in self.parts if not session.knows(part.update_id))
        return replace(self, parts=parts) if parts else None


class Reply(Protocol):
    """The way back to the Place a question came from, in its person's language."""

    @property
    def shown(self) -> str:
        """The text grown so far, since the last `restart`."""

    def grow(self, delta: str) -> None:
        """More text of the answer has arrived. Never blocks, never fails."""

    def restart(self) -> None:
        """What `grow` has shown so far is void: the model call is being repeated."""

    async def notice(self, key: str, **values: str) -> None:
        """Say one of our own sentences, named by its key in `texts`."""

    async def deliver(self, markdown: str, *, turn: int) -> None:
        """Send the answer of this turn, in as many parts as it needs, from the first part that was not sent yet.

        Raises ChatUnreachable when nobody can receive it, ChatBusy when Telegram asks to wait.
        """


# --------------------------------------------------------------------------------------------------- model


@dataclass(frozen=True, slots=True)
class Request:
    """One call of the language model, in the shapes of the Messages API."""

    model: str
    system: str
    messages: Sequence[Json]
    tools: Sequence[Json] = ()
    max_tokens: int = 4096
    tool_choice: Literal["auto", "none"] = "auto"
    end_user: str = ""
    """An opaque name for the Owner; never the Telegram id."""
    thinking: str = ""
    """A type of thinking, and below how hard to try; empty: as the model does by itself."""
    effort: str = ""
    once: bool = False
    """No request that begins alike will follow, so it is not worth a place in the provider's cache."""


@dataclass(frozen=True, slots=True)
class Completion:
    """A finished call. `stop_reason` is never None: a stream that merely ended is a ModelBusy, not a success."""

    content: tuple[Block, ...]
    stop_reason: str
    usage: Usage

    @property
    def text(self) -> str:
        """The words of the completion, its text blocks joined."""
        return words(self.content)


class Model(Protocol):
    """The port of the language model."""

    async def complete(self, request: Request, on_text: Callable[[str], None]) -> Completion:
        """Call the model once; `on_text` gets each piece of text as it arrives. Raises a ModelError."""


class CountTokens(Protocol):
    """Estimates tokens. Never fails and never asks the network."""

    async def __call__(self, text: str) -> int:
        """The estimated number of tokens of `text`."""


@dataclass(frozen=True, slots=True)
class Scale:
    """How a model's own counts relate to our estimates: `fixed` (tools, system) + `ratio` × estimate."""

    ratio: float = 1.35
    fixed: float = 0.0


class Scales(Protocol):
    """What was learned of models' token counts."""

    async def load(self, model: str) -> Scale | None:
        """What is known of this model; None: nothing yet."""

    async def save(self, model: str, scale: Scale) -> None:
        """Keep what is known now."""
