"""The Session: what the bot remembers of one talk, because the model remembers nothing.

Invariants: `messages` holds whole turns only, in the order of `seq`, never a system message;
archive ∪ messages are `0 … next_seq − 1` without holes; `revision` moves by one at each committed
turn, at close and when it is opened again, and by nothing else. Pure: no I/O, no clock, no vendor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Literal

from bot.content import Block, Role, spoken
from bot.owner import Owner, Place
from bot.usage import Usage

Status = Literal["active", "closed"]

TURNS_REMEMBERED = 64
SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True)
class Message:
    """One entry of a dialogue.

    `turn` is the update id of the turn's first message; `tokens` is an estimate.
    """

    seq: int
    turn: int
    role: Role
    content: tuple[Block, ...]
    at: datetime
    tokens: int


@dataclass(frozen=True, slots=True)
class Gap:
    """Archived messages (both ends included) that no summary covers yet."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Summary:
    """What replaces the messages up to and including seq `up_to`; `epoch` counts the summaries of
    this Session.
    """

    text: str
    up_to: int
    epoch: int
    tokens: int
    model: str
    at: datetime
    gaps: tuple[Gap, ...] = ()


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a Task."""

    text: str
    status: Literal["open", "doing", "done", "dropped"] = "open"


@dataclass(frozen=True, slots=True)
class Fact:
    """A named value a Task has to keep at hand."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class Task:
    """The working state of a multi-step job; it survives turns, restarts and compaction."""

    goal: str
    steps: tuple[Step, ...] = ()
    facts: tuple[Fact, ...] = ()

    @property
    def text(self) -> str:
        """All of it in words, as it stands in every prompt."""
        lines = [f"Goal: {self.goal}"]
        lines += [
            f"{number}. [{step.status}] {step.text}"
            for number, step in enumerate(self.steps, start=1)
        ]
        lines += [f"{fact.name} = {fact.value}" for fact in self.facts]
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class PromptSize:
    """The size of the last prompt and answer as its model reported it, and the summary epoch it was
    measured at.
    """

    tokens: int = 0
    epoch: int = 0
    model: str = ""


@dataclass(frozen=True, slots=True)
class CompactionState:
    """What compaction remembers of its own tries, so that a failing summariser is not asked at
    every turn.
    """

    fails: int = 0
    next_at: datetime | None = None
    recent: tuple[datetime, ...] = ()


@dataclass(frozen=True, slots=True)
class ClosedTurn:
    """A finished turn, ready to be committed whole: from what the user sent to the answer."""

    messages: tuple[Message, ...]
    update_ids: tuple[int, ...]
    usage: Usage
    prompt: PromptSize
    task: Task | None
    title: str
    at: datetime
    replaces: int | None = None
    """The Session's last turn, whose place this one takes: its question was corrected."""

    @property
    def tokens(self) -> int:
        """The estimate of all it adds to a prompt."""
        return sum(message.tokens for message in self.messages)


@dataclass(slots=True)
class Session:
    """One talk of one Owner in one Place.

    Owned by the turn that loaded it; nobody else holds the object.
    """

    id: str
    owner_id: int
    chat_id: int
    thread_id: int | None
    created_at: datetime
    last_active: datetime
    status: Status = "active"
    title: str = ""
    revision: int = 0
    next_seq: int = 0
    messages: list[Message] = field(default_factory=list)
    summary: Summary | None = None
    task: Task | None = None
    turns: tuple[int, ...] = ()
    usage: Usage = field(default_factory=Usage)
    prompt: PromptSize = PromptSize()
    compaction: CompactionState = CompactionState()
    previous: str = ""
    """What the model is told of the dialogue before; empty: nothing."""

    @classmethod
    def begin(cls, session_id: str, owner: Owner, place: Place, now: datetime) -> Session:
        """A new, empty, active Session."""
        return cls(
            session_id, owner.id, place.chat_id, place.thread_id, created_at=now, last_active=now
        )

    @property
    def place(self) -> Place:
        """Where the talk goes on."""
        return Place(self.chat_id, self.thread_id)

    @property
    def is_empty(self) -> bool:
        """Nothing was ever said here, so it may go without a word."""
        return self.next_seq == 0

    @property
    def epoch(self) -> int:
        """How many summaries this Session has had."""
        return self.summary.epoch if self.summary else 0

    def knows(self, update_id: int) -> bool:
        """Whether this update was already given to the model and committed."""
        return update_id in self.turns

    def question_of(self, turn: int) -> tuple[Block, ...]:
        """What was asked in the turn of this name; empty when it is not (or no longer) among the
        messages.
        """
        return next((message.content for message in self.messages if message.turn == turn), ())

    def answer_to(self, turn: int) -> str:
        """What was said in the turn of this name; empty when it is not (or no longer) among the
        messages.
        """
        return spoken(
            (message.role, message.content) for message in self.messages if message.turn == turn
        )

    def is_over(self, at: datetime, now: datetime, lifetime: Lifetime) -> bool:
        """Whether a message sent `at` comes too late for this Session, by idleness or by the
        Session's age.

        A closed one is over once nobody may resume it any more.
        """
        idle = lifetime.idle if self.status == "active" else lifetime.idle + lifetime.resume
        return at - self.last_active > idle or now - self.created_at > lifetime.max_age

    def absorb(self, turn: ClosedTurn) -> None:
        """Become what the store holds once it has committed `turn`."""
        self.messages.extend(turn.messages)
        self.turns = (*self.turns, *turn.update_ids)[-TURNS_REMEMBERED:]
        self.next_seq += len(turn.messages)
        self.revision += 1
        self.usage += turn.usage
        self.prompt = turn.prompt
        self.task = turn.task
        self.title = self.title or turn.title
        self.last_active = max(self.last_active, turn.at)

    def before(self, turn: int) -> Session | None:
        """A copy as it was before its last turn, if that is the one of this name; None where it is
        not.
        """
        if not self.messages or self.messages[-1].turn != turn:
            return None
        kept = [message for message in self.messages if message.turn != turn]
        next_seq = self.messages[len(kept)].seq
        return replace(self, messages=kept, next_seq=next_seq, title=self.title if next_seq else "")

    def without(self, up_to: int, summary: Summary) -> Session:
        """A copy in which `summary` stands for every message up to and including seq `up_to`."""
        kept = [message for message in self.messages if message.seq > up_to]
        return replace(self, messages=kept, summary=summary)


@dataclass(frozen=True, slots=True)
class Lifetime:
    """How long a Session may be idle, how old it may become, and how long a closed one may be
    resumed.

    Elapsed time, never the calendar; a closed one may be idle for both.
    """

    idle: timedelta
    max_age: timedelta
    resume: timedelta = timedelta(0)

    def at(self, moment: datetime) -> Alive:
        """What to ask a store with, for Sessions that are not over at this moment."""
        return Alive(moment, self)


@dataclass(frozen=True, slots=True)
class Alive:
    """A moment and the lifetime of Sessions: together they say which Sessions are over."""

    at: datetime
    lifetime: Lifetime


def number(
    session: Session, turn: int, entries: Sequence[tuple[Role, Sequence[Block], int]], at: datetime
) -> tuple[Message, ...]:
    """Give `entries` (role, content, tokens) the next places in the Session's order."""
    return tuple(
        Message(session.next_seq + offset, turn, role, tuple(content), at, tokens)
        for offset, (role, content, tokens) in enumerate(entries)
    )
