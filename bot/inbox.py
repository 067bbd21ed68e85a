"""The inbox: updates that were accepted and wait, and what a worker may do with them.

A lane (one Owner in one Place) is leased to one worker at a time, which handles what waits in it in
order. A lease runs out when its process dies or freezes; the `fence` of a claim then tells the old
holder from the new one, and whatever the old one still writes is refused. An entry stays until its
fate is recorded, so a message is lost by no crash.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, Protocol

from bot.owner import Lane
from bot.ports import Correction, Json, TitlePrompt, UsageMeter

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


@dataclass(frozen=True, slots=True)
class Effect:
    """What a tool did to the world outside.

    `arguments` is a hash; `result` None: nobody knows what came of it.
    """

    tool: str
    arguments: str
    result: str | None = None


class Record(Protocol):
    """What is kept of a running turn (or press) outside its Session, so that the next run knows
    what this one did.
    """

    def require_lease(self) -> None:
        """Raise LaneLost when the lease has run out: another worker may be at it already."""

    def parts_sent(self, turn: int) -> int:
        """How many parts of this turn's answer earlier runs have sent."""

    async def part_sent(self, turn: int, message_id: int | None) -> None:
        """One more part of this turn's answer was sent; None: nobody can say whether it arrived."""

    def previews(self, turn: int) -> Sequence[int]:
        """The messages that show this turn's answer while it grows, in a place that has no
        drafts.
        """

    async def previewed(self, turn: int, *message_ids: int) -> None:
        """These are the messages now; none: they serve for something else, or are gone."""

    def uncertain(self) -> int | None:
        """The turn of this lane whose answer may not have arrived, until it was offered again."""

    async def mark_uncertain(self, turn: int | None) -> None:
        """This turn's answer may not have arrived; None: it was offered again, and need not be once
        more.
        """

    def title_prompt(self) -> TitlePrompt | None:
        """The last message of this lane that asked its person for a Session's title."""

    async def asked_title(self, prompt: TitlePrompt) -> None:
        """A reply to this message is a title from now on; earlier such messages count no more."""

    def transcript(self, file: str) -> str | None:
        """The words of this recording (Telegram's unique id) where an earlier run had it written
        down.
        """

    async def transcribed(self, turn: int, file: str, words: str) -> None:
        """A recording that came with this update was written down, and paid for."""

    async def effect_begins(self, turn: int, tool: str, arguments: str) -> bool:
        """A tool is about to act on the world outside. False: an earlier run came this far."""

    async def effect_ended(self, turn: int, tool: str, arguments: str, result: str) -> None:
        """It has acted, and this is what came of it."""

    async def effects(self, turn: int) -> Sequence[Effect]:
        """What tools have done in all runs of this turn, in order."""

    async def keep_effects(self, turn: int) -> None:
        """This turn has failed after its tools had acted: the next question of its lane is to show
        it.
        """

    async def unseen_effects(self, since: datetime) -> Sequence[Effect]:
        """What tools did in turns of this lane that have failed since then, until
        `effects_seen`.
        """

    async def effects_seen(self) -> None:
        """The Session holds now what tools did in turns that have failed."""


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a turn: what is recorded of it, whether it was told to stop, and what it has cost
    so far.
    """

    record: Record
    stop: asyncio.Event
    meter: UsageMeter = field(default_factory=UsageMeter)


class Frontend(Protocol):
    """The people's side, as the worker sees it: it knows how to read an entry and how to speak in
    its Place.

    It says itself what failed; what it lets pass is for the worker: ChatBusy and StoreUnavailable
    (try again later), LaneLost (somebody else is at it).
    """

    async def answer(self, batch: Batch, run: Run) -> State:
        """Run one turn for the messages of the batch; setting `run.stop` ends it early, keeping
        what was shown.
        """

    async def run_command(self, batch: Batch, run: Run) -> State:
        """Carry out one command or press."""

    async def skip_superseded(self, batch: Batch, run: Run) -> State:
        """Say that these messages will not be answered, since a later command overtook them.

        Those whose turn was committed before it came are no longer questions: their delivery is
        finished.
        """

    async def give_up(self, batch: Batch, run: Run) -> State:
        """Apologise for a message whose handling keeps breaking the process."""
