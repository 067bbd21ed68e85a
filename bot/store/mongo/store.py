"""Everything that is kept in one MongoDB database, as ports: nobody outside this package sees the
database itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from bot.ports import Clock
from bot.session import Lifetime
from bot.store.mongo import admin, overview, schema
from bot.store.mongo.archive import MongoArchive
from bot.store.mongo.chats import MongoChats
from bot.store.mongo.collections import Retention
from bot.store.mongo.connection import Connection, Driver, open_connection
from bot.store.mongo.corrections import MongoCorrections
from bot.store.mongo.dead_letters import MongoDeadLetters
from bot.store.mongo.dialogues import MongoDialogues
from bot.store.mongo.inbox import MongoInbox
from bot.store.mongo.leases import MongoLease
from bot.store.mongo.notes import MongoNotes
from bot.store.mongo.owners import MongoOwners
from bot.store.mongo.queries import LeaseOwner
from bot.store.mongo.sessions import MongoSessions
from bot.store.mongo.token_ratios import MongoTokenRatios
from bot.store.mongo.usage import MongoUsage


@dataclass(frozen=True, slots=True)
class Store:
    """The ports of persistence over one connection."""

    _connection: Connection
    sessions: MongoSessions
    dialogues: MongoDialogues
    archive: MongoArchive
    notes: MongoNotes
    usage_store: MongoUsage
    owners: MongoOwners
    token_ratios: MongoTokenRatios
    chats: MongoChats
    corrections: MongoCorrections
    dead_letters: MongoDeadLetters

    @classmethod
    def over(cls, connection: Connection) -> Self:
        """The Store over an open connection."""
        database, calls = connection.database, connection.calls
        return cls(
            connection,
            sessions=MongoSessions(database, calls),
            dialogues=MongoDialogues(database, calls),
            archive=MongoArchive(database, calls),
            notes=MongoNotes(database, calls),
            usage_store=MongoUsage(database, calls),
            owners=MongoOwners(database, calls),
            token_ratios=MongoTokenRatios(database, calls),
            chats=MongoChats(database, calls),
            corrections=MongoCorrections(database, calls),
            dead_letters=MongoDeadLetters(database, calls),
        )

    def inbox(self, clock: Clock, holder: LeaseOwner) -> MongoInbox:
        """The inbox as this process works in it."""
        return MongoInbox(self._connection.database, self._connection.calls, clock, holder)

    def lease(self, name: str, holder: LeaseOwner) -> MongoLease:
        """A named lease as this process may hold it."""
        return MongoLease(self._connection.database, self._connection.calls, name, holder)

    async def sweep_archive(self) -> int:
        """Delete archived messages without a Session; how many went."""
        return await admin.sweep_archive(self._connection.database, self._connection.calls)

    async def inspect_schema(self, retention: Retention) -> Sequence[str]:
        """What is not as it should be, as sentences; nothing is changed."""
        return await schema.inspect(self._connection.database, retention)

    async def ensure_schema(self, retention: Retention) -> Sequence[str]:
        """Mend all of it; the sentences of what was mended."""
        return await schema.ensure(self._connection.database, retention)

    async def ensure_needed_schema(self, retention: Retention) -> Sequence[str]:
        """Mend what this user may. Raises StartError where the bot needs the rest."""
        return await schema.ensure_needed(self._connection.database, retention)

    async def publish_lifetime(self, lifetime: Lifetime) -> None:
        """Let the overview tell what is over by these lifetimes."""
        await overview.publish_lifetime(self._connection.database, self._connection.calls, lifetime)

    async def ping(self) -> None:
        """Ask the server to answer. Raises StoreUnavailable, in words for the operator."""
        await self._connection.ping()

    async def close(self) -> None:
        """Give the connections back; the Store is of no use afterwards."""
        await self._connection.close()


async def connect(uri: str, database: str, *, driver: Driver = "motor") -> Store:
    """A Store over `database`, once its server has answered."""
    return Store.over(await open_connection(uri, database, driver=driver))
