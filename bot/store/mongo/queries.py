"""The queries of the hot path, in the order in which a message meets them, each with its index.

    put       insert of the entries; the unique `_id` (update id) finds a repetition
    announce  upsert of the lane: something waits in it
    claim     a ready lane whose lease is over, by the server's clock
    waiting   the entries of the lane, in order
    load      the active Session, touched
    commit    the whole turn, compare-and-set
    finish    the fate of the batch
    release   the lane is given back, unless something has come meanwhile

Beside them: `keep` renews all leases of a process, `take_back` and `hand_back` free a lane, and
`recover` finds what was committed before a crash. A function gives the filter, or the filter and
the update. Every write of a holder carries its fence, every filter on Sessions its Owner. The test
`test_queries.py` explains each of them on a server and compares the index with the one named here.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from bot.owner import Owner, Place
from bot.ports import Claim, Entry, State
from bot.session import Alive, ClosedTurn, Lifetime, Session
from bot.store.documents import Document, bson_datetime
from bot.store.filters import active, alive, owned
from bot.store.turn_documents import turn_update

Write = tuple[Document, Document | list[Document]]
"""A filter, and the update of what it finds: operators, or a pipeline where the server computes."""

NEVER = datetime(1970, 1, 1, tzinfo=UTC)
READ_AHEAD = 60
CLAIM_ORDER = [("leaseUntil", 1)]
UNSETTLED = "unsettled"
"""Stand-in lease owner: the previous one died, and the lane was handed back before its unfinished
turn was checked.
"""
FORGOTTEN = frozenset({"done", "cancelled", "refused"})
"""Fates after which nobody will want to see the update again."""
CONTENT: Document = {"update": "", "transcripts": ""}
"""The fields that hold a person's words."""
_RELEASED_AT = {"$dateTrunc": {"date": "$$NOW", "unit": "second", "binSize": 10}}
"""Rounded, so that a claim passes over many waiting lanes of one share in a few steps of the
index.
"""
CLOSED: Document = {"$set": {"status": "closed"}, "$inc": {"revision": 1}}
"""The update that closes a Session: a turn that still runs in it can no longer commit."""
_ONE_LESS = {"$max": [{"$subtract": ["$tries", 1]}, 0]}


@dataclass(frozen=True, slots=True)
class LeaseOwner:
    """This process, as its leases name it, and how long a lease lasts."""

    id: str
    lease_seconds: float


def unfinished(update_ids: Sequence[int]) -> Document:
    """Which of these entries wait: a crash may have come between insertion and announcement.

    Index: `inbox._id_`.
    """
    return {"_id": {"$in": list(update_ids)}, "state": "queued"}


def announce(lane: str, arrived: Sequence[Entry], now: datetime) -> Write:
    """Tell a lane, made if need be, that these entries have arrived. Index: `lanes._id_`."""
    update: Document = {
        "$set": {
            "ready": True,
            "ownerId": arrived[0].lane.owner.id,
            "share": arrived[0].lane.share,
            "lastSeen": bson_datetime(now),
        },
        "$inc": {"arrivals": len(arrived)},
        "$setOnInsert": {"leaseBy": None, "leaseUntil": NEVER, "fence": 0, "tries": 0},
    }
    if cancelling := [entry.id for entry in arrived if entry.cancels]:
        update["$max"] = {"cancel.before": max(cancelling)}
    return {"_id": lane}, update


def claim(holder: LeaseOwner, busy: Collection[str], full_shares: Collection[str]) -> Write:
    """Lease a ready lane that nobody holds; sorted by CLAIM_ORDER. Index: `lanes.claimable`."""
    where = {
        "_id": {"$nin": list(busy)},
        "ready": True,
        "share": {"$nin": list(full_shares)},
        "$expr": {"$lte": ["$leaseUntil", "$$NOW"]},
    }
    taken = {
        "fence": {"$add": ["$fence", 1]},
        "tries": {"$add": ["$tries", 1]},
        "leaseBy": holder.id,
        "leaseUntil": _lease_end(holder),
    }
    return where, [{"$set": taken}]


def take_back(holder: LeaseOwner, busy: Collection[str]) -> Write:
    """Free what `holder` has leased without knowing it. Not a try. Index: `lanes.claimable`."""
    unknown = {"_id": {"$nin": list(busy)}, "ready": True, "leaseBy": holder.id}
    return unknown, [{"$set": {"leaseUntil": "$$NOW", "tries": _ONE_LESS}}]


def keep(holder: LeaseOwner, lanes: Sequence[str]) -> Write:
    """Renew the leases of all these lanes. Index: `lanes._id_`."""
    held = {"_id": {"$in": list(lanes)}, "leaseBy": holder.id}
    return held, [{"$set": {"leaseUntil": _lease_end(holder)}}]


def waiting(claimed: Claim) -> Document:
    """What waits in the lane; sorted by `_id`, the first READ_AHEAD. Index: `inbox.in_lane`."""
    return {"lane": claimed.lane, "state": "queued"}


def load(owner: Owner, place: Place, at: datetime, now: datetime, lifetime: Lifetime) -> Write:
    """The active Session that a message sent `at` belongs to. Index: `sessions.one_active`."""
    return active(owner, place) | alive(lifetime, at, now), {"$max": {"lastActive": now}}


def commit(owner: Owner, session: Session, turn: ClosedTurn) -> Write:
    """The whole turn, if the Session is as it was loaded. Index: `sessions._id_`."""
    where = owned(owner, _id=session.id, status="active", revision=session.revision)
    if turn.replaces is not None:
        where |= unchanged_summary(session)
    return where, turn_update(session, turn)


def finish(claimed: Claim, update_ids: Sequence[int], state: State, now: datetime) -> Write:
    """The fate of these entries, if no later holder has touched them. Index: `inbox._id_`."""
    where = {"_id": {"$in": list(update_ids)}, "state": "queued", "fence": {"$lte": claimed.fence}}
    fate: Document = {
        "state": state,
        "turn": update_ids[0],
        "doneAt": bson_datetime(now),
        "fence": claimed.fence,
    }
    return where, {"$set": fate, **({"$unset": CONTENT} if state in FORGOTTEN else {})}


def release(claimed: Claim) -> Write:
    """Give the lane back, unless something was announced since the claim. Index: `lanes._id_`."""
    free = {"ready": False, "leaseBy": None, "tries": 0, "leaseUntil": _RELEASED_AT}
    where = {"_id": claimed.lane, "fence": claimed.fence, "arrivals": claimed.arrivals}
    return where, [{"$set": free}, {"$unset": ["cancel", "deathsAlone"]}]


def hand_back(claimed: Claim, seconds: float) -> Write:
    """Let the lane be claimed again after so many seconds. Not a try. Index: `lanes._id_`."""
    is_over = {"$gt": ["$deathsAlone", claimed.deaths_alone]}
    free = {
        "ready": True,
        "leaseBy": UNSETTLED if claimed.is_retry else None,
        "leaseUntil": {"$add": ["$$NOW", int(seconds * 1000)]},
        "tries": _ONE_LESS,
        "deathsAlone": {"$cond": [is_over, claimed.deaths_alone, "$deathsAlone"]},
    }
    return {"_id": claimed.lane, "fence": claimed.fence}, [{"$set": free}]


def recover(owner: Owner, update_ids: Sequence[int], unless_over: Alive | None) -> Document:
    """The Session that has committed one of these updates; sorted by `lastActive`, latest first.

    Index: `sessions.by_turn`.
    """
    known = {"turns": {"$in": [int(update_id) for update_id in update_ids]}}
    return owned(owner) | known | living(unless_over)


def living(unless_over: Alive | None) -> Document:
    """The part of a filter that passes over what has ended."""
    return alive(unless_over.lifetime, unless_over.at, unless_over.at) if unless_over else {}


def unchanged_summary(session: Session) -> Document:
    """The part of a filter that misses once another compactor has won."""
    return {"summary.epoch": session.epoch} if session.summary else {"summary": None}


def _lease_end(holder: LeaseOwner) -> Document:
    return {"$add": ["$$NOW", int(holder.lease_seconds * 1000)]}
