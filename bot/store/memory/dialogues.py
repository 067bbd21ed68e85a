"""The dialogues of an Owner in memory, over the rows of the Sessions."""

from __future__ import annotations

from collections.abc import Iterator

from bot.content import clean
from bot.owner import Owner, Place
from bot.ports import DIALOGUES_A_PAGE, Cursor, DialoguePage, Overview
from bot.session import Alive, Session
from bot.store import documents
from bot.store.documents import Document
from bot.store.filters import active, edge, owned, seen_from
from bot.store.memory.rows import matching


class MemoryDialogues:
    """The Dialogues over a dict of documents, which a MemorySessions shares."""

    def __init__(self, rows: dict[str, Document]) -> None:
        self._rows = rows

    async def page(
        self, owner: Owner, place: Place, alive: Alive, cursor: Cursor | None = None
    ) -> DialoguePage:
        rows = sorted(self._seen(owner, place, alive), key=_recency, reverse=True)
        if cursor is not None and cursor.newer:
            rows = [row for row in reversed(rows) if _recency(row) > (cursor.at, edge(cursor))]
        elif cursor is not None:
            rows = [row for row in rows if _recency(row) < (cursor.at, edge(cursor))]
        return documents.to_page(rows[: DIALOGUES_A_PAGE + 1], cursor)

    async def previous(self, owner: Owner, place: Place, alive: Alive) -> Overview | None:
        here = owned(owner, chatId=place.chat_id, threadId=place.thread_id, status="closed")
        rows = matching(self._seen(owner, place, alive), here)
        latest = max(rows, key=_recency, default=None)
        return documents.to_overview(latest) if latest else None

    async def find(
        self, owner: Owner, place: Place, session_id: str, alive: Alive
    ) -> Session | None:
        found = self._find(owner, place, session_id, alive)
        return documents.to_session(found) if found else None

    async def activate(
        self, owner: Owner, place: Place, session_id: str, alive: Alive
    ) -> Session | None:
        found = self._find(owner, place, session_id, alive)
        if found is None:
            return None
        if found["status"] != "active" or documents.to_overview(found).place != place:
            for other in matching(list(self._rows.values()), active(owner, place)):
                self._change(other, status="closed")
            at = max(found["lastActive"], documents.bson_datetime(alive.at))
            here = {"chatId": place.chat_id, "threadId": place.thread_id}
            found = self._change(found, status="active", lastActive=at, **here)
        return documents.to_session(found)

    async def rename(
        self, owner: Owner, place: Place, session_id: str, title: str, alive: Alive
    ) -> bool:
        found = self._find(owner, place, session_id, alive)
        if found is not None:
            self._rows[session_id] = found | {"title": clean(title)}
        return found is not None

    async def erase(self, owner: Owner, place: Place, session_id: str, alive: Alive) -> bool:
        found = self._find(owner, place, session_id, alive)
        return found is not None and bool(self._rows.pop(session_id))

    def _find(self, owner: Owner, place: Place, session_id: str, alive: Alive) -> Document | None:
        where = seen_from(owner, place) | owned(owner, _id=session_id)
        return next(_living(matching(self._rows.values(), where), alive), None)

    def _seen(self, owner: Owner, place: Place, alive: Alive) -> Iterator[Document]:
        seen = _living(matching(self._rows.values(), seen_from(owner, place)), alive)
        return (row for row in seen if row["nextSeq"] > 0)

    def _change(self, row: Document, **fields: object) -> Document:
        self._rows[row["_id"]] = row | fields | {"revision": row["revision"] + 1}
        return self._rows[row["_id"]]


def _living(rows: Iterator[Document], alive: Alive) -> Iterator[Document]:
    at, lifetime = alive.at, alive.lifetime
    return (row for row in rows if not documents.to_session(row).is_over(at, at, lifetime))


def _recency(row: Document) -> tuple[object, str]:
    return row["lastActive"], row["_id"]
