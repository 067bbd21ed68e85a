"""The way back to one person in one Place: typing, the answer as it grows, notices in their
language, its parts.

What shows an answer while it grows is a preview; where that is messages, the parts take their
places, and the sentence that says why there will be no answer that of the first. Whoever speaks has
the floor of the chat until it is all said. Part n + 1 is sent only after Telegram has confirmed
part n, or nobody can say whether it arrived: then the rest must still go out. A notice is our own
sentence and is sent literally; only the model's text is Markdown.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from telegram import ForceReply, InlineKeyboardMarkup

from bot.aio import cancel_and_wait
from bot.owner import Place
from bot.ports import Record
from bot.telegram.outbound.buttons import REPEAT, RETRY, button_below
from bot.telegram.outbound.chat_actions import keep_typing
from bot.telegram.outbound.formatting import chunks_of
from bot.telegram.outbound.messages import Messages
from bot.telegram.outbound.previews import Preview, preview_target
from bot.telegram.outbound.splitting import Chunk, split
from bot.texts import Language, text


class TelegramReply:
    """Implements the Reply port.

    Inside `async with`, the person sees that an answer is being written.
    """

    def __init__(
        self,
        messages: Messages,
        place: Place,
        language: Language,
        *,
        reply_to: int | None = None,
        record: Record | None = None,
    ) -> None:
        self._messages = messages
        self._place = place
        self._language = language
        self._reply_to = reply_to
        self._record = record
        self._grown: list[str] = []
        self._status = ""
        self._typing: asyncio.Task[None] | None = None
        self._turn = 0
        self._repeated: int | None = None
        self._preview: Preview | None = None

    def showing(self, turn: int) -> Self:
        """Let the text of this turn be seen while it grows."""
        if self._record is not None:
            self._turn = turn
            target = preview_target(self._messages, self._place, turn, self._record, self._reply_to)
            self._preview = Preview(
                target, self._messages, self._record, lambda: (self.shown, self._status)
            )
            if self._place.is_private:
                self._messages.drafts[self._place] = self._preview.changed
        return self

    async def __aenter__(self) -> Self:
        typing = keep_typing(self._messages.transport, self._place, self._is_previewed)
        self._typing = asyncio.create_task(typing, name="typing")
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._stop_previews()

    def _is_previewed(self) -> bool:
        return self._preview is not None and self._preview.is_seen

    @property
    def shown(self) -> str:
        """The text grown so far, since the last `restart`."""
        return "".join(self._grown)

    def grow(self, delta: str) -> None:
        """More text of the answer has arrived."""
        self._grown.append(delta)
        if self._preview is not None:
            self._preview.changed()

    def restart(self) -> None:
        """What has grown so far is void."""
        self._grown.clear()
        if self._preview is not None:
            self._preview.changed()

    def status(self, key: str) -> None:
        """What is being done beside writing."""
        self._status = text(key, self._language) if key else ""
        if self._preview is not None:
            self._preview.changed()

    async def notice(self, key: str, **values: str) -> None:
        """Say one of our own sentences."""
        await self.say(text(key, self._language, **values))

    async def fail(self, key: str, turn: int, **values: str) -> None:
        """Say why this turn has failed, and offer to try it again."""
        await self.say(
            text(key, self._language, **values), button_below(RETRY, turn, self._language)
        )

    async def say(self, words: str, markup: InlineKeyboardMarkup | None = None) -> None:
        """Send plain words, literally; `markup` stands under the last of them."""
        *earlier, last = split(words)
        async with self._messages.transport.chat_lock(self._place):
            for chunk, below in (*((one, None) for one in earlier), (last, markup)):
                self._require_lease()
                if not await self._replace_preview(chunk, below):
                    await self._messages.send(
                        self._place, chunk, reply_to=self._asked(), markup=below
                    )

    async def ask(self, words: str) -> int | None:
        """Ask for words, with the person's keyboard opened for a reply; the id of the message."""
        async with self._messages.transport.chat_lock(self._place):
            self._require_lease()
            return await self._messages.send(
                self._place, Chunk(words), markup=ForceReply(selective=True)
            )

    async def replace(
        self, message_id: int, words: str, markup: InlineKeyboardMarkup | None = None
    ) -> None:
        """Put plain words in the place of a message of ours, if it is still there."""
        await self._messages.edit(self._place, message_id, Chunk(words), markup=markup)

    async def deliver(self, markdown: str, *, turn: int, again: int | None = None) -> None:
        """Send the answer of this turn, from the first part that no earlier run has sent.

        `again`: it is the answer to this earlier turn, repeated.
        """
        self._repeated = again
        chunks = await chunks_of(markdown) or split(text("error_empty_answer", self._language))
        await self._stop_previews()
        async with self._messages.transport.chat_lock(self._place):
            for chunk in chunks[self._parts_sent(turn) :]:
                await self._send_part(
                    chunk, turn, self._to_offer(turn) if chunk is chunks[-1] else None
                )
            await self._delete_previews(turn, len(chunks))

    async def _send_part(self, chunk: Chunk, turn: int, offered: int | None) -> None:
        self._require_lease()
        markup = None if offered is None else button_below(REPEAT, offered, self._language)
        message_id = await self._in_place(turn, self._parts_sent(turn), chunk, markup)
        if message_id is None:
            message_id = await self._messages.send(
                self._place, chunk, reply_to=self._asked(), markup=markup
            )
        if self._record is not None:
            await self._record.part_sent(turn, message_id)
            if message_id is None:
                await self._record.mark_uncertain(self._repeated or turn)
            elif offered is not None:
                await self._record.mark_uncertain(None)

    async def _replace_preview(self, chunk: Chunk, markup: InlineKeyboardMarkup | None) -> bool:
        """Put this in the place of a preview of an answer that will not come; False where there is
        none.
        """
        if self._grown or self._record is None or self._preview is None:
            return False
        await self._preview.settled()
        if await self._in_place(self._turn, 0, chunk, markup) is None:
            return False
        await self._delete_previews(self._turn, 1)
        await self._record.previewed(self._turn)
        return True

    async def _in_place(
        self, turn: int, at: int, chunk: Chunk, markup: InlineKeyboardMarkup | None
    ) -> int | None:
        """Put this in the place of a message of the preview; its id, None where there is none (any
        more).
        """
        previews = self._previews(turn)
        if at >= len(previews):
            return None
        message_id = previews[at]
        if not await self._messages.edit(self._place, message_id, chunk, markup=markup):
            # What comes behind it would stand above what now has to be sent.
            await self._delete_previews(turn, at + 1)
            if self._record is not None:
                await self._record.previewed(turn, *previews[:at])
            return None
        self._reply_to = None
        return (
            None if chunk.file is not None else message_id
        )  # a file takes no message's place: its label did

    async def _delete_previews(self, turn: int, kept: int) -> None:
        """Delete what is left of the preview behind its first so many messages."""
        for left_over in self._previews(turn)[kept:]:
            await self._messages.delete_message(self._place, left_over)

    def _parts_sent(self, turn: int) -> int:
        return self._record.parts_sent(turn) if self._record is not None else 0

    def _previews(self, turn: int) -> Sequence[int]:
        return self._record.previews(turn) if self._record is not None else ()

    def _to_offer(self, turn: int) -> int | None:
        """An earlier turn whose answer may not have arrived: under the next answer stands a button
        that repeats it.
        """
        uncertain = self._record.uncertain() if self._record is not None else None
        return None if uncertain == turn else uncertain

    def _require_lease(self) -> None:
        """Who lost the lane says nothing more in it: somebody else speaks there."""
        if self._record is not None:
            self._record.require_lease()

    def _asked(self) -> int | None:
        """The question, for the first message that answers it."""
        reply_to, self._reply_to = self._reply_to, None
        return reply_to

    async def _stop_previews(self) -> None:
        """Before the first part is sent: a preview or an indicator that comes after the last one
        would promise more.
        """
        if self._preview is not None:
            self._messages.drafts.pop(self._place, None)
            await self._preview.end()
        if self._typing is not None:
            await cancel_and_wait(self._typing)
            self._typing = None
