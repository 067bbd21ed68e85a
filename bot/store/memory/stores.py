"""The store in memory: SessionStore, Archive, Notes and Owners for the demo and for tests; gone
with the process.

It keeps the very documents MongoDB would keep and hands out fresh entities, so nothing is shared
with a caller and what a save changes (milliseconds, unpaired surrogates) is changed here, too. Each
method runs without an await, hence is atomic; how replicas race is therefore proven on a real
mongod only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from bot.errors import AlreadyActive, SessionGone
from bot.owner import Owner, Place
from bot.ports import NOTHING_USED, Hit, Note, Preferences, Reservation, TokenRatio
from bot.session import (
    Alive,
    ClosedTurn,
    CompactionState,
    Lifetime,
    Message,
    Session,
    Summary,
    Usage,
)
from bot.store import documents, people_documents
from bot.store.documents import Document
from bot.store.filters import (
    active,
    matches,
    on_day,
    owned,
    owner_document,
    seen_from,
    visible_notes,
)


class MemorySessions:
    """A SessionStore in a dict."""

    def __init__(self) -> None:
        self._documents: dict[str, Document] = {}

    async def load(
        self, owner: Owner, place: Place, *, at: datetime, now: datetime, lifetime: Lifetime
    ) -> Session | None:
        found = self._first(active(owner, place))
        if found is None or found.is_over(
            documents.bson_datetime(at), documents.bson_datetime(now), lifetime
        ):
            return None
        found.last_active = max(found.last_active, now)
        return self._put(found)

    async def inspect(
        self, owner: Owner, place: Place, *, unless_over: Alive | None = None
    ) -> Session | None:
        found = self._first(active(owner, place))
        return found if found and _is_alive(found, unless_over) else None

    async def create(self, owner: Owner, session: Session) -> None:
        document = documents.from_session(session) | owned(owner)
        if session.id in self._documents:
            return
        if self._first(active(owner, Place(session.chat_id, session.thread_id))):
            raise AlreadyActive
        self._documents[session.id] = document

    async def expire(
        self, owner: Owner, place: Place, *, at: datetime, now: datetime, lifetime: Lifetime
    ) -> Session | None:
        found = self._first(active(owner, place))
        if found is None or not found.is_over(
            documents.bson_datetime(at), documents.bson_datetime(now), lifetime
        ):
            return None
        return await self.close(owner, place)

    async def close(self, owner: Owner, place: Place) -> Session | None:
        found = self._first(active(owner, place))
        if found is None:
            return None
        found.status = "closed"
        found.revision += 1
        return self._put(found)

    async def erase(self, owner: Owner, place: Place) -> str | None:
        found = self._first(active(owner, place))
        if found is None:
            return None
        del self._documents[found.id]
        return found.id

    async def commit(self, owner: Owner, session: Session, turn: ClosedTurn) -> None:
        turn = documents.as_stored(turn)
        documents.require_room(session, turn)
        found = self._first(
            owned(owner, _id=session.id, status="active", revision=session.revision)
        )
        if found is not None and turn.replaces is not None:
            found = found.before(turn.replaces) if found.epoch == session.epoch else None
        if found is None:
            raise SessionGone
        found.absorb(turn)
        self._put(found)
        session.absorb(turn)

    async def replace_summary(
        self,
        owner: Owner,
        session: Session,
        summary: Summary,
        state: CompactionState,
        usage: Usage = NOTHING_USED,
    ) -> bool:
        found = self._first(owned(owner, _id=session.id))
        if found is None or found.epoch != session.epoch:
            return False
        found.compaction = state
        found.usage += usage
        self._put(found.without(summary.up_to, summary))
        return True

    async def postpone(self, owner: Owner, session: Session, state: CompactionState) -> None:
        found = self._first(owned(owner, _id=session.id))
        if found is not None and found.epoch == session.epoch:
            found.compaction = state
            self._put(found)

    async def find_by_update_ids(
        self, owner: Owner, update_ids: Sequence[int], *, unless_over: Alive | None = None
    ) -> Session | None:
        own = map(documents.to_session, _matching(self._documents.values(), owned(owner)))
        knowing = [
            one for one in own if any(map(one.knows, update_ids)) and _is_alive(one, unless_over)
        ]
        return max(knowing, key=lambda session: session.last_active, default=None)

    async def exists(self, owner: Owner, session_id: str) -> bool:
        return self._first(owned(owner, _id=session_id)) is not None

    async def seen_from(self, owner: Owner, place: Place, unless_over: Alive) -> Sequence[str]:
        own = map(
            documents.to_session, _matching(self._documents.values(), seen_from(owner, place))
        )
        return [one.id for one in own if _is_alive(one, unless_over)]

    async def search(
        self, owner: Owner, session_ids: Sequence[str], wanted: Sequence[str], maximum: int
    ) -> Sequence[Hit]:
        found = [
            row
            for one in session_ids
            for row in _matching(self._documents.values(), owned(owner, _id=one))
        ]
        return documents.latest(documents.hits_in(found, wanted), maximum)

    def _first(self, where: Mapping[str, Any]) -> Session | None:
        found = next(_matching(self._documents.values(), where), None)
        return documents.to_session(found) if found else None

    def _put(self, session: Session) -> Session:
        self._documents[session.id] = documents.from_session(session)
        return documents.to_session(self._documents[session.id])


class MemoryArchive:
    """An Archive in a dict. Rows never expire here: their TTL is MongoDB's garbage collection."""

    def __init__(self) -> None:
        self._rows: dict[tuple[int, str, int], Document] = {}

    async def add(self, owner: Owner, session_id: str, messages: Sequence[Message]) -> None:
        belongs = owned(owner, sessionId=session_id)
        for message in messages:
            row = belongs | documents.from_message(message)
            self._rows.setdefault((owner.id, session_id, message.seq), row)

    async def of(self, owner: Owner, session_id: str) -> Sequence[Message]:
        rows = _matching(self._rows.values(), owned(owner, sessionId=session_id))
        return [documents.to_message(row) for row in sorted(rows, key=lambda row: int(row["seq"]))]

    async def search(
        self, owner: Owner, session_ids: Sequence[str], wanted: Sequence[str], maximum: int
    ) -> Sequence[Hit]:
        rows = [
            row
            for one in session_ids
            for row in _matching(self._rows.values(), owned(owner, sessionId=one))
        ]
        return documents.latest(
            [documents.to_hit(row) for row in rows if matches(row["content"], wanted)], maximum
        )

    async def erase(self, owner: Owner, session_id: str) -> None:
        for row in list(_matching(self._rows.values(), owned(owner, sessionId=session_id))):
            del self._rows[owner.id, session_id, row["seq"]]


class MemoryNotes:
    """Notes in a list."""

    def __init__(self) -> None:
        self._rows: list[Document] = []

    async def add(self, owner: Owner, place: Place, note: Note) -> None:
        row = people_documents.from_note(note) | visible_notes(owner, place)
        if not any(_matching(self._rows, visible_notes(owner, place, operationId=note.id))):
            self._rows.append(row)

    async def of(self, owner: Owner, place: Place) -> Sequence[Note]:
        rows = _matching(self._rows, visible_notes(owner, place))
        return sorted(map(people_documents.to_note, rows), key=lambda note: note.at)

    async def remove(self, owner: Owner, place: Place, note_id: str) -> bool:
        row = next(_matching(self._rows, visible_notes(owner, place, operationId=note_id)), None)
        if row is None:
            return False
        self._rows.remove(row)
        return True


class MemoryOwners:
    """Owners in a dict."""

    def __init__(self) -> None:
        self._rows: dict[int, Document] = {}

    async def preferences(self, owner: Owner) -> Preferences:
        return people_documents.to_preferences(self._rows.get(owner_document(owner)["_id"], {}))

    async def prefer(self, owner: Owner, preferences: Preferences) -> None:
        self._row(owner).update(people_documents.from_preferences(preferences))

    async def unreachable(self, owner: Owner, at: datetime) -> None:
        self._row(owner)["unreachable"] = documents.bson_datetime(at)

    async def reached(self, owner: Owner) -> None:
        self._row(owner).pop("unreachable", None)

    def _row(self, owner: Owner) -> Document:
        return self._rows.setdefault(owner_document(owner)["_id"], {})


class MemoryUsage:
    """What was used, in a dict."""

    def __init__(self) -> None:
        self._days: dict[tuple[int, datetime], Usage] = {}
        self._holds: dict[tuple[int, datetime], dict[int, tuple[int, datetime]]] = {}

    async def add(self, owner: Owner, at: datetime, usage: Usage, turn: int) -> None:
        self._days[self._key(owner, at)] = await self.of(owner, at) + usage
        self._holds.get(self._key(owner, at), {}).pop(turn, None)

    async def reserve(self, owner: Owner, at: datetime, hold: Reservation, budget: int) -> int:
        holds = self._holds.setdefault(self._key(owner, at), {})
        others = [
            tokens
            for turn, (tokens, since) in holds.items()
            if turn != hold.turn and since > at - hold.keep
        ]
        left = budget - (await self.of(owner, at)).tokens - sum(others)
        granted = max(min(left, hold.maximum), 0)
        if granted >= hold.minimum:
            holds[hold.turn] = (granted, at)
        return granted

    async def of(self, owner: Owner, at: datetime) -> Usage:
        return self._days.get(self._key(owner, at), Usage())

    def _key(self, owner: Owner, at: datetime) -> tuple[int, datetime]:
        day = on_day(owner, at)
        return day["ownerId"], day["day"]


class MemoryTokenRatios:
    """What was learned of models, in a dict."""

    def __init__(self) -> None:
        self._token_ratios: dict[str, TokenRatio] = {}

    async def load(self, model: str) -> TokenRatio | None:
        return self._token_ratios.get(model)

    async def save(self, model: str, scale: TokenRatio) -> None:
        self._token_ratios[model] = scale


def _is_alive(session: Session, unless_over: Alive | None) -> bool:
    return unless_over is None or not session.is_over(
        unless_over.at, unless_over.at, unless_over.lifetime
    )


def _matching(rows: Iterable[Document], where: Mapping[str, Any]) -> Iterator[Document]:
    return (row for row in rows if all(row[name] == value for name, value in where.items()))
