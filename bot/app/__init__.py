"""The composition root: the one place that knows which store, model and toolbox this bot is made
of.

Read it as a parts list. `run` opens the parts in the order in which they need each other and closes
them in reverse; what cannot be opened is a StartError, one sentence for the operator.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

from bot.app.parts import (
    Edges,
    build,
    claude,
    connected_bot,
    open_store,
    prepare,
    retention,
)
from bot.app.serving import serve
from bot.errors import StartError, StoreError
from bot.ops.clock import SystemClock
from bot.ops.descriptors import raise_file_limit
from bot.ops.metrics import Metrics
from bot.ports import Clock
from bot.settings import Settings
from bot.store.mongo.dead_letters import DeadLetter
from bot.store.mongo.store import Store

log = logging.getLogger(__name__)


async def run(settings: Settings, *, leave: asyncio.Event, clock: Clock | None = None) -> None:
    """Answer people until `leave` is set, then finish what runs within GRACE_SECONDS."""
    clock = clock or SystemClock()
    raise_file_limit()
    async with AsyncExitStack() as stack:
        store = await stack.enter_async_context(open_store(settings))
        bot = await stack.enter_async_context(connected_bot(settings))
        await prepare(store, settings)
        model = claude(settings)
        stack.push_async_callback(model.aclose)
        parts = await build(settings, Edges(store, bot, model, Metrics(), clock))
        compactor = parts.turns.compactor
        stack.push_async_callback(compactor.estimator.save, store.token_ratios)
        stack.push_async_callback(compactor.aclose)
        await serve(settings, parts, leave)
    log.info("left in good order")


async def check(settings: Settings, *, repair: bool) -> Sequence[str]:
    """What in the database is not as it should be, as sentences; with `repair`, what was mended."""
    async with _administered(settings) as store:
        operation = store.ensure_schema if repair else store.inspect_schema
        return await operation(retention(settings))


async def given_up(settings: Settings) -> Sequence[DeadLetter]:
    """The inbox entries that were given up, latest first."""
    async with _administered(settings) as store:
        return await store.dead_letters.latest()


async def requeue(settings: Settings, update_ids: Sequence[int]) -> Mapping[int, bool]:
    """Have these entries handled again by a running bot; which of them wait now."""
    now = SystemClock().now()
    async with _administered(settings) as store:
        return {one: await store.dead_letters.requeue(one, now) for one in update_ids}


@asynccontextmanager
async def _administered(settings: Settings) -> AsyncIterator[Store]:
    """The store for one question of an admin; what goes wrong with it is one sentence."""
    async with open_store(settings) as store:
        try:
            yield store
        except StoreError as fault:
            raise StartError(f"The database of MONGODB_URI cannot be asked: {fault}") from None
