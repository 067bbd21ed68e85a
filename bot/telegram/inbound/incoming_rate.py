"""How much one person may send: a token bucket each, counted where updates are received.

Invariants: nothing is read from or written to the store; memory is bounded however many people
write; an update that was admitted once is admitted again when Telegram repeats it. Each process
counts for itself: behind a webhook with several replicas a person may send as much to each of them.

Time is Telegram's own where an update has one: what somebody sent over an hour in which the bot was
away arrives at once and is no flood.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from bot.owner import Owner
from bot.ports import Clock, Kind

BURST_MINUTES = 2
"""How many minutes' worth may come at once: a long paste and an album fit in."""
FULL_AGAIN = timedelta(minutes=BURST_MINUTES)
"""After so long without an update a bucket is full again, and need not be remembered."""
COST: dict[Kind, float] = {"content": 1.0, "command": 0.25, "press": 0.25, "edit": 0.25}
"""In messages. Content asks the model; the rest only the store."""
RESERVE = 0.25
"""Share of a minute's worth that only what ends a turn may use: who is at the limit can still
stop.
"""
MAX_IDS = 200
"""Update ids remembered for each person: Telegram hands over at most a hundred at once, and repeats
no more.
"""
MAX_PEOPLE = 10_000


@dataclass(frozen=True, slots=True)
class Arrival:
    """What is counted of an update.

    `sent_at` is Telegram's time; None where an update has none, as a press.
    """

    update_id: int
    kind: Kind
    ends_turn: bool = False
    sent_at: datetime | None = None


@dataclass(slots=True)
class _Bucket:
    left: float
    sent_at: datetime | None
    received_at: datetime
    admitted: deque[int] = field(default_factory=lambda: deque(maxlen=MAX_IDS))


class IncomingRate:
    """Admits `per_minute` messages a minute of each person, and twice that at once."""

    def __init__(self, per_minute: int, clock: Clock) -> None:
        self._per_minute = per_minute
        self._clock = clock
        self._buckets: OrderedDict[Owner, _Bucket] = OrderedDict()

    def admits(self, owner: Owner, arrival: Arrival) -> bool:
        """Whether this update is within its sender's limit; if so, it counts."""
        bucket = self._bucket(owner)
        if arrival.update_id in bucket.admitted:
            return True
        self._refill(bucket, arrival.sent_at)
        cost = COST[arrival.kind]
        lowest = -RESERVE * self._per_minute if arrival.ends_turn else 0.0
        if bucket.left - cost < lowest:
            return False
        bucket.left -= cost
        bucket.admitted.append(arrival.update_id)
        return True

    def remembered(self) -> int:
        """How many people are remembered."""
        return len(self._buckets)

    def _refill(self, bucket: _Bucket, sent_at: datetime | None) -> None:
        """By the longer of the times that passed here and at Telegram since the update before."""
        now, passed = self._clock.now(), timedelta()
        if sent_at is not None:
            passed = sent_at - (bucket.sent_at or sent_at)
            bucket.sent_at = max(sent_at, bucket.sent_at or sent_at)
        minutes = max(passed, now - bucket.received_at) / timedelta(minutes=1)
        bucket.left = min(
            bucket.left + minutes * self._per_minute, BURST_MINUTES * self._per_minute
        )
        bucket.received_at = now

    def _bucket(self, owner: Owner) -> _Bucket:
        """The person's bucket, last in the line of those that may be forgotten."""
        if owner not in self._buckets:
            self._forget()
            full = float(BURST_MINUTES * self._per_minute)
            self._buckets[owner] = _Bucket(full, None, self._clock.now())
        self._buckets.move_to_end(owner)
        return self._buckets[owner]

    def _forget(self) -> None:
        """Make room: first those whose buckets are full again, at the worst who has written nothing
        for longest.
        """
        over = self._clock.now() - FULL_AGAIN
        while self._buckets:
            owner, longest_ago = next(iter(self._buckets.items()))
            if longest_ago.received_at > over and len(self._buckets) < MAX_PEOPLE:
                return
            del self._buckets[owner]
