"""Sessions in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from bot.errors import AlreadyActive, SessionGone
from bot.owner import Owner, Place
from bot.ports import NOTHING_USED, Hit
from bot.session import Alive, ClosedTurn, CompactionState, Lifetime, Session, Summary
from bot.store import documents, turn_documents
from bot.store.documents import Document
from bot.store.filters import active, owned, seen_from
from bot.store.memory.rows import matching
from bot.usage import Usage


class MemorySessions:
    """A SessionStore in a dict."""

    def __init__(self, rows: dict[str, Document] | None = None) -> None:
        self._documents = {} if rows is None else rows

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
        if session.status == "active" and self._first(active(owner, session.place)):
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
        turn = turn_documents.as_stored(turn)
        turn_documents.require_room(session, turn)
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

    async def follow(self, owner: Owner, place: Place, previous: str) -> bool:
        found = self._first(active(owner, place))
        if found is None or not found.is_empty:
            return False
        found.previous = previous
        self._put(found)
        return True

    async def postpone(self, owner: Owner, session: Session, state: CompactionState) -> None:
        found = self._first(owned(owner, _id=session.id))
        if found is not None and found.epoch == session.epoch:
            found.compaction = state
            self._put(found)

    async def find_by_update_ids(
        self, owner: Owner, update_ids: Sequence[int], *, unless_over: Alive | None = None
    ) -> Session | None:
        own = map(documents.to_session, matching(self._documents.values(), owned(owner)))
        knowing = [
            one for one in own if any(map(one.knows, update_ids)) and _is_alive(one, unless_over)
        ]
        return max(knowing, key=lambda session: session.last_active, default=None)

    async def exists(self, owner: Owner, session_id: str) -> bool:
        return self._first(owned(owner, _id=session_id)) is not None

    async def seen_from(self, owner: Owner, place: Place, unless_over: Alive) -> Sequence[str]:
        own = map(documents.to_session, matching(self._documents.values(), seen_from(owner, place)))
        return [one.id for one in own if _is_alive(one, unless_over)]

    async def search(
        self, owner: Owner, session_ids: Sequence[str], wanted: Sequence[str], maximum: int
    ) -> Sequence[Hit]:
        found = [
            row
            for one in session_ids
            for row in matching(self._documents.values(), owned(owner, _id=one))
        ]
        return documents.latest(documents.hits_in(found, wanted), maximum)

    def _first(self, where: Mapping[str, object]) -> Session | None:
        found = next(matching(self._documents.values(), where), None)
        return documents.to_session(found) if found else None

    def _put(self, session: Session) -> Session:
        self._documents[session.id] = documents.from_session(session)
        return documents.to_session(self._documents[session.id])


def _is_alive(session: Session, unless_over: Alive | None) -> bool:
    return unless_over is None or not session.is_over(
        unless_over.at, unless_over.at, unless_over.lifetime
    )
