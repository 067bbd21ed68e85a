"""The inbox: updates that were accepted and wait, and what a worker may do with them.

A lane (one Owner in one Place) is leased to one worker at a time, which handles what waits in it in
order. A lease runs out when its process dies or freezes; the `fence` of a claim then tells the old
holder from the new one, and whatever the old one still writes is refused. An entry stays until its
fate is recorded, so a message is lost by no crash.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, Protocol

from bot.owner import Lane
from bot.ports.model import Json
from bot.ports.records import Record
from bot.ports.turns import Correction

Kind = Literal["content", "command", "press", "edit"]
State = Literal["done", "failed", "budget", "cancelled", "dead", "refused", "offered"]
"""`budget`: its person's allowance left no room for it; it may be tried again.

`refused`: nobody is there to read the answer, the bot is blocked or the chat is gone.

`offered`: an edit that waits for its person's word to be answered; the update is kept until then.
"""


@dataclass(frozen=True, slots=True)
class Entry:
    """One update as it waits in the inbox.

    `update` is what Telegram sent, unchanged; `id` its update id.
    """

    id: int
    lane: Lane
    kind: Kind
    update: Json
    received_at: datetime
    cancels: bool = False
    """Ends the running turn of its lane and overtakes what waits before it: `/new`, `/stop`."""
    gathers: bool = False
    """More is likely to follow at once: a piece of a long paste or of an album, a forward."""
    sent: int = 0
    """How many parts of the answer to the turn this entry opened were sent by earlier runs."""
    previews: tuple[int, ...] = ()
    """The messages that showed this answer while it grew; its parts take their places."""
    replaces: Correction | None = None
    """What this corrected question is to be answered in the place of."""
    transcripts: Mapping[str, str] = field(default_factory=dict)
    """The words of its recordings that earlier runs had written down, by Telegram's unique ids of
    the files.
    """


@dataclass(frozen=True, slots=True)
class Claim:
    """A leased lane, by its key.

    `fence` grows with every claim, so a worker that lost its lease can be told apart.
    """

    lane: str
    fence: int
    tries: int = 1
    """Which try this is for the entry that stands first: a process that dies has used one up."""
    is_retry: bool = False
    """The holder before did not give the lane back, so a turn may have been committed and not
    answered.
    """
    died: bool = False
    """The holder before has just died, and the lane has not been given back since."""
    deaths_alone: int = 0
    """How many processes have died while they ran the first entry alone (`run_alone`)."""
    arrivals: int = 0
    """How many entries had been announced when the lane was claimed; a release misses when more
    have come.
    """
    share: str | None = None
    """What of its Owner's lanes it counts against (`Lane.share`); None: announced by an older
    version of the bot.
    """
    unreachable: bool = False
    """Nobody was there to read the answer to what was handled last."""


@dataclass(frozen=True, slots=True)
class Batch:
    """What is handled in one go: one command, press or edit, or the leading run of waiting messages
    (one turn).

    `overtaken`: messages sent before a `/new` that cancelled them; they get a sentence, not an
    answer. `early`: seconds to wait before it should be handled, because more of the same is likely
    to come.
    """

    claim: Claim
    entries: tuple[Entry, ...]
    overtaken: bool = False
    early: float = 0.0

    @property
    def turn(self) -> int:
        """The name of the turn these entries would make."""
        return self.entries[0].id

    @property
    def lane(self) -> Lane:
        """The lane the entries waited in."""
        return self.entries[0].lane


class Inbox(Protocol):
    """Updates that were accepted and wait for an answer.

    A write of a holder that lost its lease raises LaneLost.
    """

    async def put(self, *entries: Entry) -> bool:
        """Accept updates; False when some of their ids are known already.

        Then Telegram may forget them.
        """

    async def revise(self, edit: Entry) -> None:
        """Put an edited message in the place of the same one in earlier entries that may still be
        read.

        Such an entry waits in the lane, or failed and can be tried again, or is an earlier edit
        that was offered to be answered. Words of a later edit stay: edits can arrive in any order.
        """

    async def claim(self, busy: Collection[str], full_shares: Collection[str] = ()) -> Claim | None:
        """Lease a lane that has work and that nobody holds, the longest-waiting first.

        None of `busy`, and none that counts against one of `full_shares`.
        """

    async def next(self, claim: Claim) -> Batch | None:
        """What the lane's holder should handle next; None: nothing waits."""

    async def run_alone(self, claim: Claim) -> None:
        """Note that what stands first runs alone now: a death counts against it until the lane is
        given back.
        """

    async def finish(self, batch: Batch, state: State) -> Claim:
        """Record the fate of all entries of a batch; the claim to go on with."""

    async def release(self, claim: Claim) -> Claim | None:
        """Give back a lane in which nothing waits; the claim to go on with where something has come
        meanwhile.
        """

    async def hand_back(self, claim: Claim, seconds: float = 0.0) -> None:
        """Give back a lane in which something waits, for so many seconds. Not a try."""

    async def keep(self, claims: Sequence[Claim]) -> Collection[str]:
        """Renew the leases of these lanes, in one command; those that were lost."""

    async def stop(self, lane: Lane, turn: int, *, in_all_topics: bool = False) -> None:
        """Have this turn end, if it is the one that runs in the lane; nothing else there
        changes.

        `in_all_topics`: in every lane of this Owner in this chat, and whatever turn before that
        runs.
        """

    async def cancelled(self, lanes: Collection[str]) -> Mapping[str, int]:
        """Of these lanes, those told to end a running turn, with the update id before which it must
        have begun.
        """

    async def wait(self) -> None:
        """Return when there may be something to claim.

        A hint: it may return early or for nothing.
        """

    def record(self, batch: Batch) -> Record:
        """The record of the turn this batch makes."""
