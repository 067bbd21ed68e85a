"""Many tasks share a small pool of connections: nobody starves behind the others.

Run by name: `pytest -m load`.
"""

from __future__ import annotations

import asyncio
import logging
from statistics import median, quantiles

import pytest

from bot.store.mongo import collections, schema
from tests.builders import ANNA, ANNAS_CHAT, dialogue, session
from tests.raw_store import connect

pytestmark = pytest.mark.load

log = logging.getLogger(__name__)

TASKS = 256
SECONDS = 30
TIMES_THE_MEDIAN = 5


@pytest.mark.parametrize("driver", ["motor", "pymongo"])
async def test_no_waiter_starves(mongod, database, driver):
    """C116: p99 of a load stays under five times the median, by the queue in front of the pool
    (`store/calls.py`).
    """
    store = await connect(mongod, database, driver=driver)
    await schema.ensure(store.database, collections.Retention(collections.MAX_SECONDS))
    await store.sessions.create(ANNA, session(messages=dialogue(10, words="words " * 60)))
    loop = asyncio.get_running_loop()
    ends, waits = loop.time() + SECONDS, []

    async def task():
        while (began := loop.time()) < ends:
            await store.sessions.inspect(ANNA, ANNAS_CHAT)
            waits.append(loop.time() - began)

    await asyncio.gather(*(task() for _ in range(TASKS)))
    await store.close()
    middle, p99 = median(waits), quantiles(waits, n=100)[98]
    log.info(
        "%s: %d loads, median %.0f ms, p99 %.0f ms", driver, len(waits), middle * 1000, p99 * 1000
    )

    assert len(waits) > TASKS
    assert p99 < TIMES_THE_MEDIAN * middle
