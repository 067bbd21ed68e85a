"""The judge has teeth: each planted fault is provoked on purpose and found; the bot as it is passes
the same scene.

A scene is played twice by real processes, once with the fault in their program and once without.
"""

from __future__ import annotations

import asyncio

import pytest

from bot.running_lanes import LOST
from bot.standins.telegram.faults import Fault
from tests.process.chaos.ledger import read
from tests.process.chaos.town import LONG_EVERY, fail_point, hooked, thinks
from tests.process.chaos.verdict import judge

ANNA = 5001
BLOCK_SECONDS = 7


def is_held_up(town, collection):
    """Whether the server is holding up an update of this collection."""
    running = [
        operation.get("command", {})
        for operation in town.database.client.admin.aggregate([{"$currentOp": {}}])
    ]
    return any(
        (one.get("update"), one.get("$db")) == (collection, town.database.name) for one in running
    )


async def two(town, mutant):
    """Two replicas of which the second one stands still, so that the first one gets the work."""
    first, second = await town.start(2, mutant=mutant)
    town.freeze(second)
    return first, second


def switch(town, first, second):
    """The first one stands still, the second one goes on."""
    town.freeze(first)
    town.thaw(second)


# ------------------------------------------------------------------------------------------- scenes


async def an_update_comes_again(town, mutant):
    await town.start(mutant=mutant)
    anna = town.person(ANNA)
    town.line(anna)
    update = town.telegram.state.updates.pending[-1].update
    await town.quiet()
    town.again(update)


async def killed_between_commit_and_answer(town, mutant):
    """C3, C13"""
    [first] = await town.start(mutant=mutant)
    town.telegram.faults.next("sendMessage", Fault.hold(asyncio.Event()))
    town.line(town.person(ANNA))
    await town.telegram.until(lambda: town.telegram.journal.of("sendMessage"), 20)
    await town.kill(first)
    await town.start(mutant=mutant)


async def killed_as_soon_as_telegram_may_forget(town, mutant):
    """C11, C13"""
    [first] = await town.start(mutant=mutant)
    said = town.line(town.person(ANNA))
    await town.telegram.until(
        lambda: any(
            push.update_id == said.update_id and push.status == 200 for push in town.telegram.pushes
        ),
        20,
    )
    await town.kill(first)
    await town.start()
    town.line(town.person(ANNA + 1))


async def frozen_while_it_commits(town, mutant):
    """C24, C112"""
    first, second = await two(town, mutant)
    block = {"blockConnection": True, "blockTimeMS": BLOCK_SECONDS * 1000}
    async with fail_point(town, "sessions", "update", mode={"times": 1}, **block):
        town.line(town.person(ANNA))
        await town.until(lambda: is_held_up(town, "sessions"))
        switch(town, first, second)
        await town.until(lambda: town.database["inbox"].find_one({"state": "done"}))
        await town.until(lambda: not is_held_up(town, "sessions"))
    switch(town, second, first)
    boris = town.person(ANNA + 1)
    town.line(boris)
    await town.answered(boris, f"a{boris.id}x1.")


async def frozen_while_it_sends(town, mutant):
    """C24"""
    first, second = await two(town, mutant)
    gate, anna = asyncio.Event(), town.person(ANNA)
    town.numbers[ANNA] = LONG_EVERY - 1
    town.telegram.faults.next("sendMessage", Fault.hold(gate, "after"))
    town.line(anna)
    await town.telegram.until(lambda: anna.chat.answers, 20)
    switch(town, first, second)
    await town.until(lambda: town.database["inbox"].find_one({"state": "done"}))
    before = len(anna.chat.answers)
    gate.set()
    town.thaw(first)
    await town.until(lambda: first.said(LOST) or len(anna.chat.answers) >= before + 2)


async def the_archive_refuses(town, mutant):
    [first] = await town.start(mutant=mutant)
    anna = town.person(ANNA)
    async with fail_point(town, "archive", "insert", errorCode=8000):
        for _ in range(5):
            town.line(anna)
            await town.quiet()
        await town.until(lambda: first.said("is not compacted"))


async def two_processes_and_one_person_at_a_time(town, mutant):
    """C20"""
    await town.start(2, mutant=mutant)
    town.claude.faults.next(thinks(4), times=None)
    for person in (
        town.person(ANNA),
        town.person(ANNA + 1),
    ):  # the other one's turn is time enough for a copy to come
        town.line(person)
        await town.answered(person, f"a{person.id}x1.")


async def lines_that_wait(town, mutant):
    """C20"""
    await town.start(mutant=mutant)
    town.claude.faults.slow(0.3)
    anna = town.person(ANNA)
    town.line(anna)
    await town.begun()
    town.line(anna)
    town.line(anna)


SCENES = {
    "no_dedupe": (an_update_comes_again, "given again"),
    "forgets_what_it_committed": (killed_between_commit_and_answer, "given again"),
    "acknowledges_before_it_stores": (killed_as_soon_as_telegram_may_forget, "lost"),
    "no_revision": (frozen_while_it_commits, "holes"),
    "no_fence": (frozen_while_it_sends, "sent again"),
    "removes_before_it_archives": (the_archive_refuses, "holes"),
    "no_lease": (two_processes_and_one_person_at_a_time, "sent again"),
    "newest_first": (lines_that_wait, "out of order"),
}


async def played(calm, scene, mutant):
    async with calm() as town, hooked(town):
        await scene(town, mutant)
        await town.quiet()
        return judge(read(town))


@pytest.mark.chaos
@pytest.mark.parametrize(
    ("mutant", "scene", "kind"), [(name, *told) for name, told in SCENES.items()], ids=SCENES
)
async def test_a_planted_fault_is_found(calm, mutant, scene, kind):
    verdict = await played(calm, scene, mutant)
    assert verdict.faults[kind], f"{mutant} was not found: {verdict.fates} {verdict}"


@pytest.mark.chaos
@pytest.mark.parametrize("scene", [scene for scene, _ in SCENES.values()], ids=SCENES)
async def test_the_bot_as_it_is_passes_the_same_scene(calm, scene):
    verdict = await played(calm, scene, "")
    assert verdict.is_clean, str(verdict)
    assert set(verdict.fates) == {"answered"}
