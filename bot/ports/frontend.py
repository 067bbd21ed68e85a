"""The people's side as the worker sees it, and one run of a turn as both of them know it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Protocol

from bot.ports.inbox import Batch, State
from bot.ports.model import UsageMeter
from bot.ports.records import Record


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a turn: what is recorded of it, whether it was told to stop, and what it has cost
    so far.
    """

    record: Record
    stop: asyncio.Event
    meter: UsageMeter = field(default_factory=UsageMeter)
    has_stopped_turn: bool = False
    """Whether the turn that ran before it in the lane was stopped."""


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
