"""What one process may do at a time: it runs while the lease is held, and is over before another
one may begin.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager

import pytest

from bot.app.leader_election import run_while_leader
from bot.errors import StoreUnavailable


class Lease:
    """A lease whose answers the test decides. None: the store does not answer."""

    def __init__(self, answer=None):
        self.answer = answer
        self.dropped = 0
        self.asked = asyncio.Semaphore(0)
        self.drop_fails = False

    async def take(self):
        self.asked.release()
        if self.answer is None:
            raise StoreUnavailable
        return self.answer

    async def drop(self):
        self.dropped += 1
        if self.drop_fails:
            raise StoreUnavailable

    async def answers(self, answer):
        """From now on; returns when it was heard and acted upon."""
        self.answer = answer
        while not self.asked.locked():
            await self.asked.acquire()
        async with asyncio.timeout(60):
            await self.asked.acquire()
            await self.asked.acquire()


class Work:
    """Work that goes on until it is ended, and how often it began and ended."""

    def __init__(self):
        self.begun = self.ended = 0
        self.fault = None
        self.slow = False

    async def __call__(self):
        self.begun += 1
        try:
            if self.fault:
                raise self.fault
            await asyncio.Event().wait()
        finally:
            if self.slow:
                await asyncio.sleep(0)
            self.ended += 1


@pytest.fixture
def leading():
    return asyncio.Event()


@asynccontextmanager
async def trying(lease, work, leading):
    task = asyncio.create_task(run_while_leader(lease, work, leading, pause=0.001))
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_it_runs_once_while_the_lease_is_ours(leading):
    lease, work = Lease(), Work()
    async with trying(lease, work, leading):
        await lease.answers(answer=True)
        await lease.answers(answer=True)
        assert (work.begun, work.ended, leading.is_set()) == (1, 0, True)


async def test_it_waits_while_the_lease_is_anothers(leading):
    lease, work = Lease(), Work()
    async with trying(lease, work, leading):
        await lease.answers(answer=False)
        assert (work.begun, leading.is_set()) == (0, False)
    assert lease.dropped == 0


@pytest.mark.parametrize("loss", [False, None], ids=["another has it", "the store does not answer"])
async def test_it_ends_when_the_lease_is_lost_and_begins_again_when_it_is_ours_again(leading, loss):
    """Without the store nobody can say who leads, and nothing that is received could be kept."""
    lease, work = Lease(), Work()
    work.slow = True
    async with trying(lease, work, leading):
        await lease.answers(answer=True)
        await lease.answers(loss)
        assert (work.begun, work.ended, leading.is_set()) == (1, 1, False)
        await lease.answers(answer=True)
        assert (work.begun, work.ended, leading.is_set()) == (2, 1, True)


async def test_a_process_that_leaves_ends_it_first_and_then_gives_the_lease_up(leading):
    lease, work = Lease(), Work()
    async with trying(lease, work, leading):
        await lease.answers(answer=True)
    assert (work.ended, lease.dropped) == (1, 1)


async def test_a_lease_that_cannot_be_given_up_runs_out_by_itself(leading):
    lease, work = Lease(), Work()
    lease.drop_fails = True
    async with trying(lease, work, leading) as task:
        await lease.answers(answer=True)
    assert (task.cancelled(), lease.dropped) == (True, 1)


async def test_work_that_breaks_is_not_kept_quiet(leading):
    """It should never end: whoever runs it has to know."""
    lease, work = Lease(), Work()
    work.fault = ZeroDivisionError()
    async with trying(lease, work, leading) as task:
        lease.answer = True
        with pytest.raises(ZeroDivisionError):
            await asyncio.wait_for(task, 5)
