"""Between entries of the inbox and their documents."""

from __future__ import annotations

from bot.owner import Lane, Owner, Place
from bot.ports import Correction, Entry
from bot.store.documents import Document, bson_datetime


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


def to_entry(document: Document) -> Entry | None:
    """None where the row has no update, or its lane is not of its Owner.

    Whoever handles the entry refuses an update that another person sent.
    """
    lane = _lane_of(document)
    if lane is None or "update" not in document:
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


def _lane_of(document: Document) -> Lane | None:
    """The lane that the row names by its key (`Lane.id`); None where its Owner is another one."""
    owner_id, chat_id, thread_id, *aside = document["lane"].split(":")
    if int(owner_id) != document["ownerId"]:
        return None
    place = Place(int(chat_id), int(thread_id) if thread_id else None)
    return Lane(Owner(int(owner_id)), place, aside=bool(aside))
