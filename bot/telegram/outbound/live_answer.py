"""Shows that an answer is being written: the typing indicator, and a preview of what is there.

Both end before the first part of the answer is sent: coming after the last part, they would promise
more.
"""

from __future__ import annotations

import asyncio

from bot.aio import cancel_and_wait
from bot.owner import Place
from bot.ports import Record
from bot.telegram.outbound.chat_actions import keep_typing
from bot.telegram.outbound.messages import Messages
from bot.telegram.outbound.previews import GrowingText, Preview, preview_targets


class LiveAnswer:
    """The text of an answer while it grows, and what the person sees of it."""

    def __init__(
        self, messages: Messages, place: Place, record: Record, *, reply_to: int | None
    ) -> None:
        self._messages = messages
        self._place = place
        self._record = record
        self._reply_to = reply_to
        self._growing = GrowingText()
        self.turn: int | None = None
        """The turn whose answer it is; None: nothing of it is shown."""
        self._preview: Preview | None = None
        self._typing: asyncio.Task[None] | None = None

    def begin(self, turn: int | None) -> None:
        """Show the typing indicator until `end` and, given its turn, a preview of the answer."""
        if turn is not None:
            self.turn, self._preview = turn, self._open_preview(turn)
        typing = keep_typing(self._messages.transport, self._place, self._is_previewed)
        self._typing = asyncio.create_task(typing, name="typing")

    def _open_preview(self, turn: int) -> Preview:
        targets = preview_targets(self._messages, self._place, turn, self._record, self._reply_to)
        preview = Preview(targets, self._messages, self._record, self._growing)
        if self._place.is_private:
            self._messages.drafts[self._place] = preview.changed
        return preview

    async def end(self) -> None:
        """Show nothing more, and return once nothing is on its way."""
        if self._preview is not None:
            self._messages.drafts.pop(self._place, None)
            await self._preview.end()
        if self._typing is not None:
            await cancel_and_wait(self._typing)
            self._typing = None

    @property
    def text(self) -> str:
        return self._growing.text

    def grow(self, delta: str) -> None:
        """Add to the text."""
        self._growing.pieces.append(delta)
        self._show_change()

    def restart(self) -> None:
        """Drop the text."""
        self._growing.pieces.clear()
        self._show_change()

    def set_status(self, status: str) -> None:
        """Show this sentence below the text; an empty one shows none."""
        self._growing.status = status
        self._show_change()

    async def replaceable_turn(self) -> int | None:
        """The turn whose preview a notice may replace, since it shows no text yet.

        Waits for the call that is changing the preview.
        """
        if self._preview is None or self._growing.pieces:
            return None
        await self._preview.settled()
        return self.turn

    def _show_change(self) -> None:
        if self._preview is not None:
            self._preview.changed()

    def _is_previewed(self) -> bool:
        return self._preview is not None and self._preview.is_seen
