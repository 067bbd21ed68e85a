"""The way back to one person in one Place: typing, the answer as it grows, its parts, and notices
in the person's language.

An answer that grows is seen as a preview. In a group that is messages: the parts of the answer take
their places, and a notice that says why there is no answer takes the first one's. All parts of one
reply are sent under the lock of the chat, so nothing comes between them. Part n + 1 is sent once
part n has been confirmed, or once nobody can say whether it arrived: the rest must still go out. A
notice is our own sentence and is sent literally; only the model's text is Markdown.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Self

from telegram import ForceReply, InlineKeyboardMarkup

from bot.errors import TopicClosed
from bot.owner import Place
from bot.ports import Record
from bot.telegram.outbound.buttons import REPEAT, RETRY, button_below
from bot.telegram.outbound.formatting import chunks_of
from bot.telegram.outbound.live_answer import LiveAnswer
from bot.telegram.outbound.messages import Messages
from bot.telegram.outbound.parts import Parts
from bot.telegram.outbound.splitting import Chunk, split
from bot.telegram.outbound.undelivered import keep_for_later, offer_repeat
from bot.texts import Language, text


class TelegramReply:
    """Implements the Reply port.

    Inside `show_typing`, the person sees that an answer is being written.
    """

    def __init__(
        self,
        messages: Messages,
        place: Place,
        language: Language,
        record: Record,
        *,
        reply_to: int | None = None,
    ) -> None:
        self._messages = messages
        self._place = place
        self._language = language
        self._record = record
        self._parts = Parts(messages, place, record, reply_to=reply_to)
        self._live = LiveAnswer(messages, place, record, reply_to=reply_to)

    @asynccontextmanager
    async def show_typing(self, turn: int | None = None) -> AsyncIterator[Self]:
        """Show that an answer is being written and, given its turn, how its text grows."""
        self._live.begin(turn)
        try:
            yield self
        finally:
            await self._live.end()

    @property
    def shown(self) -> str:
        """The text grown so far, since the last `restart`."""
        return self._live.text

    def grow(self, delta: str) -> None:
        """More text of the answer has arrived."""
        self._live.grow(delta)

    def restart(self) -> None:
        """Drop the text grown so far."""
        self._live.restart()

    def status(self, key: str) -> None:
        """Say what is being done beside writing."""
        self._live.set_status(text(key, self._language) if key else "")

    async def notice(self, key: str, **values: str) -> None:
        """Say one of our own sentences."""
        await self.say(text(key, self._language, **values))

    async def fail(self, key: str, turn: int, **values: str) -> None:
        """Say why this turn has failed, and offer to try it again."""
        retry = button_below(RETRY, turn, self._language)
        await self.say(text(key, self._language, **values), retry)

    async def say(self, words: str, markup: InlineKeyboardMarkup | None = None) -> None:
        """Send plain words, literally; `markup` stands under the last of them."""
        *earlier, last = split(words)
        async with self._messages.transport.chat_lock(self._place):
            for chunk in earlier:
                await self._say_part(chunk)
            await self._say_part(last, markup)

    async def ask(self, words: str) -> int | None:
        """Ask for words, with the person's keyboard opened for a reply; the id of the message."""
        async with self._messages.transport.chat_lock(self._place):
            self._record.require_lease()
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
        chunks = await chunks_of(markdown) or split(text("error_empty_answer", self._language))
        await self._live.end()
        async with self._messages.transport.chat_lock(self._place):
            try:
                await self._send_parts(chunks, turn, again or turn)
            except TopicClosed as closed:
                await keep_for_later(self._record, again or turn, closed)

    async def keep_shown(self) -> None:
        """Keep the words of an answer that will not be finished, marked as such."""
        if not (words := self.shown.strip()) or (turn := self._live.turn) is None:
            return
        self._live.restart()
        await self._live.end()
        chunks = await chunks_of(f"{words}\n\n{text('ending_interrupted', self._language)}")
        async with self._messages.transport.chat_lock(self._place):
            for at, chunk in enumerate(chunks):
                if await self._parts.put_into_preview(turn, at, chunk, None) is None:
                    await self._parts.send(chunk, None)
            await self._parts.delete_previews(turn, len(chunks))
            await self._record.previewed(turn)

    async def _send_parts(self, chunks: Sequence[Chunk], turn: int, answered: int) -> None:
        """Send what was not sent yet; `answered` is the turn whose answer it is."""
        for chunk in chunks[self._record.parts_sent(turn) :]:
            uncertain = self._uncertain_before(turn) if chunk is chunks[-1] else None
            if await self._send_part(chunk, turn, uncertain) is None:
                await self._record.mark_uncertain(answered)
        await self._parts.delete_previews(turn, len(chunks))
        if self._record.uncertain() == answered:
            await offer_repeat(self._parts, self._language, self._record, answered)

    async def _send_part(self, chunk: Chunk, turn: int, uncertain: int | None) -> int | None:
        """Send one part, with a button to repeat an uncertain turn; its id, None where unknown."""
        self._record.require_lease()
        markup = None if uncertain is None else button_below(REPEAT, uncertain, self._language)
        at = self._record.parts_sent(turn)
        message_id = await self._parts.put_into_preview(turn, at, chunk, markup)
        if message_id is None:
            message_id = await self._parts.send(chunk, markup)
        await self._record.part_sent(turn, message_id)
        if uncertain is not None and message_id is not None:
            await self._record.mark_uncertain(None)
        return message_id

    def _uncertain_before(self, turn: int) -> int | None:
        """The earlier turn whose answer may not have arrived."""
        return None if (found := self._record.uncertain()) == turn else found

    async def _say_part(self, chunk: Chunk, markup: InlineKeyboardMarkup | None = None) -> None:
        self._record.require_lease()  # without it another worker speaks in this lane
        if not await self._replace_preview(chunk, markup):
            await self._parts.send(chunk, markup)

    async def _replace_preview(self, chunk: Chunk, markup: InlineKeyboardMarkup | None) -> bool:
        """Put a notice in the place of the preview; False where there is none."""
        if (turn := await self._live.replaceable_turn()) is None:
            return False
        if await self._parts.put_into_preview(turn, 0, chunk, markup) is None:
            return False
        await self._parts.delete_previews(turn, 1)
        await self._record.previewed(turn)
        return True
