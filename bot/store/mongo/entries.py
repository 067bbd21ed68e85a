"""Between entries of the inbox and their documents."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from bot.inbox import Entry
from bot.owner import Lane
from bot.ports import Correction, Json
from bot.store.documents import Document, bson_datetime

LaneOf = Callable[[Json], Lane | None]
"""Whose an update is and where it belongs: asked of the authenticated update itself, never of a
stored id. None: it can no longer be told.
"""


def from_entry(entry: Entry) -> Document:
    return {
        "_id": entry.id,
        "lane": entry.lane.id,
        "ownerId": entry.lane.owner.id,
        "kind": entry.kind,
        "cancels": entry.cancels,
        "gathers": entry.gathers,
        "update": dict(entry.update),
        "message": entry.update.get("message", {}).get("message_id"),
        "state": "queued",
        "receivedAt": bson_datetime(entry.received_at),
        "fence": 0,
        "sent": [],
        "effects": [],
    }


def to_entry(document: Document, lane_of: LaneOf) -> Entry | None:
    """None where its update does not belong in the lane it waits in: nobody may be answered for
    somebody else.
    """
    lane = lane_of(document.get("update", {}))
    if lane is not None and lane.id != document["lane"]:
        lane = replace(lane, aside=True)
    if lane is None or lane.id != document["lane"]:
        return None
    return Entry(
        id=document["_id"],
        lane=lane,
        kind=document["kind"],
        update=document["update"],
        received_at=document["receivedAt"],
        cancels=document["cancels"],
        gathers=document["gathers"],
        sent=len(document["sent"]),
        previews=tuple(document.get("previews", ())),
        transcripts={one["file"]: one["words"] for one in document.get("transcripts", ())},
        replaces=Correction(**document["replaces"]) if "replaces" in document else None,
    )
