"""Small calls that carry no message: typing, the answer to a callback query, leaving a chat.

None of them is worth an error: what fails is logged, and the chat goes on without it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from telegram.constants import ChatAction
from telegram.error import BadRequest, NetworkError, RetryAfter, TelegramError

from bot.owner import Place
from bot.telegram.api_errors import pause_of, reason_of
from bot.telegram.outbound.transport import Transport

log = logging.getLogger(__name__)

TYPING_SECONDS = 4.5
"""Telegram shows the indicator for five seconds."""
MAX_CALLBACK_TRIES = 3


async def keep_typing(
    transport: Transport, place: Place, is_obvious: Callable[[], bool] = lambda: False
) -> None:
    """Show that an answer is being written, until cancelled.

    `is_obvious`: whether a preview shows it already.
    """
    while True:
        if not is_obvious() and transport.limiter.has_room(place.chat_id):
            await _show_typing(transport, place)
        await transport.sleep(TYPING_SECONDS)


async def _show_typing(transport: Transport, place: Place) -> None:
    try:
        await transport.bot.send_chat_action(
            place.chat_id, ChatAction.TYPING, message_thread_id=place.thread_id
        )
    except RetryAfter as penalty:
        transport.limiter.penalise(place.chat_id, pause_of(penalty).total_seconds())
    except TelegramError as error:
        log.debug("the typing indicator failed: %s", reason_of(error))


async def answer_callback_query(transport: Transport, query_id: str, sentence: str) -> None:
    """Answer a callback query, or its button would spin; one that is too old needs no answer."""
    for tries in range(MAX_CALLBACK_TRIES):
        try:
            await transport.bot.answer_callback_query(query_id, sentence)
        except TelegramError as error:
            log.info("a callback query could not be answered: %s", reason_of(error))
            if not isinstance(error, NetworkError) or isinstance(error, BadRequest):
                return
        else:
            return
        await transport.sleep(2**tries / 2)


async def leave_chat(transport: Transport, place: Place) -> None:
    """Leave a group or channel; where that fails, its strangers still get no answer."""
    try:
        await transport.bot.leave_chat(place.chat_id)
    except TelegramError as error:
        log.info("a chat could not be left: %s", reason_of(error))
