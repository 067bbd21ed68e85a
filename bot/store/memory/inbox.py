"""The inbox in memory: the same order, deduplication and cancelling as the durable one, gone with
the process.

Invariants: a lane is held by at most one claim; entries of a lane keep the order of their update
ids; an id that was accepted once is not accepted again while it is remembered (the last 100,000:
Telegram repeats for 24 hours at most). One process has no lease to lose, so `keep` and
`require_lease` have nothing to say.
"""

from __future__ import annotations

import asyncio
from bisect import insort
from collections import Counter, OrderedDict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import count
from typing import Literal

from bot.owner import Lane
from bot.ports import Batch, Claim, Clock, Effect, Entry, State, TitlePrompt
from bot.store.batches import next_batch

IDS_REMEMBERED = 100_000


@dataclass(slots=True)
class _Queue:
    """What waits in one lane."""

    waiting: list[Entry] = field(default_factory=list)
    held: bool = False
    delayed: bool = False
    cancel_before: int | None = None


class MemoryInbox:
    """Implements the Inbox port for one process."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._queues: dict[str, _Queue] = {}
        self._states: OrderedDict[int, State | Literal["queued"]] = OrderedDict()
        self._fences = count(1)
        self._records: dict[str, MemoryRecord] = {}
        self._unreachable: set[str] = set()
        self._arrived = asyncio.Event()

    async def put(self, *entries: Entry) -> bool:
        put = [self._put(entry) for entry in entries]
        return all(put)

    def _put(self, entry: Entry) -> bool:
        if entry.id in self._states:
            return False
        self._remember(entry.id)
        queue = self._queues.setdefault(entry.lane.id, _Queue())
        insort(queue.waiting, entry, key=lambda waiting: waiting.id)
        if entry.cancels:
            queue.cancel_before = max(entry.id, queue.cancel_before or 0)
        self._arrived.set()
        return True

    def _remember(self, update_id: int) -> None:
        self._states[update_id] = "queued"
        if len(self._states) > IDS_REMEMBERED:
            self._states.popitem(last=False)

    async def revise(self, edit: Entry) -> None:
        if (queue := self._queues.get(edit.lane.id)) is not None:
            queue.waiting = [_revised(entry, edit) for entry in queue.waiting]

    async def claim(self, busy: Collection[str], full_shares: Collection[str] = ()) -> Claim | None:
        self._arrived.clear()
        for lane, queue in self._queues.items():
            if not queue.waiting or queue.held or queue.delayed or lane in busy:
                continue
            if (share := queue.waiting[0].lane.share) not in full_shares:
                queue.held = True
                return Claim(
                    lane, next(self._fences), share=share, unreachable=lane in self._unreachable
                )
        return None

    async def next(self, claim: Claim) -> Batch | None:
        return next_batch(claim, self._queues[claim.lane].waiting, self._clock.now())

    async def run_alone(self, claim: Claim) -> None:
        """Nothing here outlives a death."""

    async def finish(self, batch: Batch, state: State) -> Claim:
        queue = self._queues[batch.claim.lane]
        for entry in batch.entries:
            queue.waiting = [other for other in queue.waiting if other.id != entry.id]
            self._states[entry.id] = state
            self.record(batch).forget(entry.id)
            if entry.id == queue.cancel_before:
                queue.cancel_before = None
        (self._unreachable.add if state == "refused" else self._unreachable.discard)(
            batch.claim.lane
        )
        return replace(batch.claim, tries=1, deaths_alone=0, unreachable=state == "refused")

    async def release(self, claim: Claim) -> Claim | None:
        if self._queues[claim.lane].waiting:
            return claim
        del self._queues[claim.lane]
        if (record := self._records.get(claim.lane)) is not None and record.is_empty:
            del self._records[claim.lane]
        return None

    async def hand_back(self, claim: Claim, seconds: float = 0.0) -> None:
        # To the end of the line, so that a busy lane does not starve the others.
        queue = self._queues[claim.lane] = replace(
            self._queues.pop(claim.lane), held=False, delayed=seconds > 0
        )
        if queue.delayed:
            asyncio.get_running_loop().call_later(seconds, self._end_delay, queue)
        else:
            self._arrived.set()

    def _end_delay(self, queue: _Queue) -> None:
        queue.delayed = False
        self._arrived.set()

    async def keep(self, claims: Sequence[Claim]) -> Collection[str]:  # noqa: ARG002 - the port's signature
        return ()

    async def stop(self, lane: Lane, turn: int, *, in_all_topics: bool = False) -> None:
        chat = f"{lane.owner.id}:{lane.place.chat_id}:"
        for name, queue in self._queues.items():
            if name == lane.id or (in_all_topics and name.startswith(chat)):
                queue.cancel_before = max(turn + 1, queue.cancel_before or 0)

    async def cancelled(self, lanes: Collection[str]) -> Mapping[str, int]:
        told = {lane: self._queues[lane].cancel_before for lane in lanes if lane in self._queues}
        return {lane: before for lane, before in told.items() if before is not None}

    async def wait(self) -> None:
        await self._arrived.wait()

    def record(self, batch: Batch) -> MemoryRecord:
        return self._records.setdefault(batch.claim.lane, MemoryRecord())


def _revised(entry: Entry, edit: Entry) -> Entry:
    waiting, message = entry.update.get("message", {}), edit.update["message"]
    is_earlier = entry.id < edit.id and waiting.get("edit_date", 0) <= message.get("edit_date", 0)
    if waiting.get("message_id") != message["message_id"] or not is_earlier:
        return entry
    return replace(entry, update={**entry.update, "message": message})


class MemoryRecord:
    """What was sent and begun, of all turns of a lane."""

    def __init__(self) -> None:
        self._sent: Counter[int] = Counter()
        self._previews: dict[int, tuple[int, ...]] = {}
        self._uncertain: int | None = None
        self._transcripts: dict[str, tuple[int, str]] = {}
        self._effects: dict[tuple[int, str, str], str | None] = {}
        self._acted: set[int] = set()
        self._title_prompt: TitlePrompt | None = None

    def forget(self, turn: int) -> None:
        """The turn's fate is recorded."""
        del self._sent[turn]
        self._previews.pop(turn, None)
        self._transcripts = {
            file: known for file, known in self._transcripts.items() if known[0] != turn
        }
        self._effects = {
            effect: result
            for effect, result in self._effects.items()
            if effect[0] != turn or turn in self._acted
        }

    @property
    def is_empty(self) -> bool:
        """Whether a later turn of the lane need not know any of it."""
        return self._uncertain is None and not self._acted and self._title_prompt is None

    def require_lease(self) -> None:
        """There is no other worker."""

    def parts_sent(self, turn: int) -> int:
        return self._sent[turn]

    async def part_sent(self, turn: int, message_id: int | None) -> None:  # noqa: ARG002 - the port's signature
        self._sent[turn] += 1

    def previews(self, turn: int) -> Sequence[int]:
        return self._previews.get(turn, ())

    async def previewed(self, turn: int, *message_ids: int) -> None:
        self._previews[turn] = message_ids

    def uncertain(self) -> int | None:
        return self._uncertain

    async def mark_uncertain(self, turn: int | None) -> None:
        self._uncertain = turn

    def title_prompt(self) -> TitlePrompt | None:
        return self._title_prompt

    async def asked_title(self, prompt: TitlePrompt) -> None:
        self._title_prompt = prompt

    def transcript(self, file: str) -> str | None:
        return self._transcripts[file][1] if file in self._transcripts else None

    async def transcribed(self, turn: int, file: str, words: str) -> None:
        self._transcripts[file] = turn, words

    async def effect_begins(self, turn: int, tool: str, arguments: str) -> bool:
        is_first = (turn, tool, arguments) not in self._effects
        self._effects.setdefault((turn, tool, arguments), None)
        return is_first

    async def effect_ended(self, turn: int, tool: str, arguments: str, result: str) -> None:
        self._effects[turn, tool, arguments] = result

    async def effects(self, turn: int) -> Sequence[Effect]:
        return [
            Effect(tool, hashed, result)
            for (of, tool, hashed), result in self._effects.items()
            if of == turn
        ]

    async def keep_effects(self, turn: int) -> None:
        self._acted.add(turn)

    async def unseen_effects(self, since: datetime) -> Sequence[Effect]:  # noqa: ARG002 - the port's signature
        """Those of failed turns, which are forgotten with the process; when they failed is not
        kept.
        """
        return [effect for turn in sorted(self._acted) for effect in await self.effects(turn)]

    async def effects_seen(self) -> None:
        self._acted.clear()
