"""A batch from the inbox with its updates parsed, once, for all who handle it."""

from __future__ import annotations

from dataclasses import dataclass

from telegram import CallbackQuery, Message, Update

from bot.inbox import Batch
from bot.owner import Lane
from bot.telegram.inbound.identity import Sender, identify
from bot.telegram.inbound.parsing import Reading, read
from bot.texts import Language, language_of


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


def parse(batch: Batch) -> ParsedBatch:
    """Parse the updates of a batch."""
    updates = tuple(Update.de_json(dict(entry.update)) for entry in batch.entries)
    sender = identify(updates[0])
    language = sender.language if isinstance(sender, Sender) else language_of(None)
    return ParsedBatch(batch, updates, language)
