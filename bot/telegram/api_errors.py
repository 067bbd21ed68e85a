"""What an error of the Bot API says: how long to wait, and the reason without anything quoted."""

from __future__ import annotations

from datetime import timedelta

from telegram.error import NetworkError, RetryAfter, TelegramError


class ServerFault(NetworkError):
    """Telegram, or what stands before it, answered with a 5xx: the call was refused."""


def pause_of(penalty: RetryAfter) -> timedelta:
    """How long to wait: Telegram's library gives seconds, or a timedelta where PTB_TIMEDELTA is
    set.
    """
    pause = penalty.retry_after
    return pause if isinstance(pause, timedelta) else timedelta(seconds=pause)


def reason_of(error: TelegramError) -> str:
    """Telegram's words, up to where something is quoted: ours, or a proxy's page."""
    return f"{type(error).__name__}: {error.message.partition(chr(39))[0]}"
