"""The composition root: the one place that knows which store, model and toolbox this bot is made of.

Read it as a parts list. `run` opens the parts in the order in which they need each other and closes them in reverse;
what cannot be opened is a StartError, one sentence for the operator.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from contextlib import AsyncExitStack

from bot.app.parts import claude, connected, expire_after, make_turns, opened, prepare
from bot.app.serving import Parts, serve
from bot.errors import StartError, StoreError
from bot.ops.clock import SystemClock
from bot.ops.metrics import Metrics
from bot.ports import Clock
from bot.settings import Settings
from bot.store import schema

log = logging.getLogger(__name__)


async def run(settings: Settings, *, leave: asyncio.Event, clock: Clock | None = None) -> None:
    """Answer people until `leave` is set, then finish what runs within GRACE_SECONDS."""
    clock = clock or SystemClock()
    async with AsyncExitStack() as stack:
        store = await stack.enter_async_context(opened(settings, clock))
        bot = await stack.enter_async_context(connected(settings))
        await prepare(store, settings)
        model = claude(settings)
        stack.push_async_callback(model.aclose)
        metrics = Metrics()
        turns = await make_turns(settings, store, model, metrics, clock)
        stack.push_async_callback(turns.compactor.aclose)
        await serve(settings, Parts(turns, store, bot, metrics), leave)
    log.info("left in good order")


async def check(settings: Settings, *, repair: bool) -> Sequence[str]:
    """What in the database is not as it should be, as sentences; with `repair`, what was mended."""
    async with opened(settings, SystemClock()) as store:
        try:
            deed = schema.ensure if repair else schema.inspect
            return await deed(store.database, expire_after(settings))
        except StoreError as fault:
            raise StartError(f"The database of MONGODB_URI cannot be checked: {fault}") from None
