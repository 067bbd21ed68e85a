"""The way in: an update becomes an inbox entry, or nothing, before Telegram may forget it.

The same for every way in which updates come. Nothing is answered here, so the intake never waits for an answer. Who may
talk is decided here: a stranger, or somebody who writes in the name of many, gets one sentence and no Session.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from telegram import Update

from bot.errors import StoreError, Unstorable
from bot.inbox import Entry, Inbox, Kind
from bot.ops.logs import whereabouts
from bot.owner import Lane, Owner
from bot.ports import Clock, Json
from bot.session import clean
from bot.telegram.commands import COMMANDS
from bot.telegram.hints import Hints
from bot.telegram.identity import Refusal, Sender, identify
from bot.telegram.inputs import Account, gathers, kind_of, wish

log = logging.getLogger(__name__)


class Receiver:
    """Sorts updates and has the inbox accept those that ask something of us."""

    def __init__(
        self, inbox: Inbox, account: Account, clock: Clock, hints: Hints, allowed: Callable[[Owner], bool]
    ) -> None:
        self._inbox = inbox
        self._account = account
        self._clock = clock
        self._hints = hints
        self._allowed = allowed

    async def receive(self, raw: Json) -> None:
        """Accept an update, as sent. Once this returns, Telegram may forget it; raises StoreError if not."""
        try:
            await self._sort(Update.de_json(clean(raw)))
        except StoreError as failure:
            if not isinstance(failure, Unstorable):
                raise
            log.warning("update %d cannot be stored and is dropped: %s", raw["update_id"], failure)
        except Exception as error:  # noqa: BLE001 - one bad update must not stop the intake
            log.warning("update %d could not be read and is dropped: %s", raw["update_id"], whereabouts(error))

    async def _sort(self, update: Update) -> None:
        kind = kind_of(update, self._account)
        if kind is None:
            log.debug("update %d asks nothing of us", update.update_id)
            return
        match identify(update):
            case Sender() as sender if self._allowed(sender.owner):
                await self._accept(update, sender, kind)
            case Sender() as stranger:
                self._hints.say(stranger.place, "access_refused", stranger.language)
            case Refusal() as refusal:
                self._hints.say(refusal.place, refusal.key, refusal.language)

    async def _accept(self, update: Update, sender: Sender, kind: Kind) -> None:
        wished = wish(update.message, self._account) if kind == "command" and update.message else None
        command = COMMANDS.get(wished.name) if wished else None
        entry = Entry(
            id=update.update_id,
            lane=Lane(sender.owner, sender.place, aside=command is not None and command.aside),
            kind=kind,
            update=update.to_dict(),
            received_at=self._clock.now(),
            cancels=command is not None and command.cancels,
            gathers=kind == "content" and gathers(update),
        )
        if not await self._inbox.put(entry):
            log.info("update %d came again", update.update_id)
