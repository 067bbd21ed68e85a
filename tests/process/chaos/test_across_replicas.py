"""What one process begins another one ends, answers or takes over: the inbox and the lanes, seen
from outside.
"""

from __future__ import annotations

import asyncio
import signal
import time
from collections import Counter

import pytest

from bot.suspects import MAX_DEATHS_ALONE, SHARED_TRIES
from bot.texts import text
from tests.process.chaos.ledger import read
from tests.process.chaos.town import hooked, thinks
from tests.process.chaos.verdict import BURIED, DECLINED, INTERRUPTED, judge

pytestmark = pytest.mark.chaos
ANNA = 5001


async def elsewhere(town, first, second):
    """From now on Telegram's one address leads to the second replica only; the first goes on with
    what it has.
    """
    first.ready, second.ready = False, True


def seconds_until(town, said, *words):
    """From the moment Telegram had handed something over until each of these was sent."""
    [handed_over] = [push.at for push in town.telegram.pushes if push.update_id == said.update_id]
    sent = {call.text: call.at for call in reversed(town.telegram.journal.of("sendMessage"))}
    return [(sent[one] - handed_over).total_seconds() for one in words]


async def test_stop_ends_the_answer_another_replica_is_writing(calm):
    """It ends within 1.5 s of Telegram's handing over the word; what was shown is kept, and
    marked.
    """
    async with calm(LEASE_SECONDS="15") as town, hooked(town):
        first, second = await town.start(2)
        second.ready = False
        anna = town.person(ANNA)
        town.claude.faults.slow(0.4)
        town.command(anna, "Count to 400.")
        await town.begun()
        await asyncio.sleep(1.0)  # some words of it are written
        await elsewhere(town, first, second)
        said = town.command(anna, "/stop")
        await town.answered(anna, text("stop_done", "en"))
        await town.quiet()

        ended, confirmed = seconds_until(town, said, INTERRUPTED, text("stop_done", "en"))
        [session] = town.database["sessions"].find({})
    assert ended < confirmed < 1.5
    assert session["messages"][-1]["content"][0]["text"].endswith(INTERRUPTED)


@pytest.mark.parametrize("command", ["new", "reset"])
async def test_a_command_through_another_replica_ends_the_turn_and_its_answer_stays_out(
    calm, command
):
    """C35, C6, C30: of what was erased, nothing is stored and nothing is told to the model."""
    async with calm(LEASE_SECONDS="15") as town, hooked(town):
        first, second = await town.start(2)
        second.ready = False
        anna = town.person(ANNA)
        town.claude.faults.next(thinks(6))
        town.line(anna)
        await town.begun()
        town.line(anna)
        await town.until(lambda: town.database["inbox"].count_documents({}) == 2)
        await elsewhere(town, first, second)
        said = town.command(anna, f"/{command}")
        town.line(anna)
        await town.answered(anna, "a5001x3.")
        await town.quiet()
        verdict = judge(read(town))
        [confirmed] = seconds_until(town, said, text(f"{command}_done", "en"))
        active, *others = town.database["sessions"].find({}).sort("status", 1)
        archived = town.database["archive"].count_documents({})

    assert verdict.is_clean, str(verdict)
    assert confirmed < 1.5
    assert DECLINED in anna.chat.text
    assert "q5001x3." in str(active["messages"])
    assert "q5001x1." not in str(active["messages"])
    assert [other["status"] for other in others] == ([] if command == "reset" else ["closed"])
    assert archived == 0


async def test_sigterm_leaves_what_waits_to_the_next_process(calm):
    """C4, C13"""
    async with calm(GRACE_SECONDS="1") as town:
        [first] = await town.start()
        anna = town.person(ANNA)
        town.claude.faults.next(thinks(30), times=None)
        for person in (anna, anna, town.person(ANNA + 1), anna):
            town.line(person)
        await town.until(lambda: town.database["inbox"].count_documents({}) == 4)
        await town.begun(2)
        first.signal(signal.SIGTERM)
        assert await first.ends(10) == 0
        waiting = town.database["inbox"].count_documents({"state": "queued"})
        town.claude.faults.clear()
        begins = time.monotonic()
        await town.start()
        await town.quiet()
        took = time.monotonic() - begins
        verdict = judge(read(town))

    assert waiting >= 3
    assert took < 20
    assert verdict.is_clean, str(verdict)
    assert verdict.fates == {"answered": 4}


async def test_what_waited_at_telegram_is_taken_in_at_once_and_then_answered_in_order(calm):
    """C17: taking in does not wait for answers."""
    async with calm(WORKERS="4") as town:
        people = [town.person(ANNA + number) for number in range(40)]
        for number in range(250):
            town.line(people[number % 40])
        town.claude.faults.slow(0.3)
        await town.start()
        await town.until(lambda: town.database["inbox"].count_documents({}) == 250, 15)
        answered = town.database["inbox"].count_documents({"state": "done"})
        town.claude.faults.slow(0)
        await town.quiet()
        verdict = judge(read(town))

    assert answered < 125
    assert verdict.is_clean, str(verdict)
    assert verdict.fates == {"answered": 250}


async def test_a_message_that_breaks_every_process_is_parked_with_one_apology(calm):
    """C5, C2: those of others and the person's later ones are answered."""
    async with calm() as town, hooked(town):
        await town.start(6, mutant="dies_of_poison")
        anna, boris = town.person(ANNA), town.person(ANNA + 1)
        town.command(anna, "poison")
        await town.until(lambda: sum(replica.alive for replica in town.replicas) == 5)
        town.line(anna)
        town.line(boris)
        await town.answered(boris, "a5002x1.")
        assert town.database["inbox"].count_documents({"state": "dead"}) == 0
        await town.answered(anna, "a5001x1.", 120)
        await town.quiet()
        verdict = judge(read(town))
        states = [entry["state"] for entry in town.database["inbox"].find({}).sort("_id", 1)]

    deaths = sum(replica.text.count("Killed by poison") for replica in town.replicas)
    assert deaths == SHARED_TRIES + MAX_DEATHS_ALONE
    assert states == ["dead", "done", "done"]
    assert [sent.text for sent in anna.chat.answers] == [BURIED, "a5001x1."]
    assert verdict.fates == {"answered": 2}


async def test_who_is_answered_beside_a_message_that_breaks_every_process_is_not_parked_with_it(
    calm,
):
    """C5: five processes die, the first two with all of their turns."""
    async with calm() as town:
        crowd = [town.person(ANNA + number) for number in range(1, 7)]
        town.claude.faults.next(thinks(30), times=None)
        for person in crowd:
            town.line(person)
        [first] = await town.start(mutant="dies_of_poison")
        await town.begun(len(crowd))
        town.command(town.person(ANNA), "poison")
        await first.ends(30)
        for _ in range(SHARED_TRIES + MAX_DEATHS_ALONE - 1):
            [again] = await town.start(mutant="dies_of_poison")
            await again.ends(60)
            town.claude.faults.clear()
        await town.start(mutant="dies_of_poison")
        await town.quiet(90)
        verdict = judge(read(town))
        states = Counter(entry["state"] for entry in town.database["inbox"].find({}))

    assert states == {"dead": 1, "done": 6}
    assert verdict.is_clean, str(verdict)
    assert verdict.fates == {"answered": 6}


async def test_twenty_lines_during_a_long_turn_are_answered_in_at_most_three(calm):
    """C19, C20: also where they reach two replicas at random."""
    async with calm(LEASE_SECONDS="15") as town, hooked(town):
        await town.start(2)
        anna = town.person(ANNA)
        town.claude.faults.next(thinks(10))
        town.line(anna)
        await town.begun()
        for _ in range(19):
            town.line(anna)
        await town.quiet()
        verdict = judge(read(town))

    assert verdict.is_clean, str(verdict)
    assert verdict.fates == {"answered": 20}
    assert len(town.questions) <= 3


async def test_another_process_polls_within_fifteen_seconds_when_the_leader_is_killed(calm):
    """C8: what Telegram holds meanwhile waits there, and what the leader had begun is begun
    again.
    """
    async with calm() as town:
        replicas = await town.start(2)
        await town.until(lambda: any(replica.said("receives updates now") for replica in replicas))
        leader = next(replica for replica in replicas if replica.said("receives updates now"))
        anna, boris = town.person(ANNA), town.person(ANNA + 1)
        town.claude.faults.next(thinks(20))
        town.line(anna)
        await town.begun()
        polls = len(town.telegram.journal.of("getUpdates"))
        await town.kill(leader)
        killed = time.monotonic()
        town.line(boris)
        await town.telegram.until(lambda: len(town.telegram.journal.of("getUpdates")) > polls, 15)
        took = time.monotonic() - killed
        town.claude.faults.clear()
        await town.quiet()
        verdict = judge(read(town))

    assert took < 15
    assert verdict.is_clean, str(verdict)
    assert verdict.fates == {"answered": 2}
