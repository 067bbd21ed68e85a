"""Looks up the rows of a store in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from bot.store.documents import Document


def matching(rows: Iterable[Document], where: Mapping[str, object]) -> Iterator[Document]:
    """The rows whose fields equal all of these."""
    return (row for row in rows if all(row[name] == value for name, value in where.items()))
