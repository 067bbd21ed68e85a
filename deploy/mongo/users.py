"""Makes a mongod that knows only its root user ready for the bot: a replica set of one, the roles,
a user for each.

Safe to repeat: what exists is set anew, so a changed password or the collections of a new release
take effect at the next start. No role but root's can drop anything or say what the view shows:
whoever could would make it show text to `viewer`. What MongoDB cannot forbid to `schema`: an index
that makes documents expire, a validator that lets all pass. `viewer` and `reader` are for people:
the first sees counts and ids without a word of text, the second reads every word and is for the
rare case that needs it.
"""

# ruff: noqa: INP001 - run as a file inside the bot's image; deploy is no package

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pymongo import MongoClient
from pymongo.database import Database
from pymongo.errors import OperationFailure, ServerSelectionTimeoutError

from bot.store.mongo.overview import OVERVIEW

Document = dict[str, Any]

COLLECTIONS = (
    "sessions",
    "archive",
    "inbox",
    "lanes",
    "owners",
    "notes",
    "usage",
    "chats",
    "models",
    "leases",
    "settings",
)
VIEW = "sessions_overview"

_SELECTION_TIMEOUT_MS = 120_000
_ALREADY_INITIALIZED = 23
_LOGIN_REFUSED = 18
_PASSWORD = re.compile(r"[A-Za-z0-9_-]{16,}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Role:
    """What one user may do: on each collection, on the view, and on the database as such (never
    reading).
    """

    name: str
    collections: tuple[str, ...] = ()
    view: tuple[str, ...] = ()
    database: tuple[str, ...] = ()

    @property
    def variable(self) -> str:
        """Where the password of the role's user stands."""
        return f"MONGODB_{self.name.upper()}_PASSWORD"

    def privileges(self, database: str) -> list[Document]:
        granted = {"": self.database, VIEW: self.view} | dict.fromkeys(
            COLLECTIONS, self.collections
        )
        return [
            {"resource": {"db": database, "collection": name}, "actions": list(actions)}
            for name, actions in granted.items()
            if actions
        ]


ROLES = (
    Role(
        "bot",
        collections=("find", "insert", "update", "remove", "listIndexes"),
        database=("listCollections",),
    ),
    Role(
        "schema",
        collections=("createCollection", "collMod", "createIndex", "dropIndex", "listIndexes"),
        database=("listCollections",),
    ),
    Role("viewer", view=("find",), database=("listCollections",)),
    Role(
        "reader",
        collections=("find", "collStats", "listIndexes"),
        view=("find",),
        database=("listCollections", "dbStats"),
    ),
)


def prepare(environ: Mapping[str, str]) -> None:
    """Everything, as the variables say.

    Raises SystemExit with one sentence when it cannot be done.
    """
    host = environ.get("MONGODB_HOST") or "mongo:27017"
    root = {"username": "root", "password": _password(environ, "MONGODB_ROOT_PASSWORD")}
    passwords = {role: _password(environ, role.variable) for role in ROLES}
    try:
        with _client(host, directConnection=True, **root) as client:
            _initiate(client, host)
        with _client(host, replicaSet="rs0", **root) as client:
            database = client[environ.get("MONGODB_DATABASE") or "bot"]
            for role, password in passwords.items():
                _define(database, role)
                _admit(client.admin, database.name, role, password)
            _show(database)
    except ServerSelectionTimeoutError:
        raise SystemExit(f"MongoDB at {host} does not answer; its own log says why.") from None
    except OperationFailure as error:
        if error.code != _LOGIN_REFUSED:
            raise
        raise SystemExit(
            "MongoDB refuses MONGODB_ROOT_PASSWORD: it must be the one of the very first start."
        ) from None


def _password(environ: Mapping[str, str], name: str) -> str:
    """A value that can stand in an address unescaped."""
    value = environ.get(name, "")
    if not _PASSWORD.fullmatch(value):
        raise SystemExit(
            f"{name} must be at least 16 letters, digits, - or _: make it with `openssl rand "
            f"-hex 24`."
        )
    return value


def _client(host: str, **options: Any) -> MongoClient[Document]:
    return MongoClient(host, serverSelectionTimeoutMS=_SELECTION_TIMEOUT_MS, **options)


def _initiate(client: MongoClient[Document], host: str) -> None:
    try:
        client.admin.command(
            "replSetInitiate", {"_id": "rs0", "members": [{"_id": 0, "host": host}]}
        )
    except OperationFailure as error:
        if error.code != _ALREADY_INITIALIZED:
            raise


def _define(database: Database[Document], role: Role) -> None:
    known = database.command("rolesInfo", role.name)["roles"]
    command = "updateRole" if known else "createRole"
    database.command(command, role.name, privileges=role.privileges(database.name), roles=[])


def _show(database: Database[Document]) -> None:
    """The view, as this release shows it."""
    known = list(database.list_collections(filter={"name": VIEW}))
    database.command({"collMod" if known else "create": VIEW, **OVERVIEW[VIEW]})


def _admit(admin: Database[Document], database: str, role: Role, password: str) -> None:
    known = admin.command("usersInfo", role.name)["users"]
    command = "updateUser" if known else "createUser"
    admin.command(command, role.name, pwd=password, roles=[{"role": role.name, "db": database}])


if __name__ == "__main__":
    prepare(os.environ)
