"""What the holder of a lane should handle next: the rule that every inbox shares.

Commands, presses, edits and corrected questions go alone and keep their place. Messages that wait
in a row become one turn: the pieces of a paste, an album, lines sent in quick succession. What
stands before a command that cancels is overtaken. After a crash one message goes at a time, so that
the one that breaks the process can be told from the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import takewhile

from bot.ports import Batch, Claim, Entry

LONGEST = 20
"""Messages in one turn."""
GATHERING = timedelta(seconds=1.2)
"""How long a message that is likely to be followed by more waits for it."""


def next_batch(claim: Claim, waiting: Sequence[Entry], now: datetime) -> Batch | None:
    """The next batch of a lane in which these entries wait, in their order."""
    if not waiting:
        return None
    if waiting[0].kind != "content":
        return Batch(claim, (waiting[0],))
    run = waiting[:1] if waiting[0].replaces else takewhile(_joins, waiting)
    run = tuple(run)[:LONGEST]
    if any(entry.cancels for entry in waiting):
        return Batch(claim, run, overtaken=True)
    if claim.tries > 1:
        return Batch(claim, run[:1])
    return Batch(claim, run, early=_early(run, waiting, now))


def _joins(entry: Entry) -> bool:
    return entry.kind == "content" and entry.replaces is None


def _early(run: Sequence[Entry], waiting: Sequence[Entry], now: datetime) -> float:
    """Nothing more can join a run that is full or that a command follows."""
    last = run[-1]
    if not last.gathers or len(run) == LONGEST or len(waiting) > len(run):
        return 0.0
    return max((last.received_at + GATHERING - now).total_seconds(), 0.0)
