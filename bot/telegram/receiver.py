"""The way in: an update becomes an inbox entry, or nothing, before Telegram may forget it.

The same for every way in which updates come. Nothing is answered here, so the intake never waits for an answer. Who may
talk is decided here: a stranger, or somebody who writes in the name of many, gets one sentence and no Session; a chat
into which a stranger has brought the bot is left again. While nothing can be stored Telegram keeps what was sent and
hands it over again, and whoever sent it is told that it has to wait.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeVar

from telegram import Update

from bot.errors import StoreUnavailable, Unstorable
from bot.inbox import Entry, Inbox, Kind
from bot.ops.logs import whereabouts
from bot.owner import Lane, Owner
from bot.ports import Clock, Json
from bot.session import clean
from bot.telegram.commands import COMMANDS
from bot.telegram.hints import Hints
from bot.telegram.identity import Refusal, Sender, Stop, identify, inviter, stop_of
from bot.telegram.inputs import Account, gathers, kind_of, wish

log = logging.getLogger(__name__)

T = TypeVar("T")


def lane_of(stored: Json) -> Lane | None:
    """Where an update that was accepted belongs; None where it can no longer be read, as after a change of library."""
    sender = _sender_of(stored)
    return Lane(sender.owner, sender.place) if sender else None


def _sender_of(stored: Json) -> Sender | None:
    sender = told_by(stored, identify)
    return sender if isinstance(sender, Sender) else None


def told_by(raw: Json, read: Callable[[Update], T]) -> T | None:
    """What `read` finds in an update; None where it cannot be read."""
    try:
        return read(Update.de_json(dict(raw)))
    except Exception as error:  # noqa: BLE001 - one bad update must stop neither its lane nor the intake
        log.warning("an update could not be read: %s", whereabouts(error))
        return None


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

    async def receive(self, *updates: Json) -> None:
        """Accept updates, as sent. Once this returns, Telegram may forget them; raises StoreError if not."""
        read = [self._read(update) for update in updates]
        entries = [entry for entry in read if isinstance(entry, Entry)]
        try:
            await self._accept(*entries)
        except Unstorable:
            for entry in entries:
                await self._accept_alone(entry)
        except StoreUnavailable as away:
            for sender in filter(None, (_sender_of(entry.update) for entry in entries)):
                self._hints.say(sender.place, away.text, sender.language)
            raise
        for edit in (entry for entry in entries if entry.kind == "edit"):
            await self._inbox.revise(edit.lane, edit.update["message"])
        for stop in (other for other in read if isinstance(other, Stop)):
            await self._inbox.stop(stop.lane, stop.turn, in_all_topics=stop.in_all_topics)

    async def _accept(self, *entries: Entry) -> None:
        if entries and not await self._inbox.put(*entries):
            log.info("some of the updates from %d on came again", entries[0].id)

    async def _accept_alone(self, entry: Entry) -> None:
        try:
            await self._accept(entry)
        except Unstorable as failure:
            log.warning("update %d cannot be stored and is dropped: %s", entry.id, failure)

    def _read(self, raw: Json) -> Entry | Stop | None:
        """What an update asks; None where it asks nothing of us, or nobody may ask."""
        try:
            return self._sorted(Update.de_json(clean(raw)))
        except Exception as error:  # noqa: BLE001 - one bad update must not stop the intake
            log.warning("update %d could not be read and is dropped: %s", raw["update_id"], whereabouts(error))
            return None

    def _sorted(self, update: Update) -> Entry | Stop | None:
        kind = kind_of(update, self._account)
        if kind is None:
            if (stop := stop_of(update)) is not None:
                return stop
            if (host := inviter(update)) is not None and not self._allowed(host.owner):
                self._hints.leave(host.place, "access_refused", host.language)
            log.debug("update %d asks nothing of us", update.update_id)
            return None
        match identify(update):
            case Sender() as sender if self._allowed(sender.owner):
                return self._entry(update, sender, kind)
            case Sender() | Refusal() if kind == "edit":
                return None
            case Sender() as stranger:
                self._hints.say(stranger.place, "access_refused", stranger.language)
            case Refusal() as refusal:
                self._hints.say(refusal.place, refusal.key, refusal.language)
        return None

    def _entry(self, update: Update, sender: Sender, kind: Kind) -> Entry:
        wished = wish(update.message, self._account) if kind == "command" and update.message else None
        command = COMMANDS.get(wished.name) if wished else None
        return Entry(
            id=update.update_id,
            lane=Lane(sender.owner, sender.place, aside=command is not None and command.aside),
            kind=kind,
            update=_as_it_waits(update),
            received_at=self._clock.now(),
            cancels=command is not None and command.cancels,
            gathers=kind == "content" and gathers(update),
        )


def _as_it_waits(update: Update) -> Json:
    """An edit waits as the message it has become, sent when it was edited."""
    if update.edited_message is None:
        return update.to_dict()
    message = update.edited_message.to_dict()
    return {"update_id": update.update_id, "message": {**message, "date": message.get("edit_date", message["date"])}}
