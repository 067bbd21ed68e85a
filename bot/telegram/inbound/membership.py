"""Who can be reached no longer, or again, and which groups have moved: what updates tell without
asking anything.

It is noted before the updates are taken in, so that whoever answers them knows already. One that
tells what can never be stored is dropped; the others are taken in.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from telegram import Chat, Message, Update

from bot.owner import Owner
from bot.ports import Chats, Clock, Owners
from bot.telegram.inbound.identity import Contact, contact
from bot.telegram.inbound.receiver import dropping, told_by


@dataclass(frozen=True, slots=True)
class Membership:
    """Keeps what it is told. `allowed`: of strangers nothing is kept."""

    owners: Owners
    chats: Chats
    clock: Clock
    allowed: Callable[[Owner], bool]

    def noting(self, receive: Callable[..., Awaitable[None]]) -> Callable[..., Awaitable[None]]:
        """`receive`, and what its updates tell."""

        async def note_and_receive(*updates: Update) -> None:
            outdated = _outdated(updates)
            taken = [
                update
                for update in updates
                if update.update_id in outdated or await self._is_storable(update)
            ]
            await receive(*taken)

        return note_and_receive

    async def _is_storable(self, update: Update) -> bool:
        with dropping(update.update_id):
            await self._note(update)
            return True
        return False

    async def _note(self, update: Update) -> None:
        match update.message:
            case Message(chat=Chat(id=int(chat_id)), migrate_to_chat_id=int(new_id)):
                await self.chats.moved(chat_id, new_id)
        await self._note_contact(told_by(update, contact))

    async def _note_contact(self, found: Contact | None) -> None:
        if found is None or not self.allowed(found.owner):
            return
        if found.is_open:
            await self.owners.reached(found.owner)
        else:
            await self.owners.unreachable(found.owner, self.clock.now())


def _outdated(updates: Sequence[Update]) -> set[int]:
    """The ids of those whose sender blocked or unblocked the bot again later in the same updates:
    who does so a hundred times has it written once.
    """
    latest: dict[Owner, int] = {}
    outdated: set[int] = set()
    for update in updates:
        if (found := told_by(update, contact)) is not None:
            if found.owner in latest:
                outdated.add(latest[found.owner])
            latest[found.owner] = update.update_id
    return outdated
