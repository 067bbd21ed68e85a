"""The way out: everything the bot sends to a chat goes through here, and Telegram's refusals get
their meaning here.

What Telegram refuses is repaired and sent again: formatting it cannot read, a topic that is gone, a
group that has moved. A 429 is waited out by its chat and by no other; previews and the typing
indicator are not worth a wait and go out where there is room. A message is repeated only when it
cannot have arrived; where that is uncertain (the request was out, the answer never came) it is not,
since Telegram knows no key by which it could tell the copy. Tries and waiting are bounded. Who says
something in several parts takes the floor in its chat first, so that the parts of two answers do
not mix.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any, TypeVar
from weakref import WeakValueDictionary

import httpx
from telegram import Bot, InlineKeyboardMarkup, InputFile, LinkPreviewOptions, ReplyParameters
from telegram.constants import ChatAction
from telegram.error import (
    BadRequest,
    ChatMigrated,
    Forbidden,
    NetworkError,
    RetryAfter,
    TelegramError,
)

from bot.errors import ChatBusy, DeliveryError, StoreError
from bot.owner import Place
from bot.telegram.api_errors import pause_of, reason_of
from bot.telegram.outbound.errors import Outgoing, repaired
from bot.telegram.outbound.limiter import Limiter
from bot.telegram.outbound.splitting import Chunk

log = logging.getLogger(__name__)

MAX_WAIT = timedelta(seconds=3)
"""A longer penalty is not slept here: the caller gives its lane back, and the message waits in the
inbox.
"""
UNREACHED = timedelta(seconds=10)
TRIES = 5
PRESS_TRIES = 3
TYPING_SECONDS = 4.5
"""Telegram shows the indicator for five seconds."""
NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
NO_PREVIEW = LinkPreviewOptions(is_disabled=True)
"""Telegram would fetch the first address of an answer by itself: nobody had to tap on a planted
one.
"""

Sleep = Callable[[float], Awaitable[None]]
Moved = Callable[[int, int], Awaitable[None]]
T = TypeVar("T")


class Gateway:
    """Sends what it is given, in the order it is called."""

    def __init__(
        self,
        bot: Bot,
        *,
        longest_wait: timedelta = MAX_WAIT,
        sleep: Sleep = asyncio.sleep,
        limiter: Limiter | None = None,
        moved: Moved | None = None,
    ) -> None:
        """`moved` is told of a group that Telegram has given a new id."""
        self._bot = bot
        self._moved = moved
        self._longest_wait = longest_wait
        self.sleep = sleep
        self._limiter = limiter or Limiter(lambda: asyncio.get_running_loop().time())
        self._floors: WeakValueDictionary[int, asyncio.Lock] = WeakValueDictionary()
        self.drafts: dict[Place, Callable[[], None]] = {}
        """Whom to tell, in a place, that a message has wiped its draft off."""

    @asynccontextmanager
    async def chat_lock(self, place: Place) -> AsyncIterator[None]:
        """Held by whoever speaks in this chat; no preview comes between.

        Raises ChatBusy where another speaks for too long: who only waits shall not keep a worker
        from other chats.
        """
        chat_lock = self._floors.setdefault(place.chat_id, asyncio.Lock())
        try:
            async with asyncio.timeout(self._longest_wait.total_seconds()):
                await chat_lock.acquire()
        except TimeoutError:
            raise ChatBusy(self._longest_wait.total_seconds()) from None
        try:
            yield
        finally:
            chat_lock.release()

    async def send(
        self,
        place: Place,
        chunk: Chunk,
        *,
        reply_to: int | None = None,
        markup: InlineKeyboardMarkup | None = None,
    ) -> int | None:
        """Send one message; its id, or None where nobody can say whether it arrived.

        Raises DeliveryError.
        """

        async def attempt(outgoing: Outgoing) -> int:
            question = (
                reply_to if outgoing.chat_id == place.chat_id else None
            )  # a group that moved counts anew
            return await self._send_once(outgoing, question, markup)

        sent = await self._deliver(Outgoing(place.chat_id, place.thread_id, chunk), attempt)
        for wiped in [
            wiped for other, wiped in self.drafts.items() if other.chat_id == place.chat_id
        ]:
            wiped()
        return sent

    async def edit(
        self,
        place: Place,
        message_id: int,
        chunk: Chunk,
        *,
        markup: InlineKeyboardMarkup | None = None,
    ) -> bool:
        """Show `chunk` in place of a message; False when that message is no longer there.

        Raises DeliveryError.
        """

        async def attempt(outgoing: Outgoing) -> bool:
            try:
                await self._edit_once(outgoing, message_id, markup)
            except ChatMigrated:
                return False  # its messages have other numbers where it is now
            except BadRequest as refusal:
                if "message to edit not found" in refusal.message.lower():
                    return False
                raise
            return True

        return bool(
            await self._deliver(Outgoing(place.chat_id, None, chunk), attempt, is_idempotent=True)
        )

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

        return bool(await self._show(Outgoing(place.chat_id, place.thread_id, chunk), attempt))

    async def send_preview(
        self,
        place: Place,
        chunk: Chunk,
        *,
        message_id: int | None = None,
        reply_to: int | None = None,
    ) -> int | None:
        """Show a message that will change, or change it; its id, None: no room for it now.

        Raises DeliveryError.
        """

        async def attempt(outgoing: Outgoing) -> int:
            if message_id is None:
                return await self._send_once(outgoing, reply_to)
            await self._edit_once(outgoing, message_id)
            return message_id

        return await self._show(Outgoing(place.chat_id, place.thread_id, chunk), attempt)

    async def delete_message(self, place: Place, message_id: int) -> None:
        """Delete a message of ours; one that is gone, or cannot be deleted any more, is no
        error.
        """

        async def attempt(outgoing: Outgoing) -> bool:
            try:
                return await self._bot.delete_message(outgoing.chat_id, message_id)
            except ChatMigrated:
                return False  # where it is now, that number is another message's

        try:
            await self._deliver(
                Outgoing(place.chat_id, None, Chunk("")), attempt, is_idempotent=True
            )
        except ChatBusy:
            raise
        except DeliveryError as error:
            log.info("a message could not be withdrawn: %s", error)

    async def keep_typing(
        self, place: Place, is_obvious: Callable[[], bool] = lambda: False
    ) -> None:
        """Show that an answer is being written, until cancelled.

        Not worth a second try, nor an error.
        """
        while True:
            try:
                if not is_obvious() and self._limiter.has_room(place.chat_id):
                    await self._bot.send_chat_action(
                        place.chat_id, ChatAction.TYPING, message_thread_id=place.thread_id
                    )
            except RetryAfter as penalty:
                self._limiter.penalise(place.chat_id, pause_of(penalty).total_seconds())
            except TelegramError as error:
                log.debug("the typing indicator failed: %s", reason_of(error))
            await self.sleep(TYPING_SECONDS)

    async def acknowledge(self, press_id: str, sentence: str) -> None:
        """Answer a press, or its button would seem to work for ever.

        One that is too old needs no answer.
        """
        for tried in range(PRESS_TRIES):
            try:
                await self._bot.answer_callback_query(press_id, sentence)
            except TelegramError as error:
                log.info("a press could not be answered: %s", reason_of(error))
                if not isinstance(error, NetworkError) or isinstance(error, BadRequest):
                    break
            else:
                break
            await self.sleep(2**tried / 2)

    async def leave(self, place: Place) -> None:
        """Leave a group or channel.

        Who stays against its will answers nobody there all the same.
        """
        try:
            await self._bot.leave_chat(place.chat_id)
        except TelegramError as error:
            log.info("a chat could not be left: %s", reason_of(error))

    async def _send_once(
        self, outgoing: Outgoing, reply_to: int | None, markup: InlineKeyboardMarkup | None = None
    ) -> int:
        chunk, question = outgoing.chunk, None
        if reply_to is not None:
            question = ReplyParameters(reply_to, allow_sending_without_reply=True)
        placed: dict[str, Any] = {
            "chat_id": outgoing.chat_id,
            "message_thread_id": outgoing.thread_id,
            "reply_parameters": question,
            "reply_markup": markup,
        }
        if chunk.file is None:
            sent = await self._bot.send_message(
                text=chunk.text, entities=chunk.entities, link_preview_options=NO_PREVIEW, **placed
            )
        else:
            document = InputFile(chunk.file.content.encode(), chunk.file.name)
            sent = await self._bot.send_document(document=document, caption=chunk.text, **placed)
        return sent.message_id

    async def _edit_once(
        self, outgoing: Outgoing, message_id: int, markup: InlineKeyboardMarkup | None = None
    ) -> None:
        text, entities = outgoing.chunk.text, outgoing.chunk.entities
        try:
            await self._bot.edit_message_text(
                text,
                outgoing.chat_id,
                message_id,
                entities=entities,
                link_preview_options=NO_PREVIEW,
                reply_markup=markup,
            )
        except BadRequest as refusal:
            if "not modified" not in refusal.message.lower():
                raise

    async def _show(
        self, outgoing: Outgoing, attempt: Callable[[Outgoing], Awaitable[T]]
    ) -> T | None:
        """Try a courtesy once; without formatting where Telegram cannot read it.

        None: there is no room for it now.
        """
        chat_lock = self._floors.get(outgoing.chat_id)
        if (chat_lock is not None and chat_lock.locked()) or not self._limiter.has_room(
            outgoing.chat_id
        ):
            return None
        try:
            try:
                return await attempt(outgoing)
            except BadRequest as refusal:
                return await attempt(repaired(outgoing, refusal))
        except RetryAfter as penalty:
            raise self._penalised(outgoing.chat_id, penalty) from penalty
        except TelegramError as failure:
            raise DeliveryError(reason_of(failure)) from failure

    def _penalised(self, chat_id: int, penalty: RetryAfter) -> ChatBusy:
        pause = pause_of(penalty).total_seconds()
        self._limiter.penalise(chat_id, pause)
        return ChatBusy(pause)

    async def _note_move(self, chat_id: int, new_id: int) -> None:
        try:
            if self._moved is not None:
                await self._moved(chat_id, new_id)
        except StoreError as failure:
            log.warning("a group has moved, which could not be kept: %s", failure)

    async def _wait_for_turn(self, chat_id: int, patience: timedelta) -> timedelta:
        """Until a message may go to this chat; what patience is left.

        Raises ChatBusy where that is too late.
        """
        if penalty := self._limiter.penalty(chat_id):
            patience -= timedelta(seconds=penalty)
            if patience < timedelta():
                raise ChatBusy(penalty)
            await self.sleep(penalty)
            self._limiter.served(chat_id)
        if pause := self._limiter.reserve(chat_id):
            await self.sleep(pause)
        return patience

    async def _deliver(
        self,
        outgoing: Outgoing,
        attempt: Callable[[Outgoing], Awaitable[T]],
        *,
        is_idempotent: bool = False,
    ) -> T | None:
        patience = self._longest_wait
        for tried in range(TRIES):
            patience = await self._wait_for_turn(outgoing.chat_id, patience)
            try:
                return await attempt(outgoing)
            except RetryAfter as penalty:
                busy = self._penalised(outgoing.chat_id, penalty)
                if patience < pause_of(penalty):
                    raise busy from penalty
            except (BadRequest, Forbidden, ChatMigrated) as refusal:
                if isinstance(refusal, ChatMigrated):
                    await self._note_move(outgoing.chat_id, refusal.new_chat_id)
                outgoing = repaired(outgoing, refusal)
                log.info("sending again in another way: %s", reason_of(refusal))
            except NetworkError as failure:
                if not is_idempotent and not isinstance(failure.__cause__, NOT_SENT):
                    log.warning("delivery is uncertain, not repeated: %s", reason_of(failure))
                    return None
                await self.sleep(min(2**tried / 2, 8))
            except TelegramError as failure:
                raise DeliveryError(reason_of(failure)) from failure
        raise ChatBusy(UNREACHED.total_seconds())
