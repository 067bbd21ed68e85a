"""What the bot promises under blows, checked against a ledger: a sentence for each broken promise,
and the figures.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from bot.texts import text
from tests.process.chaos.ledger import Ledger, Line, Sent, story

PERSON = re.compile(r"\b[qa]?(\d{4})(?:x|\b)")
SLACK = timedelta(seconds=2)
"""A blow may fall just before its victim's last call reaches the journal."""
WAKING = timedelta(seconds=0.5)
"""In this time a woken process sends what it had begun to send."""
DECLINED, BURIED, INTERRUPTED = (
    text(key, "en") for key in ("turn_declined", "turn_buried", "ending_interrupted")
)
APOLOGIES = ("error_store", "error_model_busy", "error_unexpected", "error_session_gone")
DONE = {f"/{name}": text(f"{name}_done", "en") for name in ("new", "reset", "stop")}


@dataclass
class Verdict:
    """The figures of a run, and what was wrong."""

    ledger: Ledger
    fates: Counter[str] = field(default_factory=Counter)
    faults: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    duplicates: int = 0
    uncertain: int = 0
    orphans: int = 0
    woken: int = 0

    @property
    def is_clean(self) -> bool:
        return not any(self.faults.values())

    def __str__(self) -> str:
        faults = [
            f"{kind}: {fault}" for kind, faults in self.faults.items() for fault in faults[:8]
        ]
        people = {int(found) for fault in faults for found in PERSON.findall(fault)}
        return "\n".join([*faults, *(story(self.ledger, person) for person in sorted(people)[:3])])


def judge(ledger: Ledger) -> Verdict:
    """Look at everything."""
    verdict = Verdict(ledger)
    answers = [sent for sent in ledger.sent if sent.told]
    verdict.uncertain = sum("uncertain" in entry["sent"] for entry in ledger.entries.values())
    for kind, faults in (
        ("lost", _lost(ledger, verdict)),
        ("given again", _given_again(ledger, verdict)),
        ("out of order", _out_of_order(ledger, answers)),
        ("holes", _holes(ledger, verdict)),
        ("grown", ledger.grown),
        ("mixed", _mixed(ledger)),
        ("sent again", _sent_again(ledger, answers, verdict)),
        ("commands", _commands(ledger, verdict)),
        ("said for no reason", _for_no_reason(ledger)),
    ):
        verdict.faults[kind] = list(faults)
    return verdict


# ------------------------------------------------------------------------------------- nothing lost


def _lost(ledger: Ledger, verdict: Verdict) -> Iterator[str]:
    arrived = {line for sent in ledger.sent if sent.arrived for line in sent.told}
    for said in ledger.said:
        if not said.number:
            continue
        fate = (
            "answered" if (said.person, said.number) in arrived else _fate(ledger, said.update_id)
        )
        verdict.fates[fate] += 1
        if fate.startswith("lost"):
            yield f"q{said.person}x{said.number} (update {said.update_id}): {fate}"
    yield from _unspoken(ledger, "cancelled", DECLINED)
    yield from _unspoken(ledger, "dead", BURIED)


def _fate(ledger: Ledger, update_id: int) -> str:
    entry = ledger.entries.get(update_id)
    if entry is None:
        return "lost: it never reached the inbox"
    if entry["state"] == "done":
        return _fate_of_the_done(ledger, entry)
    return {"cancelled": "declined", "dead": "parked", "failed": "failed"}.get(
        entry["state"], f"lost: {entry['state']}"
    )


def _fate_of_the_done(ledger: Ledger, entry) -> str:
    record = ledger.entries.get(entry["turn"], entry)
    if "uncertain" in record["sent"]:
        return "uncertain"
    if any(sent.chat == entry["ownerId"] and sent.text == INTERRUPTED for sent in ledger.sent):
        return "interrupted"
    return "lost: done without an answer"


def _unspoken(ledger: Ledger, state: str, sentence: str) -> Iterator[str]:
    """Fates that need a sentence, in chats that got fewer of those than such batches."""
    batches = {
        (entry["ownerId"], entry["turn"])
        for entry in ledger.entries.values()
        if entry["state"] == state
    }
    spoken = Counter(sent.chat for sent in ledger.sent if sent.text == sentence)
    for person, count in Counter(person for person, _ in batches).items():
        if spoken[person] < count:
            yield f"{person}: {count} batches {state}, {spoken[person]} times told so"


# ------------------------------------------------------------------------------- once, and in order


def _given_again(ledger: Ledger, verdict: Verdict) -> Iterator[str]:
    """A process that wakes up in the middle of its request cannot take it back: what those ask is
    counted apart.
    """
    committed: dict[Line, datetime] = {}
    for commit in ledger.commits:
        for line in commit.lines:
            if line in committed:
                yield f"q{line[0]}x{line[1]} was committed twice"
            committed.setdefault(line, commit.at)
    for given in ledger.given:
        for line in given.asked:
            if line not in committed or given.at <= committed[line]:
                continue
            if _is_waking(ledger, given.at):
                verdict.woken += 1
            else:
                yield (
                    f"q{line[0]}x{line[1]} was given again {given.at - committed[line]} after "
                    f"its commit"
                )


def _is_waking(ledger: Ledger, at: datetime) -> bool:
    return any(blow.kind == "freeze" and blow.end < at < blow.end + WAKING for blow in ledger.blows)


def _out_of_order(ledger: Ledger, answers: Sequence[Sent]) -> Iterator[str]:
    given = [
        line for given in ledger.given if not _is_waking(ledger, given.at) for line in given.asked
    ]
    committed = [line for commit in ledger.commits for line in commit.lines]
    read = [line for sent in answers if sent.arrived for line in sent.told]
    for what, lines in (
        ("the model was given", given),
        ("was committed", committed),
        ("was answered", read),
    ):
        yield from (f"{what} q{line[0]}x{line[1]} too late" for line in _late(lines))


def _late(lines: Iterable[Line]) -> Iterator[Line]:
    """Lines that appear for the first time after a later one of the same person."""
    latest: dict[int, int] = {}
    for person, number in dict.fromkeys(lines):
        if number < latest.get(person, 0):
            yield person, number
        latest[person] = max(number, latest.get(person, 0))


# ----------------------------------------------------------------------------------------- sessions


def _holes(ledger: Ledger, verdict: Verdict) -> Iterator[str]:
    archived: dict[str, list[int]] = defaultdict(list)
    for row in ledger.archive:
        archived[row["sessionId"]].append(row["seq"])
    verdict.orphans = sum(
        len(rows) for session, rows in archived.items() if session not in ledger.sessions
    )
    for session in ledger.sessions.values():
        kept = [message["seq"] for message in session["messages"]]
        if kept != sorted(set(kept)) or {*kept, *archived[session["_id"]]} != set(
            range(session["nextSeq"])
        ):
            yield (
                f"{session['_id']}: {sorted(archived[session['_id']])} + {kept} are not 0 … "
                f"{session['nextSeq'] - 1}"
            )


def _mixed(ledger: Ledger) -> Iterator[str]:
    """What the model was reminded of belongs to the Session that took the turn in."""
    home = {line: commit.session for commit in ledger.commits for line in commit.lines}
    for given in ledger.given:
        homes = {home.get(line) for line in given.asked} - {None}
        strange = [line for line in given.reminded if homes and home.get(line) not in homes]
        gone = [
            line
            for line in given.reminded
            if given.at - SLACK > ledger.erased.get(home.get(line, ""), given.at)
        ]
        if strange or gone:
            yield (
                f"the request for {given.asked} held {strange} of another Session, {gone} of "
                f"an erased one"
            )


# -------------------------------------------------------------------------------------------- sends


def _blows_between(ledger: Ledger, start: datetime, end: datetime) -> int:
    return sum(blow.at < end + SLACK and blow.end > start - SLACK for blow in ledger.blows)


def _sent_again(ledger: Ledger, answers: Sequence[Sent], verdict: Verdict) -> Iterator[str]:
    turns: dict[tuple[int, tuple[Line, ...]], list[Sent]] = defaultdict(list)
    for sent in answers:
        if sent.arrived:
            turns[sent.chat, sent.told].append(sent)
    homes: dict[Line, tuple[Line, ...]] = {}
    for (_, told), copies in turns.items():
        extra = len(copies) - len({sent.text for sent in copies})
        verdict.duplicates += extra
        if extra > _blows_between(ledger, copies[0].at, copies[-1].at):
            yield f"a{told[0][0]}x{told[0][1]} was sent {extra} times too often"
        yield from (
            f"a{p}x{n} was answered in two turns"
            for p, n in told
            if homes.setdefault((p, n), told) != told
        )


def _commands(ledger: Ledger, verdict: Verdict) -> Iterator[str]:
    """A confirmation each, and another one only where a blow fell."""
    for command, sentence in DONE.items():
        given = Counter(said.person for said in ledger.said if said.text == command)
        heard: dict[int, list[Sent]] = defaultdict(list)
        for sent in ledger.sent:
            if sent.text == sentence:
                heard[sent.chat].append(sent)
        for person in {*given, *heard}:
            arrived = [sent for sent in heard[person] if sent.arrived]
            extra = max(len(arrived) - given[person], 0)
            verdict.duplicates += extra
            if len(heard[person]) < given[person]:
                yield (
                    f"{person}: {given[person]} times {command}, {len(heard[person])} times "
                    f"confirmed"
                )
            if extra and extra > _blows_between(ledger, arrived[0].at, arrived[-1].at):
                yield f"{person}: {given[person]} times {command}, {len(arrived)} times confirmed"


def _for_no_reason(ledger: Ledger) -> Iterator[str]:
    """An apology for something that did not fail; one for the store is due once in a while of
    outages.
    """
    failed = Counter(
        entry["ownerId"] for entry in ledger.entries.values() if entry["state"] == "failed"
    )
    outage = any(blow.kind in {"primary", "mongod"} for blow in ledger.blows)
    for key in APOLOGIES:
        sentence = text(key, "en")
        for person, count in Counter(
            sent.chat for sent in ledger.sent if sent.text == sentence
        ).items():
            if count > failed[person] and not (key == "error_store" and outage):
                yield f"{person} read {key} {count} times, {failed[person]} entries failed"
