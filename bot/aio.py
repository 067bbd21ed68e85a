"""Runs work that can be stopped, and ends tasks so that nothing keeps running."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from enum import Enum, auto
from typing import Any, Final, Literal, TypeVar

T = TypeVar("T")


class Stop(Enum):
    """The type of `STOPPED`."""

    STOPPED = auto()


STOPPED: Final = Stop.STOPPED
"""Returned by `run_until` instead of a result, which may itself be None."""


async def run_until(stop: asyncio.Event, work: Awaitable[T]) -> T | Literal[Stop.STOPPED]:
    """Return the result of `work`, or STOPPED when `stop` was set first.

    Stopped work is cancelled, and has ended when this returns.
    """
    working = asyncio.ensure_future(work)
    stopping = asyncio.ensure_future(stop.wait())
    try:
        await asyncio.wait({working, stopping}, return_when=asyncio.FIRST_COMPLETED)
        return working.result() if working.done() else STOPPED
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
