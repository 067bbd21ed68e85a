"""The messages the bot sends, edits, previews and deletes, each as one call of the Bot API.

A message that is gone is no error: an edit says so by its result, a deletion ignores it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from telegram import (
    Bot,
    ForceReply,
    InlineKeyboardMarkup,
    InputFile,
    LinkPreviewOptions,
    Message,
    ReplyParameters,
)
from telegram.error import BadRequest, ChatMigrated

from bot.errors import ChatBusy, DeliveryError
from bot.owner import Place
from bot.telegram.outbound.errors import Outgoing
from bot.telegram.outbound.splitting import Chunk
from bot.telegram.outbound.transport import Transport

log = logging.getLogger(__name__)

Markup = InlineKeyboardMarkup | ForceReply
"""What may stand below a message that is sent; a message that is edited takes buttons only."""
NO_LINK_PREVIEW = LinkPreviewOptions(is_disabled=True)
"""Otherwise Telegram fetches the first address of an answer by itself, though nobody has opened it:
one that was planted in a prompt would be called.
"""


class Messages:
    """Sends what it is given, in the order it is called."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport
        self._bot = transport.bot
        self.drafts: dict[Place, Callable[[], None]] = {}
        """What to call, by Place, when a message has removed the draft shown there."""

    async def send(
        self,
        place: Place,
        chunk: Chunk,
        *,
        reply_to: int | None = None,
        markup: Markup | None = None,
    ) -> int | None:
        """Send one message; its id, or None where it is unknown whether it arrived.

        Raises DeliveryError.
        """

        async def attempt(outgoing: Outgoing) -> int:
            # A migrated group counts its messages anew, so the question's id is not valid there.
            question = reply_to if outgoing.chat_id == place.chat_id else None
            return await _send(self._bot, outgoing, question, markup)

        sent = await self.transport.call(Outgoing(place.chat_id, place.thread_id, chunk), attempt)
        self._note_removed_drafts(place.chat_id)
        return sent

    async def edit(
        self,
        place: Place,
        message_id: int,
        chunk: Chunk,
        *,
        markup: InlineKeyboardMarkup | None = None,
    ) -> bool:
        """Replace a message by `chunk`; False when that message is no longer there.

        Raises DeliveryError.
        """

        async def attempt(outgoing: Outgoing) -> bool:
            try:
                await _edit(self._bot, outgoing, message_id, markup)
            except ChatMigrated:
                return False  # its messages have other numbers in the new group
            except BadRequest as refusal:
                if "message to edit not found" in refusal.message.lower():
                    return False
                raise
            return True

        outgoing = Outgoing(place.chat_id, None, chunk)
        return bool(await self.transport.call(outgoing, attempt, is_idempotent=True))

    async def draft(self, place: Place, draft_id: int, chunk: Chunk) -> bool:
        """Show a draft with a Stop button; False: there is no room for it now.

        Raises DeliveryError.
        """

        async def attempt(outgoing: Outgoing) -> bool:
            return await self._bot.send_message_draft(
                outgoing.chat_id,
                draft_id,
                outgoing.chunk.text,
                message_thread_id=outgoing.thread_id,
                entities=outgoing.chunk.entities,
                api_kwargs={"can_stop": True, "keep_on_stop": True},
            )

        outgoing = Outgoing(place.chat_id, place.thread_id, chunk)
        return bool(await self.transport.call_if_room(outgoing, attempt))

    async def send_preview(
        self,
        place: Place,
        chunk: Chunk,
        *,
        message_id: int | None = None,
        reply_to: int | None = None,
    ) -> int | None:
        """Send a message that will change, or change it; its id, None: no room for it now.

        Raises DeliveryError.
        """

        async def attempt(outgoing: Outgoing) -> int:
            if message_id is None:
                return await _send(self._bot, outgoing, reply_to)
            await _edit(self._bot, outgoing, message_id)
            return message_id

        outgoing = Outgoing(place.chat_id, place.thread_id, chunk)
        return await self.transport.call_if_room(outgoing, attempt)

    async def delete_message(self, place: Place, message_id: int) -> None:
        """Delete a message of the bot; one that is gone or too old to be deleted is no error.

        Raises ChatBusy.
        """

        async def attempt(outgoing: Outgoing) -> bool:
            try:
                return await self._bot.delete_message(outgoing.chat_id, message_id)
            except ChatMigrated:
                return False  # in the new group that number is another message's

        outgoing = Outgoing(place.chat_id, None, Chunk(""))
        try:
            await self.transport.call(outgoing, attempt, is_idempotent=True)
        except ChatBusy:
            raise
        except DeliveryError as error:
            log.info("a message could not be deleted: %s", error)

    def _note_removed_drafts(self, chat_id: int) -> None:
        for removed in [done for place, done in self.drafts.items() if place.chat_id == chat_id]:
            removed()


async def _send(
    bot: Bot, outgoing: Outgoing, reply_to: int | None, markup: Markup | None = None
) -> int:
    question = None
    if reply_to is not None:
        question = ReplyParameters(reply_to, allow_sending_without_reply=True)
    if (file := outgoing.chunk.file) is None:
        sent = await _send_text(bot, outgoing, question, markup)
    else:
        document = InputFile(file.content.encode(), file.name)
        sent = await _send_document(bot, outgoing, document, question, markup)
    return sent.message_id


async def _send_text(
    bot: Bot, outgoing: Outgoing, question: ReplyParameters | None, markup: Markup | None
) -> Message:
    return await bot.send_message(
        outgoing.chat_id,
        outgoing.chunk.text,
        entities=outgoing.chunk.entities,
        link_preview_options=NO_LINK_PREVIEW,
        message_thread_id=outgoing.thread_id,
        reply_parameters=question,
        reply_markup=markup,
    )


async def _send_document(
    bot: Bot,
    outgoing: Outgoing,
    document: InputFile,
    question: ReplyParameters | None,
    markup: Markup | None,
) -> Message:
    return await bot.send_document(
        outgoing.chat_id,
        document,
        caption=outgoing.chunk.text,
        message_thread_id=outgoing.thread_id,
        reply_parameters=question,
        reply_markup=markup,
    )


async def _edit(
    bot: Bot, outgoing: Outgoing, message_id: int, markup: InlineKeyboardMarkup | None = None
) -> None:
    """Edit a message; one that shows the same already is no error."""
    try:
        await bot.edit_message_text(
            outgoing.chunk.text,
            outgoing.chat_id,
            message_id,
            entities=outgoing.chunk.entities,
            link_preview_options=NO_LINK_PREVIEW,
            reply_markup=markup,
        )
    except BadRequest as refusal:
        if "not modified" not in refusal.message.lower():
            raise
