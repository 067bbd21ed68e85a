"""Runs what only one process may do at a time: while it holds a lease, which it waits for."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from bot.aio import cancel_and_wait
from bot.errors import StoreError, StoreUnavailable
from bot.ports import Lease

log = logging.getLogger(__name__)


async def run_while_leader(
    lease: Lease,
    work: Callable[[], Awaitable[object]],
    leading: asyncio.Event,
    *,
    pause: float = 1.0,
) -> None:
    """Run `work`, and set `leading`, whenever the lease is ours.

    The lease is renewed every `pause` seconds, well within its length.
    """
    running: asyncio.Future[object] | None = None
    try:
        while True:
            is_ours = await _taken(lease)
            if is_ours and running is None:
                log.info("this process receives updates now")
                leading.set()
                running = asyncio.ensure_future(work())
            elif not is_ours and running is not None:
                log.warning("another process receives updates now")
                leading.clear()
                await cancel_and_wait(running)
                running = None
            await _within(pause, running)
    finally:
        if running is not None:
            await cancel_and_wait(running)
            await _dropped(lease)


async def _taken(lease: Lease) -> bool:
    """Take or renew the lease; False if the store is away, as nothing received could be stored
    then.
    """
    try:
        return await lease.take()
    except StoreUnavailable:
        return False


async def _dropped(lease: Lease) -> None:
    try:
        await lease.drop()
    except StoreError as failure:
        log.info("the lease could not be given up and will run out: %s", failure)


async def _within(pause: float, running: asyncio.Future[object] | None) -> None:
    """Wait, and raise the failure of work that should never end."""
    if running is None:
        await asyncio.sleep(pause)
        return
    await asyncio.wait({running}, timeout=pause)
    if running.done():
        running.result()
