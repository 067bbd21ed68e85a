"""Work that can be stopped: its result, whatever it is, is told from having been stopped."""

from __future__ import annotations

import asyncio

import pytest

from bot.aio import STOPPED, run_until


@pytest.mark.parametrize("result", [None, "", 0, "an answer"])
async def test_a_result_is_returned_even_where_it_is_empty(result):
    async def work():
        return result

    assert await run_until(asyncio.Event(), work()) is result


async def test_stopped_work_has_ended_when_stopped_is_returned():
    stop, ended = asyncio.Event(), asyncio.Event()

    async def work():
        try:
            stop.set()
            await asyncio.Event().wait()
        finally:
            ended.set()

    assert await run_until(stop, work()) is STOPPED
    assert ended.is_set()
