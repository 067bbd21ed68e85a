"""What happened, read from nothing but the stand-ins' journals and the database.

The oplog tells when each turn was committed, when a Session was closed or erased and what came
after; the documents tell what is left; the journal of the model tells what it was given, the one of
Telegram what people read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from bot.standins.claude.script import last_words
from tests.process.chaos.town import ASKED, Blow, Environment, Said

TOLD = re.compile(r"\ba(\d+)x(\d+)\.")
Line = tuple[int, int]
"""Person and number."""


@dataclass(frozen=True, slots=True)
class Given:
    """A request to the model: the lines it was to answer, and those it was reminded of."""

    at: datetime
    asked: tuple[Line, ...]
    reminded: frozenset[Line]


@dataclass(frozen=True, slots=True)
class Sent:
    """A message of the bot.

    `arrived`: the person reads it; else it broke on the way or was refused.
    """

    number: int
    at: datetime
    chat: int
    text: str
    arrived: bool

    @property
    def told(self) -> tuple[Line, ...]:
        return _lines(TOLD, self.text)


@dataclass(frozen=True, slots=True)
class Commit:
    """A message that a Session took in."""

    at: datetime
    session: str
    seq: int
    lines: tuple[Line, ...]


@dataclass
class Ledger:
    """All of it."""

    said: Sequence[Said]
    blows: Sequence[Blow]
    given: list[Given]
    sent: list[Sent]
    entries: dict[int, Mapping[str, Any]]
    sessions: dict[str, Mapping[str, Any]]
    archive: list[Mapping[str, Any]]
    commits: list[Commit] = field(default_factory=list)
    closed: dict[str, datetime] = field(default_factory=dict)
    erased: dict[str, datetime] = field(default_factory=dict)
    grown: list[str] = field(default_factory=list)
    """Sessions that changed their messages after they were closed, or came back after they were
    erased.
    """


def read(town: Environment) -> Ledger:
    """The ledger of a town in which everything has met its fate."""
    database = town.database
    ledger = Ledger(
        said=tuple(town.said),
        blows=tuple(town.blows),
        given=[_given(exchange) for exchange in town.questions],
        sent=[
            Sent(call.number, call.at, call.chat_id or 0, call.text, arrived=call.status == 200)
            for call in town.telegram.journal.of("sendMessage")
        ],
        entries={entry["_id"]: entry for entry in database["inbox"].find({})},
        sessions={session["_id"]: session for session in database["sessions"].find({})},
        archive=list(database["archive"].find({})),
    )
    _read_oplog(ledger, database)
    return ledger


def _given(exchange: Any) -> Given:
    messages = exchange.body["messages"]
    last = last_words(exchange.body)
    asked = _lines(ASKED, last)
    everything = _lines(ASKED, json.dumps(messages))
    return Given(exchange.at, asked, frozenset(everything) - frozenset(asked))


def _lines(pattern: re.Pattern[str], text: str) -> tuple[Line, ...]:
    return tuple(
        dict.fromkeys((int(person), int(number)) for person, number in pattern.findall(text))
    )


def _read_oplog(ledger: Ledger, database: Any) -> None:
    seen: set[tuple[str, int]] = set()
    for entry in (
        database.client["local"]["oplog.rs"]
        .find({"ns": f"{database.name}.sessions"})
        .sort("$natural", 1)
    ):
        session = (entry.get("o2") or entry["o"]).get("_id")
        if entry["op"] == "d":
            ledger.erased[session] = entry["wall"]
            continue
        if session in ledger.erased and entry["op"] in {"i", "u"}:
            ledger.grown.append(f"{session} came back after it was erased")
        for message in _messages(entry["o"]):
            place = (session, message["seq"])
            if place in seen:
                continue
            seen.add(place)
            if session in ledger.closed:
                ledger.grown.append(f"{session} took in seq {message['seq']} after it was closed")
            text = json.dumps(message["content"])
            ledger.commits.append(
                Commit(entry["wall"], session, message["seq"], _asked(message, text))
            )
        if _closes(entry["o"]):
            ledger.closed.setdefault(session, entry["wall"])


def _asked(message: Mapping[str, Any], text: str) -> tuple[Line, ...]:
    return _lines(ASKED, text) if message["role"] == "user" else ()


def _messages(part: Any) -> Iterator[Mapping[str, Any]]:
    """Every message anywhere in an oplog entry, however the server chose to note the change."""
    if isinstance(part, Mapping):
        if {"seq", "turn", "role", "content"} <= part.keys():
            yield part
            return
        part = list(part.values())
    if isinstance(part, list):
        for inner in part:
            yield from _messages(inner)


def _closes(change: Mapping[str, Any]) -> bool:
    fields = (change.get("diff") or {}).get("u") or change
    return bool(fields.get("status") == "closed")


def story(ledger: Ledger, person: int) -> str:
    """All that concerns one person, in the order of time: what a failed run shows."""
    lines = [
        (given.at, f"asked {given.asked}")
        for given in ledger.given
        if person in {who for who, _ in given.asked}
    ]
    lines += [
        (sent.at, f"{'read' if sent.arrived else 'missed'} {sent.text[:60]!r}")
        for sent in ledger.sent
        if sent.chat == person
    ]
    lines += [
        (commit.at, f"committed {commit.lines} to {commit.session} as {commit.seq}")
        for commit in ledger.commits
        if person in {who for who, _ in commit.lines}
    ]
    lines += [(blow.at, f"{blow.kind} until {blow.end:%H:%M:%S.%f}") for blow in ledger.blows]
    said = [
        f"{one.update_id} {one.text} {ledger.entries.get(one.update_id, {}).get('state')}"
        for one in ledger.said
        if one.person == person
    ]
    return "\n".join([*said, *(f"{at:%H:%M:%S.%f} {what}" for at, what in sorted(lines))])
