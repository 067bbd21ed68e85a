"""The way in: an update becomes an inbox entry, or nothing, before Telegram may forget it.

The same for every way in which updates come. Nothing is answered here, so the intake never waits
for an answer. Who may talk is decided here: a stranger, or somebody who writes in the name of many,
gets one sentence and no Session; a chat into which a stranger has brought the bot is left again.
Who sends more than a person's share is told so, and what is beyond it is not taken in; a stop is,
from a reserve. While nothing can be stored Telegram keeps what was sent and hands it over again,
and whoever sent it is told that it has to wait. What can never be stored is dropped alone, and
whoever sent it is told that, too.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import NamedTuple, TypeVar

from telegram import Update

from bot.content import clean
from bot.errors import StoreError, StoreUnavailable, Unstorable
from bot.ops.logs import whereabouts
from bot.owner import Lane, Owner
from bot.ports import Clock, Entry, Inbox, Json, Kind, Notices
from bot.telegram.command_names import CANCELLING_PRESSES, COMMANDS, Command
from bot.telegram.inbound.identity import Refusal, Sender, Stop, identify, inviter, stop_of
from bot.telegram.inbound.incoming_rate import Arrival, IncomingRate
from bot.telegram.inbound.lenient import as_update
from bot.telegram.inbound.parsing import Account, command_of, gathers, kind_of

log = logging.getLogger(__name__)

T = TypeVar("T")


def reading(
    receive: Callable[..., Awaitable[None]],
) -> Callable[..., Awaitable[None]]:
    """An intake of updates as sent, which are read here, once, for all behind it.

    What cannot be read is dropped.
    """

    async def read_and_receive(*updates: Json) -> None:
        read = [_guarded(raw["update_id"], partial(_read, raw)) for raw in updates]
        await receive(*(update for update in read if update is not None))

    return read_and_receive


def _read(raw: Json) -> Update:
    return as_update(clean(raw))


def told_by(update: Update, find: Callable[[Update], T]) -> T | None:
    """What `find` finds in an update; None where it trips over it."""
    return _guarded(update.update_id, partial(find, update))


def _guarded(update_id: int, read: Callable[[], T]) -> T | None:
    try:
        return read()
    except Exception as error:  # noqa: BLE001 - one bad update must stop neither its lane nor the intake
        log.warning("update %d could not be read and is dropped: %s", update_id, whereabouts(error))
        return None


@contextmanager
def dropping(update_id: int) -> Iterator[None]:
    """What is written inside is given up where it can never be stored: to Telegram the update is
    taken.
    """
    try:
        yield
    except Unstorable as failure:
        log.warning("update %d cannot be stored and is dropped: %s", update_id, failure)


@dataclass(frozen=True, slots=True)
class Gate:
    """Who may talk to the bot, and how much each of them at once."""

    allows: Callable[[Owner], bool]
    rate: IncomingRate


class Admitted(NamedTuple):
    """What is to wait in the inbox, and who is told where it cannot."""

    entry: Entry
    sender: Sender


class Receiver:
    """Sorts updates and has the inbox accept those that ask something of us."""

    def __init__(
        self, inbox: Inbox, account: Account, clock: Clock, throttled_notices: Notices, gate: Gate
    ) -> None:
        self._inbox = inbox
        self._account = account
        self._clock = clock
        self._throttled_notices = throttled_notices
        self._gate = gate

    async def receive(self, *updates: Update) -> None:
        """Accept updates.

        Once this returns, Telegram may forget them; raises StoreError if not.
        """
        found = [told_by(update, self._sorted) for update in updates]
        for entry in await self._accept_each([one for one in found if isinstance(one, Admitted)]):
            if entry.kind == "edit":
                with dropping(entry.id):
                    await self._inbox.revise(entry)
        for stop in _latest(other for other in found if isinstance(other, Stop)):
            with dropping(stop.turn):
                await self._inbox.stop(stop.lane, stop.turn, in_all_topics=stop.in_all_topics)

    async def _accept_each(self, admitted: Sequence[Admitted]) -> Sequence[Entry]:
        """Those that were accepted: all at once, or one by one where one of them can never be
        stored.
        """
        try:
            await self._accept(*(one.entry for one in admitted))
        except Unstorable:
            return [one.entry for one in admitted if await self._accept_alone(one)]
        except StoreUnavailable as away:
            for one in admitted:
                self._say(one.sender, away)
            raise
        return [one.entry for one in admitted]

    async def _accept(self, *entries: Entry) -> None:
        if entries and not await self._inbox.put(*entries):
            log.info("some of the updates from %d on came again", entries[0].id)

    async def _accept_alone(self, one: Admitted) -> bool:
        with dropping(one.entry.id):
            try:
                await self._accept(one.entry)
            except Unstorable as never:
                self._say(one.sender, never)
                raise
            return True
        return False

    def _say(self, sender: Sender, failure: StoreError) -> None:
        self._throttled_notices.say(sender.place, failure.text, sender.language)

    def _sorted(self, update: Update) -> Admitted | Stop | None:
        """What an update asks; None where it asks nothing of us, or nobody may ask."""
        kind = kind_of(update, self._account)
        if kind is None:
            if (stop := stop_of(update)) is not None:
                return stop if self._may_stop(stop, update.update_id) else None
            if (host := inviter(update)) is not None and not self._gate.allows(host.owner):
                self._throttled_notices.leave(host.place, "access_refused", host.language)
            log.debug("update %d asks nothing of us", update.update_id)
            return None
        match identify(update):
            case Sender() as sender if self._gate.allows(sender.owner):
                return self._admitted(update, sender, kind)
            case Sender() | Refusal() if kind == "edit":
                return None
            case Sender() as stranger:
                self._refuse(update, stranger, "access_refused")
            case Refusal() as refusal:
                self._refuse(update, refusal, refusal.key)
        return None

    def _refuse(self, update: Update, refused: Sender | Refusal, key: str) -> None:
        """Say why nothing comes of it: to a press above its button, which would spin without."""
        if update.callback_query is None:
            self._throttled_notices.say(refused.place, key, refused.language)
        else:
            query_id = update.callback_query.id
            self._throttled_notices.answer(query_id, refused.place, key, refused.language)

    def _may_stop(self, stop: Stop, update_id: int) -> bool:
        arrival = Arrival(update_id, "press", ends_turn=True)
        return self._gate.allows(stop.lane.owner) and self._gate.rate.admits(
            stop.lane.owner, arrival
        )

    def _admitted(self, update: Update, sender: Sender, kind: Kind) -> Admitted | None:
        command = self._command(update) if kind == "command" else None
        ends_turn = _is_cancelling_press(update) or (command is not None and command.cancels)
        if self._gate.rate.admits(
            sender.owner, Arrival(update.update_id, kind, ends_turn, _sent_at(update))
        ):
            entry = self._entry(update, sender, kind, command, cancels=ends_turn)
            return Admitted(entry, sender)
        self._refuse(update, sender, "too_fast")
        return None

    def _command(self, update: Update) -> Command | None:
        command_text = (
            command_of(update.message, self._account) if update.message is not None else None
        )
        return COMMANDS.get(command_text.name) if command_text is not None else None

    def _entry(
        self,
        update: Update,
        sender: Sender,
        kind: Kind,
        command: Command | None,
        *,
        cancels: bool,
    ) -> Entry:
        return Entry(
            id=update.update_id,
            lane=Lane(sender.owner, sender.place, aside=command is not None and command.aside),
            kind=kind,
            update=_as_it_waits(update),
            received_at=self._clock.now(),
            cancels=cancels,
            gathers=kind == "content" and gathers(update),
        )


def _is_cancelling_press(update: Update) -> bool:
    query = update.callback_query
    return query is not None and (query.data or "").partition(":")[0] in CANCELLING_PRESSES


def _latest(stops: Iterable[Stop]) -> list[Stop]:
    """Of several stops in one lane the last: it ends what the ones before would end."""
    return list(
        {
            (stop.lane, stop.in_all_topics): stop
            for stop in sorted(stops, key=lambda stop: stop.turn)
        }.values()
    )


def _sent_at(update: Update) -> datetime | None:
    """When it was sent, by Telegram's clock, which says so of messages and edits."""
    if update.edited_message is not None:
        return update.edited_message.edit_date
    return update.message.date if update.message is not None else None


def _as_it_waits(update: Update) -> Json:
    """An edit waits as the message it has become, sent when it was edited."""
    if update.edited_message is None:
        return update.to_dict()
    message = update.edited_message.to_dict()
    return {
        "update_id": update.update_id,
        "message": {**message, "date": message.get("edit_date", message["date"])},
    }
