"""What Telegram's refusals mean: how the same words can still be sent, that nobody reads them any
more, or a pause.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from telegram.error import ChatMigrated, Forbidden, TelegramError

from bot.errors import ChatUnreachable, DeliveryError, TopicClosed
from bot.telegram.api_errors import reason_of
from bot.telegram.outbound.splitting import Chunk

UNREACHABLE = (
    "chat not found",
    "not enough rights",
    "have no rights",
    "chat_write_forbidden",
)
"""400s that say the same as a 403: nobody will read this, however often it is sent."""


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A message on its way; a repair makes another one of it."""

    chat_id: int
    thread_id: int | None
    chunk: Chunk


def repair(outgoing: Outgoing, refusal: TelegramError) -> Outgoing:
    """Another way to send the same words. Raises DeliveryError when there is none left."""
    reason = refusal.message.lower()
    if isinstance(refusal, ChatMigrated):
        return replace(outgoing, chat_id=refusal.new_chat_id, thread_id=None)
    if (final := _final(refusal, reason)) is not None:
        raise final(reason_of(refusal)) from refusal
    if "thread not found" in reason and outgoing.thread_id is not None:
        return replace(outgoing, thread_id=None)
    if outgoing.chunk.entities:
        return replace(outgoing, chunk=Chunk(outgoing.chunk.text))
    raise DeliveryError(reason_of(refusal)) from refusal


def _final(refusal: TelegramError, reason: str) -> type[DeliveryError] | None:
    """The error for what cannot be said here now, in whatever way."""
    if isinstance(refusal, Forbidden) or any(sign in reason for sign in UNREACHABLE):
        return ChatUnreachable
    return TopicClosed if "topic_closed" in reason else None
