"""Runs work that can be stopped, and ends tasks so that nothing keeps running."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

T = TypeVar("T")


async def run_until(stop: asyncio.Event, work: Awaitable[T]) -> T | None:
    """The result of `work`, or None when `stop` was set first; the work is then cancelled and has
    ended.
    """
    working = asyncio.ensure_future(work)
    stopping = asyncio.ensure_future(stop.wait())
    try:
        await asyncio.wait({working, stopping}, return_when=asyncio.FIRST_COMPLETED)
        return working.result() if working.done() else None
    finally:
        await cancel_and_wait(working, stopping)


async def cancel_and_wait(*tasks: asyncio.Future[Any]) -> None:
    """Cancel the tasks and wait until they have ended, whatever they raise."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def repeat(
    seconds: float, operation: Callable[[], Awaitable[None]], failed: Callable[[Exception], None]
) -> None:
    """Do it every so many seconds until cancelled, whatever comes of it; `failed` is told."""
    while True:
        await asyncio.sleep(seconds)
        try:
            await operation()
        except Exception as failure:  # noqa: BLE001 - it is handed on
            failed(failure)
