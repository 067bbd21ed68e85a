"""What Telegram's refusals mean: how the same words can still be sent, that nobody reads them any more, or a pause."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta

from telegram.error import ChatMigrated, Forbidden, RetryAfter, TelegramError

from bot.errors import ChatUnreachable, DeliveryError
from bot.telegram.splitting import Chunk

UNREACHABLE = ("chat not found", "not enough rights", "have no rights", "chat_write_forbidden", "topic_closed")
"""400s that say the same as a 403: nobody will read this, however often it is sent."""


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A message on its way; a repair makes another one of it."""

    chat_id: int
    thread_id: int | None
    chunk: Chunk


def repaired(outgoing: Outgoing, refusal: TelegramError) -> Outgoing:
    """Another way to send the same words. Raises DeliveryError when there is none left."""
    reason = refusal.message.lower()
    if isinstance(refusal, ChatMigrated):
        return replace(outgoing, chat_id=refusal.new_chat_id, thread_id=None)
    if isinstance(refusal, Forbidden) or any(sign in reason for sign in UNREACHABLE):
        raise ChatUnreachable(reason_of(refusal)) from refusal
    if "thread not found" in reason and outgoing.thread_id is not None:
        return replace(outgoing, thread_id=None)
    if outgoing.chunk.entities:
        return replace(outgoing, chunk=Chunk(outgoing.chunk.text))
    raise DeliveryError(reason_of(refusal)) from refusal


def pause_of(penalty: RetryAfter) -> timedelta:
    """How long to wait: Telegram's library gives seconds, or a timedelta where PTB_TIMEDELTA is set."""
    pause = penalty.retry_after
    return pause if isinstance(pause, timedelta) else timedelta(seconds=pause)


def reason_of(error: TelegramError) -> str:
    """Telegram's words, up to where something is quoted: ours, or a proxy's page."""
    return f"{type(error).__name__}: {error.message.partition(chr(39))[0]}"
