"""Processes that die, hang or start again, a server that is slow, and a crowd that waits: all are
answered, once.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections import Counter

import pytest

from tests.process.chaos.ledger import read
from tests.process.chaos.town import LEASE, Blow, fail_point, hooked, now, thinks
from tests.process.chaos.verdict import judge

pytestmark = pytest.mark.chaos
ANNA = 5001
TURN_SECONDS = 4
"""One turn, and the way there and back, on a busy machine."""


async def test_three_restarts_in_a_row_answer_nothing_again(calm):
    """C3: right after an answer was recorded."""
    async with calm() as town:
        [bot] = await town.start()
        anna = town.person(ANNA)
        town.line(anna)
        await town.answered(anna, "a5001x1.")
        await town.quiet()
        for _ in range(3):
            await town.kill(bot)
            await bot.start()
            await bot.wait()
            await town.until(lambda: bot.said("receives updates now"))
        town.line(anna)
        await town.answered(anna, "a5001x2.")
        await town.quiet()
        verdict = judge(read(town))

    assert verdict.is_clean, str(verdict)
    assert [sent.text for sent in anna.chat.answers] == ["a5001x1.", "a5001x2."]
    assert len(town.questions) == 2


async def test_a_turn_that_was_interrupted_is_answered_before_what_is_said_after_the_restart(calm):
    """C2: within the lease and a turn; nothing stays at work for ever."""
    async with calm() as town:
        [bot] = await town.start()
        anna = town.person(ANNA)
        town.claude.faults.next(thinks(60))
        town.line(anna)
        await town.begun()
        await town.kill(bot)
        town.claude.faults.clear()
        town.line(anna)
        await bot.start()
        await bot.wait()
        begun = time.monotonic()
        await town.answered(anna, "a5001x2.", 30)
        took = time.monotonic() - begun
        await town.quiet()
        verdict = judge(read(town))
        lane = town.database["lanes"].find_one({})

    assert (
        took < 2 * LEASE + TURN_SECONDS
    )  # the poller's lease has to end, too, before the second line is received
    assert verdict.is_clean, str(verdict)
    assert verdict.fates == {"answered": 2}
    assert (lane["ready"], lane["leaseBy"]) == (False, None)


async def test_a_worker_that_hangs_delays_only_who_it_was_answering_and_says_nothing_afterwards(
    calm,
):
    """C14, C24: thirty-two others are answered meanwhile, and the one that waited by another
    process.
    """
    async with calm() as town, hooked(town):
        hung, other = await town.start(2)
        other.ready = False
        anna = town.person(ANNA)
        town.claude.faults.next(thinks(2 * LEASE))
        town.line(anna)
        await town.begun()
        town.freeze(hung)
        hung.ready, other.ready = False, True
        crowd = [town.person(ANNA + number) for number in range(1, 33)]
        begun = time.monotonic()
        for person in crowd:
            town.line(person)
        await asyncio.gather(*(town.answered(person, f"a{person.id}x1.") for person in crowd))
        crowd_took = time.monotonic() - begun
        await town.answered(anna, "a5001x1.")
        hers_took = time.monotonic() - begun
        await town.quiet()
        town.thaw(hung)
        hung.ready, other.ready = True, False
        town.freeze(other)
        town.line(crowd[0])
        await town.answered(crowd[0], f"a{crowd[0].id}x2.")
        await town.quiet()
        verdict = judge(read(town))

    assert crowd_took < TURN_SECONDS
    assert LEASE - 1 < hers_took < LEASE + TURN_SECONDS
    assert verdict.is_clean, str(verdict)
    assert verdict.fates == {"answered": 34}
    assert verdict.duplicates == 0


async def test_two_hundred_people_at_once_are_all_answered_by_a_server_that_is_slow_at_times(calm):
    """C22: what cannot be stored in time is refused and comes again; what cannot be claimed in time
    waits.
    """
    slow = {"blockConnection": True, "blockTimeMS": 6000}
    async with calm(LEASE_SECONDS="20", WORKERS="16") as town, hooked(town, patience=15):
        await town.start(2)
        crowd = [town.person(ANNA + number) for number in range(200)]
        begun = now()
        async with fail_point(
            town, "lanes", "findAndModify", "update", mode={"activationProbability": 0.03}, **slow
        ):
            for person in crowd:
                town.line(person)
            await town.until(
                lambda: town.database["inbox"].count_documents({"state": "done"}) >= 150, 90
            )
        town.blows.append(Blow("mongod", begun, now()))
        await town.quiet(60)
        statuses = Counter(push.status for push in town.telegram.pushes)
        verdict = judge(read(town))

    sys.stdout.write(f"\nwebhook calls by status: {dict(statuses)}\n")
    assert statuses[503] > 0
    assert verdict.is_clean, str(verdict)
    assert verdict.fates == {"answered": 200}
