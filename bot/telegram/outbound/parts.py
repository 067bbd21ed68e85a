"""Puts the parts of an answer into the chat: first into the messages of its preview, then into new
ones.

The preview's messages are known from the turn's record, so this works after a crash as well.
"""

from __future__ import annotations

from telegram import InlineKeyboardMarkup

from bot.owner import Place
from bot.ports import Record
from bot.telegram.outbound.messages import Messages
from bot.telegram.outbound.splitting import Chunk


class Parts:
    """Sends to one Place; only the first message quotes the question."""

    def __init__(
        self, messages: Messages, place: Place, record: Record, *, reply_to: int | None
    ) -> None:
        self._messages = messages
        self._place = place
        self._record = record
        self._reply_to = reply_to

    async def send(self, chunk: Chunk, markup: InlineKeyboardMarkup | None) -> int | None:
        """Send a new message; its id, or None where it is unknown whether it arrived."""
        reply_to, self._reply_to = self._reply_to, None
        return await self._messages.send(self._place, chunk, reply_to=reply_to, markup=markup)

    async def put_into_preview(
        self, turn: int, at: int, chunk: Chunk, markup: InlineKeyboardMarkup | None
    ) -> int | None:
        """Put a part into message number `at` of the turn's preview.

        Returns the message's id, or None when the part still has to be sent.
        """
        previews = self._record.previews(turn)
        if at >= len(previews):
            return None
        if not await self._messages.edit(self._place, previews[at], chunk, markup=markup):
            # This part has to be sent, and the preview's later messages would stand above it.
            await self.delete_previews(turn, at + 1)
            await self._record.previewed(turn, *previews[:at])
            return None
        self._reply_to = None
        # A message cannot become a file: it became the file's label.
        return previews[at] if chunk.file is None else None

    async def delete_previews(self, turn: int, kept: int) -> None:
        """Delete the messages of the turn's preview behind the first `kept`."""
        for message_id in self._record.previews(turn)[kept:]:
            await self._messages.delete_message(self._place, message_id)
