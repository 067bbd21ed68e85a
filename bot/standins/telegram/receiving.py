"""The methods by which the bot gets its updates: long polling, and where a webhook is."""

from __future__ import annotations

import asyncio
import re
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

from bot.standins.telegram.params import Params
from bot.standins.telegram.rules import OTHER_POLL, WEBHOOK_ACTIVE, WEBHOOK_SET, Json, Refused, bad
from bot.standins.telegram.state import TelegramState, Webhook

LOOPBACK = ("127.0.0.1", "localhost", "::1")
_SECRET = re.compile(r"[A-Za-z0-9_-]{0,256}")
MAX_UPDATES = 100
MAX_TIMEOUT_SECONDS = 50
MAX_CONNECTIONS = 100


async def get_updates(state: TelegramState, params: Params) -> list[Json]:
    """One poller at a time, none beside a webhook."""
    if state.webhook.url:
        raise Refused(409, WEBHOOK_ACTIVE)
    _end_poll(state, OTHER_POLL)
    _remember_kinds(state, params)
    if (offset := params.number("offset")) is not None:
        state.updates.acknowledge(offset)
    limit = min(max(params.number("limit") or MAX_UPDATES, 1), MAX_UPDATES)
    mine = state.poll = object()
    try:
        with suppress(TimeoutError):
            async with asyncio.timeout(min(params.number("timeout") or 0, MAX_TIMEOUT_SECONDS)):
                await _something(state, mine)
        return state.updates.hand_out(limit)
    finally:
        if state.poll is mine:
            state.poll = None


async def _something(state: TelegramState, mine: object) -> None:
    while not state.updates.pending:
        await state.signal.wait()
        if state.poll is not mine:
            raise Refused(409, state.poll_ended_by)


def _end_poll(state: TelegramState, reason: str) -> None:
    state.poll, state.poll_ended_by = None, reason
    state.signal.ring()


def _remember_kinds(state: TelegramState, params: Params) -> None:
    kinds = params.json("allowed_updates")
    if kinds is not None:
        if not isinstance(kinds, list):
            raise bad("can't parse allowed_updates: expected an Array of String")
        state.updates.allowed = tuple(map(str, kinds))


def set_webhook(state: TelegramState, params: Params) -> bool:
    """Without a url it removes the webhook."""
    url, secret = params.text("url"), params.text("secret_token")
    if not url:
        return delete_webhook(state, params)
    parts = urlsplit(url)
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in LOOPBACK):
        raise bad("bad webhook: An HTTPS URL must be provided for webhook")
    if not _SECRET.fullmatch(secret):
        raise bad("secret token contains unallowed characters")
    _remember_kinds(state, params)
    _forget(state, params)
    _end_poll(state, WEBHOOK_SET)
    state.webhook = Webhook(
        url, secret, min(max(params.number("max_connections") or 40, 1), MAX_CONNECTIONS)
    )
    state.signal.ring()
    return True


def delete_webhook(state: TelegramState, params: Params) -> bool:
    _forget(state, params)
    state.webhook = Webhook()
    state.signal.ring()
    return True


def _forget(state: TelegramState, params: Params) -> None:
    if params.flag("drop_pending_updates"):
        state.updates.clear()


def show_webhook(state: TelegramState, _: Params) -> Json:
    found: dict[str, Any] = {
        "url": state.webhook.url,
        "has_custom_certificate": False,
        "pending_update_count": len(state.updates.pending),
    }
    if state.webhook.url:
        found["max_connections"] = state.webhook.connections
    if state.webhook.last_error:
        at, message = state.webhook.last_error
        found |= {"last_error_date": int(at.timestamp()), "last_error_message": message}
    if state.updates.allowed:
        found["allowed_updates"] = list(state.updates.allowed)
    return found


RECEIVING = {
    "getUpdates": get_updates,
    "setWebhook": set_webhook,
    "deleteWebhook": delete_webhook,
    "getWebhookInfo": show_webhook,
}
