"""What the drivers send to MongoDB, and how the server finds what each command asks for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pymongo.monitoring

Query = tuple[Mapping[str, Any], Mapping[str, Any] | None, int]
"""A filter, the order asked for, and how many documents at most (0: all)."""


@dataclass(slots=True)
class Recorder(pymongo.monitoring.CommandListener):
    """Every command the drivers send, with the database it was sent to.

    With `explain` (a plain client), the plan of each query, as it stood when the command was sent.
    """

    sent: list[tuple[str, str, dict[str, Any]]] = field(default_factory=list)
    explain: pymongo.MongoClient[dict[str, Any]] | None = None
    plans: list[Plan] = field(default_factory=list)

    def started(self, event):
        if event.command_name == "explain":
            return
        self.sent.append((event.database_name, event.command_name, dict(event.command)))
        if self.explain is not None:
            self.plans += explained(
                self.explain, event.database_name, event.command_name, event.command
            )

    def succeeded(self, event):
        pass

    def failed(self, event):
        pass

    def on(self, database: str, collection: str) -> list[tuple[str, dict[str, Any]]]:
        return [
            (name, sent)
            for where, name, sent in self.sent
            if where == database and sent.get(name) == collection
        ]

    def forget(self) -> None:
        self.sent.clear()
        self.plans.clear()
        self.explain = None


@dataclass(frozen=True, slots=True)
class Plan:
    """How the server found the documents of one query."""

    command: str
    collection: str
    query: Mapping[str, Any]
    keys: int
    documents: int
    found: int
    stages: tuple[str, ...]

    @property
    def is_indexed(self) -> bool:
        """It looked at no more than it found, and at one key to see that there is no more."""
        return "COLLSCAN" not in self.stages and max(self.keys, self.documents) <= self.found + 1


def queries(name: str, command: Mapping[str, Any]) -> Iterator[Query]:
    """The filters by which a command finds documents."""
    match name:
        case "find":
            yield command.get("filter", {}), command.get("sort"), command.get("limit", 0)
        case "findAndModify":
            yield command["query"], command.get("sort"), 1
        case "update" | "delete":
            for one in command.get("updates", command.get("deletes", ())):
                yield one["q"], None, 0 if one.get("multi") or one.get("limit") == 0 else 1


def explained(
    client: pymongo.MongoClient[dict[str, Any]],
    database: str,
    name: str,
    command: Mapping[str, Any],
) -> Iterator[Plan]:
    for query, sort, limit in queries(name, command):
        asked = {"find": command[name], "filter": query, "sort": sort or {}, "limit": limit}
        told = client[database].command("explain", asked, verbosity="executionStats")
        stats = told["executionStats"]
        yield Plan(
            name,
            command[name],
            query,
            stats["totalKeysExamined"],
            stats["totalDocsExamined"],
            stats["nReturned"],
            tuple(_stages(stats["executionStages"])),
        )


def _stages(stage: Mapping[str, Any]) -> Iterator[str]:
    yield stage["stage"]
    for inner in (stage.get("inputStage"), *stage.get("inputStages", ())):
        if inner:
            yield from _stages(inner)
