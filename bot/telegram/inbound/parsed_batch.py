"""A batch from the inbox with its updates parsed, once, for all who handle it.

The store knows a lane by its key alone, so the authenticated sender of each update decides here: an
update that another person sent, or sent elsewhere, is refused.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace

from telegram import CallbackQuery, Message, Update

from bot.ops.logs import whereabouts
from bot.owner import Lane
from bot.ports import Batch, Entry
from bot.telegram.inbound.identity import Sender, identify
from bot.telegram.inbound.lenient import as_update
from bot.telegram.inbound.parsing import Reading, read
from bot.texts import Language

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ParsedBatch:
    """A batch, its updates in the same order, and the language of whoever sent the first."""

    batch: Batch
    updates: tuple[Update, ...]
    language: Language

    @property
    def lane(self) -> Lane:
        """The lane that the updates waited in."""
        return self.batch.lane

    @property
    def message(self) -> Message | None:
        """The first message, which is the only one of a command or an edit."""
        return self.updates[0].message

    @property
    def query(self) -> CallbackQuery | None:
        """The callback query, where the batch is a press."""
        return self.updates[0].callback_query

    @property
    def reply_to(self) -> int | None:
        """The message that an answer names: in a group the last one, in private none."""
        last = self.updates[-1].message
        return None if self.lane.place.is_private or last is None else last.message_id

    def reading(self) -> Reading:
        """What the messages say."""
        return read(self.updates)


def parse(batch: Batch) -> ParsedBatch | None:
    """Parse the updates of a batch, without those that its lane's Owner did not send there.

    None where none is left: nobody is answered for somebody else.
    """
    parsed = [(entry, _parse(entry)) for entry in batch.entries]
    own = [(entry, *found) for entry, found in parsed if found is not None]
    if len(own) < len(parsed):
        refused = [entry.id for entry, found in parsed if found is None]
        log.error("updates %s are not of the lane they waited in and are refused", refused)
    if not own:
        return None
    entries, updates, senders = zip(*own, strict=True)
    return ParsedBatch(replace(batch, entries=entries), updates, senders[0].language)


def _parse(entry: Entry) -> tuple[Update, Sender] | None:
    """The update and its sender; None where that is not the Owner of the entry's lane."""
    try:
        update = as_update(entry.update)
        sender = identify(update)
    except Exception as error:  # noqa: BLE001 - after a change of library an old entry may be unreadable
        log.warning("update %d can no longer be read: %s", entry.id, whereabouts(error))
        return None
    if not isinstance(sender, Sender):
        return None
    is_own = (sender.owner, sender.place) == (entry.lane.owner, entry.lane.place)
    return (update, sender) if is_own else None
