"""The methods by which the bot gets its updates: long polling, and where a webhook is."""

from __future__ import annotations

import asyncio
import re
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

from bot.demo.telegram.params import Params
from bot.demo.telegram.rules import OTHER_POLL, WEBHOOK_ACTIVE, WEBHOOK_SET, Json, Refused, bad
from bot.demo.telegram.world import Webhook, World

LOOPBACK = ("127.0.0.1", "localhost", "::1")
_SECRET = re.compile(r"[A-Za-z0-9_-]{0,256}")
MOST = 100
LONGEST = 50


async def get_updates(world: World, params: Params) -> list[Json]:
    """One poller at a time, none beside a webhook."""
    if world.webhook.url:
        raise Refused(409, WEBHOOK_ACTIVE)
    _end_poll(world, OTHER_POLL)
    _remember_kinds(world, params)
    if (offset := params.number("offset")) is not None:
        world.updates.acknowledge(offset)
    limit = min(max(params.number("limit") or MOST, 1), MOST)
    mine = world.poll = object()
    try:
        with suppress(TimeoutError):
            async with asyncio.timeout(min(params.number("timeout") or 0, LONGEST)):
                await _something(world, mine)
        return world.updates.hand_out(limit)
    finally:
        if world.poll is mine:
            world.poll = None


async def _something(world: World, mine: object) -> None:
    while not world.updates.pending:
        await world.bell.wait()
        if world.poll is not mine:
            raise Refused(409, world.poll_ended_by)


def _end_poll(world: World, reason: str) -> None:
    world.poll, world.poll_ended_by = None, reason
    world.bell.ring()


def _remember_kinds(world: World, params: Params) -> None:
    kinds = params.json("allowed_updates")
    if kinds is not None:
        if not isinstance(kinds, list):
            raise bad("can't parse allowed_updates: expected an Array of String")
        world.updates.allowed = tuple(map(str, kinds))


def set_webhook(world: World, params: Params) -> bool:
    """Without a url it removes the webhook."""
    url, secret = params.text("url"), params.text("secret_token")
    if not url:
        return delete_webhook(world, params)
    parts = urlsplit(url)
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in LOOPBACK):
        raise bad("bad webhook: An HTTPS URL must be provided for webhook")
    if not _SECRET.fullmatch(secret):
        raise bad("secret token contains unallowed characters")
    _remember_kinds(world, params)
    _forget(world, params)
    _end_poll(world, WEBHOOK_SET)
    world.webhook = Webhook(url, secret, min(max(params.number("max_connections") or 40, 1), MOST))
    world.bell.ring()
    return True


def delete_webhook(world: World, params: Params) -> bool:
    _forget(world, params)
    world.webhook = Webhook()
    world.bell.ring()
    return True


def _forget(world: World, params: Params) -> None:
    if params.flag("drop_pending_updates"):
        world.updates.clear()


def show_webhook(world: World, _: Params) -> Json:
    found: dict[str, Any] = {
        "url": world.webhook.url,
        "has_custom_certificate": False,
        "pending_update_count": len(world.updates.pending),
    }
    if world.webhook.url:
        found["max_connections"] = world.webhook.connections
    if world.webhook.last_error:
        at, message = world.webhook.last_error
        found |= {"last_error_date": int(at.timestamp()), "last_error_message": message}
    if world.updates.allowed:
        found["allowed_updates"] = list(world.updates.allowed)
    return found


RECEIVING = {
    "getUpdates": get_updates,
    "setWebhook": set_webhook,
    "deleteWebhook": delete_webhook,
    "getWebhookInfo": show_webhook,
}
