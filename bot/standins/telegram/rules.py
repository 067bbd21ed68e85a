"""Telegram's limits, and the refusals of the stand-in.

A refusal is an exception with the HTTP code, Telegram's own description and the `parameters` of the
answer, so each rule is one line where it is checked.
"""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]

TEXT_UNITS = 4096
CAPTION_UNITS = 1024
RAW_BYTES = 35_000
ENTITIES_SHOWN = 100
CALLBACK_BYTES = 64
BUTTONS, BUTTONS_PER_ROW = 100, 8
COPY_TEXT = 256
ANSWER_CHARS = 200
COMMANDS = 100
DOWNLOAD_BYTES, UPLOAD_BYTES, PHOTO_BYTES = 20 * 2**20, 50 * 2**20, 10 * 2**20
DRAFT_SECONDS = 30
QUERY_SECONDS = 60
PENDING_HOURS = 24

ANONYMOUS_ADMIN = 1087968824
CHANNEL_BOT = 136817688
LINKED_CHANNEL = 777000

CONFLICT = "Conflict: terminated by "
OTHER_POLL = CONFLICT + "other getUpdates request; make sure that only one bot instance is running"
WEBHOOK_SET = CONFLICT + "setWebhook request"
WEBHOOK_ACTIVE = (
    "Conflict: can't use getUpdates method while webhook is active; use "
    "deleteWebhook to delete the webhook first"
)
NOT_MODIFIED = (
    "message is not modified: specified new message content and reply markup are exactly the "
    "same as a current "
    "content and reply markup of the message"
)
QUERY_TOO_OLD = "query is too old and response timeout expired or query ID is invalid"
UPGRADED = "group chat was upgraded to a supergroup chat"
THREAD_NOT_FOUND = "message thread not found"


class Refused(Exception):
    """The Bot API said no."""

    def __init__(self, code: int, description: str, **parameters: int) -> None:
        super().__init__(description)
        self.code = code
        self.description = description
        self.parameters = parameters


def bad(description: str, **parameters: int) -> Refused:
    """A 400 in Telegram's words."""
    return Refused(400, f"Bad Request: {description}", **parameters)


def forbidden(description: str) -> Refused:
    """A 403 in Telegram's words."""
    return Refused(403, f"Forbidden: {description}")


def too_many(seconds: int) -> Refused:
    """A 429 that asks for `seconds` of silence."""
    return Refused(429, f"Too Many Requests: retry after {seconds}", retry_after=seconds)
