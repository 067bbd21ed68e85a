"""The worker: one order inside a lane, many lanes side by side, and a clean way out."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta

import pytest

from bot import worker
from bot.errors import ChatBusy, LaneLost, StoreUnavailable
from bot.lane_runner import LOST_SECONDS
from bot.ops.clock import ManualClock
from bot.owner import Lane, Owner, Place
from bot.ports import Entry
from bot.store.memory.inbox import MemoryInbox, MemoryRecord
from bot.suspects import MAX_DEATHS_ALONE, PAUSES, RETRY_SECONDS, SHARED_TRIES
from bot.worker import Worker
from tests.builders import NOON

ANNA = Lane(Owner(1), Place(1))
BORIS = Lane(Owner(2), Place(2))


def entry(update_id, lane=ANNA, kind="content", **marks):
    return Entry(update_id, lane, kind, {}, NOON, **marks)


class Ledger(MemoryInbox):
    """An inbox that notes what became of lanes and entries, and which delays end soon, whatever was
    asked for.
    """

    def __init__(self):
        self.clock = ManualClock(NOON)
        super().__init__(self.clock)
        self.finished = []
        self.handed_back = []
        self.alone = []
        self.tries = 1
        self.died, self.deaths_alone = False, 0
        self.lost = set()
        self.expired, self.recorded = False, asyncio.Event()
        self.gate = asyncio.Event()
        self.gate.set()
        self.renewals, self.looks = asyncio.Semaphore(0), asyncio.Semaphore(0)
        self.reached, self.granted = asyncio.Event(), asyncio.Event()
        self.granted.set()

    async def claim(self, busy, full_shares=()):
        claim = await super().claim(busy, full_shares)
        self.reached.set()
        await self.granted.wait()
        if claim is None:
            return None
        died, self.died = self.died, False
        return replace(claim, tries=self.tries, died=died, deaths_alone=self.deaths_alone)

    async def run_alone(self, claim):
        self.alone.append(claim.lane)

    async def finish(self, batch, state):
        self.finished.append((tuple(waiting.id for waiting in batch.entries), state))
        return await super().finish(batch, state)

    async def hand_back(self, claim, seconds=0.0):
        self.handed_back.append((claim.lane, seconds))
        if claim.lane in self.lost:
            raise LaneLost
        await super().hand_back(claim, min(seconds, 0.01))

    async def keep(self, claims):
        lost = self.lost & {claim.lane for claim in claims}
        self.renewals.release()
        await self.gate.wait()
        return lost

    async def cancelled(self, lanes):
        self.looks.release()
        return await super().cancelled(lanes)

    def record(self, batch):
        self.recorded.set()
        return Expired() if self.expired else super().record(batch)


class Expired(MemoryRecord):
    """The record of a lease that is over."""

    def require_lease(self):
        raise LaneLost


class CommandDependencies:
    """A Frontend that answers when it is allowed to, and keeps a record.

    `failures` come before an answer.
    """

    def __init__(self, **failures):
        self.log = []
        self.gates = {}
        self.failures = {
            int(update_id.removeprefix("at_")): errors for update_id, errors in failures.items()
        }
        self.runs = []
        self.changed = asyncio.Condition()

    def hold(self, update_id):
        """Make the answer to this update wait for the returned event."""
        self.gates[update_id] = asyncio.Event()
        return self.gates[update_id]

    async def answer(self, batch, run):
        ids = tuple(waiting.id for waiting in batch.entries)
        self.runs.append(run)
        await self._note("begun", ids)
        if errors := self.failures.get(ids[0]):
            raise errors.pop(0)
        if (gate := self.gates.get(ids[0])) is not None:
            await self._first(ids, gate, run.stop)
        await self._note("stopped" if run.stop.is_set() else "answered", ids)
        return "done"

    async def run_command(self, batch, run):
        await self._note("obeyed", (batch.entries[0].id,))
        if (gate := self.gates.get(batch.turn)) is not None:
            await gate.wait()
        return "done"

    async def give_up(self, batch, run):
        await self._note("buried", tuple(waiting.id for waiting in batch.entries))
        return "dead"

    async def skip_superseded(self, batch, run):
        await self._note("declined", tuple(waiting.id for waiting in batch.entries))
        return "cancelled"

    async def _first(self, ids, *events):
        tasks = [asyncio.create_task(event.wait()) for event in events]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            await self._note("cancelled", ids)
            raise
        finally:
            for task in tasks:
                task.cancel()

    async def _note(self, what, ids):
        async with self.changed:
            self.log.append((what, ids))
            self.changed.notify_all()

    async def until(self, *expected):
        """Wait until these lines are in the log, each as often as it is named."""
        wanted = Counter(expected)
        async with asyncio.timeout(60), self.changed:
            await self.changed.wait_for(lambda: wanted <= Counter(self.log))


@asynccontextmanager
async def working(needs, inbox, *, slots=8, owner_lanes=4, grace_seconds=5.0, lease_seconds=15.0):
    leave = asyncio.Event()
    serving = Worker(
        inbox, needs, slots=slots, owner_lanes=owner_lanes, lease_seconds=lease_seconds
    )
    running = asyncio.create_task(serving.run(leave, grace_seconds=grace_seconds))
    try:
        yield leave
    finally:
        leave.set()
        await asyncio.wait_for(running, 60)


async def turns_of_the_loop(number):
    for _ in range(number):
        await asyncio.sleep(0)


async def asked_again(asked, times=1):
    """Until the inbox was asked so many times from now on."""
    async with asyncio.timeout(60):
        while not asked.locked():
            await asked.acquire()
        for _ in range(times):
            await asked.acquire()


def errors(caplog):
    return [record for record in caplog.records if record.levelno >= logging.ERROR]


async def test_what_waits_in_one_lane_is_answered_in_order_and_never_two_at_a_time():
    """C20"""
    inbox, needs = Ledger(), CommandDependencies()
    gate = needs.hold(1)
    async with working(needs, inbox):
        await inbox.put(entry(1))
        await needs.until(("begun", (1,)))
        await inbox.put(entry(2))
        await inbox.put(entry(3))
        gate.set()
        await needs.until(("answered", (2, 3)))

    assert needs.log == [
        ("begun", (1,)),
        ("answered", (1,)),
        ("begun", (2, 3)),
        ("answered", (2, 3)),
    ]


async def test_a_long_turn_of_one_person_does_not_delay_another():
    """C23"""
    inbox, needs = Ledger(), CommandDependencies()
    gate = needs.hold(1)
    async with working(needs, inbox):
        await inbox.put(entry(1, ANNA))
        await inbox.put(entry(2, BORIS))
        await needs.until(("answered", (2,)))
        assert ("answered", (1,)) not in needs.log
        gate.set()


async def test_no_more_lanes_are_held_than_there_are_slots():
    inbox, needs = Ledger(), CommandDependencies()
    gates = [needs.hold(number) for number in (1, 2, 3)]
    async with working(needs, inbox, slots=2):
        for number in (1, 2, 3):
            await inbox.put(entry(number, Lane(Owner(number), Place(number))))
        await needs.until(("begun", (1,)), ("begun", (2,)))
        assert ("begun", (3,)) not in needs.log
        gates[0].set()
        await needs.until(("begun", (3,)))
        for gate in gates:
            gate.set()


async def test_new_ends_the_running_turn_and_declines_what_was_sent_before_it():
    """C35: the command does not wait for the turn; nothing disappears without a word."""
    inbox, needs = Ledger(), CommandDependencies()
    needs.hold(1)
    async with working(needs, inbox):
        await inbox.put(entry(1))
        await needs.until(("begun", (1,)))
        for waiting in (entry(2), entry(3, kind="command", cancels=True), entry(4)):
            await inbox.put(waiting)
        await needs.until(("answered", (4,)))

    assert needs.log == [
        ("begun", (1,)),
        ("stopped", (1,)),
        ("declined", (2,)),
        ("obeyed", (3,)),
        ("begun", (4,)),
        ("answered", (4,)),
    ]


async def test_a_command_that_cancels_stops_no_turn_that_began_after_it():
    """C35: what was sent after `/new` belongs to the new Session, even where it was taken up
    first.
    """
    inbox, needs = Ledger(), CommandDependencies()
    gate = needs.hold(5)
    async with working(needs, inbox):
        await inbox.put(entry(5))
        await needs.until(("begun", (5,)))
        await inbox.put(entry(3, kind="command", cancels=True))
        await inbox.put(entry(1, BORIS))
        await asked_again(inbox.looks, times=2)
        assert not needs.runs[0].stop.is_set()
        gate.set()
        await needs.until(("answered", (5,)), ("obeyed", (3,)))


async def test_one_broken_entry_ends_neither_its_lane_nor_the_worker(caplog):
    inbox, needs = Ledger(), CommandDependencies(at_1=[ZeroDivisionError()])
    await inbox.put(entry(1))
    async with working(needs, inbox):
        await needs.until(("begun", (1,)))
        await inbox.put(entry(2, BORIS))
        await needs.until(("answered", (2,)))
        await inbox.put(entry(3))
        await needs.until(("answered", (3,)))

    assert inbox.finished[0] == ((1,), "failed")
    assert [record.getMessage() for record in errors(caplog)] == ["the batch broke"]


async def test_what_arrives_without_a_hint_is_found_by_looking(monkeypatch):
    """C115: nothing depends on being woken."""
    monkeypatch.setattr(worker, "IDLE_SECONDS", 0.01)

    class Deaf(Ledger):
        async def wait(self):
            await asyncio.Event().wait()

    inbox, needs = Deaf(), CommandDependencies()
    async with working(needs, inbox):
        await inbox.reached.wait()
        await inbox.put(entry(1))
        await needs.until(("answered", (1,)))


async def test_a_worker_with_nothing_to_do_does_not_ask_again_and_again():
    """What let it go on once is over with the next claim, which finds nothing."""

    class Counting(Ledger):
        claims = 0

        async def claim(self, busy, full_shares=()):
            self.claims += 1
            return await super().claim(busy, full_shares)

    inbox, needs = Counting(), CommandDependencies()
    async with working(needs, inbox, owner_lanes=1):
        await inbox.put(entry(1))
        await needs.until(("answered", (1,)))
        await turns_of_the_loop(50)
        asked_before = inbox.claims
        await turns_of_the_loop(500)
        assert asked_before > 1
        assert inbox.claims - asked_before <= 1


# ------------------------------------------------------------------------------------------ not now


@pytest.mark.parametrize(
    ("error", "seconds"),
    [(ChatBusy(27.0), 27.0), (StoreUnavailable(), RETRY_SECONDS)],
    ids=["the chat is busy", "the store is away"],
)
async def test_a_turn_that_cannot_go_on_hands_its_lane_back_and_is_taken_up_again(
    error, seconds, caplog
):
    """C89: the slot is free for others meanwhile, and the entry waits in the inbox."""
    inbox, needs = Ledger(), CommandDependencies(at_1=[error])
    async with working(needs, inbox, slots=1):
        await inbox.put(entry(1))
        await inbox.put(entry(2, kind="command"))
        await needs.until(("answered", (1,)), ("obeyed", (2,)))

    assert inbox.handed_back == [(ANNA.id, seconds)]
    assert needs.log == [("begun", (1,)), ("begun", (1,)), ("answered", (1,)), ("obeyed", (2,))]
    assert inbox.finished == [((1,), "done"), ((2,), "done")]
    assert errors(caplog) == []


async def test_a_fate_that_could_not_be_recorded_is_recorded_after_another_run():
    """The run that follows finds the turn committed and only finishes its delivery."""

    class Away(Ledger):
        away = 1

        async def finish(self, batch, state):
            if self.away:
                self.away -= 1
                raise StoreUnavailable
            return await super().finish(batch, state)

    inbox, needs = Away(), CommandDependencies()
    async with working(needs, inbox):
        await inbox.put(entry(1))
        await needs.until(*[("answered", (1,))] * 2)

    assert inbox.finished == [((1,), "done")]


async def test_a_store_that_is_away_delays_claims_and_ends_nothing(caplog):
    class Away(Ledger):
        away = 2

        async def claim(self, busy, full_shares=()):
            claim = None if self.away else await super().claim(busy, full_shares)
            if self.away:
                self.away -= 1
                raise StoreUnavailable
            return claim

    inbox, needs = Away(), CommandDependencies()
    await inbox.put(entry(1))
    async with working(needs, inbox):
        await needs.until(("answered", (1,)))

    assert errors(caplog) == []


async def test_messages_that_are_likely_to_be_followed_are_waited_for_without_a_slot():
    """C99: the pieces of a paste become one turn."""
    inbox, needs = Ledger(), CommandDependencies()
    async with working(needs, inbox, slots=1):
        await inbox.put(entry(1, gathers=True))
        await inbox.put(entry(2, BORIS))
        await needs.until(("answered", (2,)))
        await inbox.put(entry(3, gathers=True))
        inbox.clock.advance(timedelta(seconds=1.2))
        await needs.until(("answered", (1, 3)))

    lanes, seconds = zip(*inbox.handed_back, strict=True)
    assert (set(lanes), set(seconds)) == ({ANNA.id}, {1.2})
    assert needs.log == [
        ("begun", (2,)),
        ("answered", (2,)),
        ("begun", (1, 3)),
        ("answered", (1, 3)),
    ]


async def test_a_message_that_keeps_breaking_the_process_is_buried_and_the_next_one_answered():
    """The try after the last is an apology; what waits behind it is not punished."""
    inbox, needs = Ledger(), CommandDependencies()
    inbox.tries, inbox.deaths_alone = 9, MAX_DEATHS_ALONE
    await inbox.put(entry(1))
    await inbox.put(entry(2))
    async with working(needs, inbox):
        await needs.until(("answered", (2,)))

    assert needs.log == [("buried", (1,)), ("begun", (2,)), ("answered", (2,))]
    assert inbox.finished == [((1,), "dead"), ((2,), "done")]


async def test_what_was_overtaken_is_declined_after_any_number_of_tries():
    """The run may hold many messages, of which one broke the process; none of them will be given to
    the model.
    """
    inbox, needs = Ledger(), CommandDependencies()
    inbox.tries, inbox.deaths_alone = 9, MAX_DEATHS_ALONE
    for waiting in (entry(1), entry(2), entry(3, kind="command", cancels=True)):
        await inbox.put(waiting)
    async with working(needs, inbox):
        await needs.until(("obeyed", (3,)))

    assert needs.log == [("declined", (1, 2)), ("obeyed", (3,))]


SUSPECT = SHARED_TRIES + 1


@pytest.mark.parametrize("kind", ["content", "command"])
async def test_two_suspects_do_not_run_side_by_side(kind):
    """C5: what runs beside an entry that breaks the process loses two tries with it, no more."""
    inbox, needs = Ledger(), CommandDependencies()
    inbox.tries = SUSPECT
    gate = needs.hold(1)
    async with working(needs, inbox, lease_seconds=0.05):
        await inbox.put(entry(1, ANNA, kind))
        await needs.until(("begun" if kind == "content" else "obeyed", (1,)))
        before = len(inbox.handed_back)
        await inbox.put(entry(2, BORIS))
        async with asyncio.timeout(60):
            while len(inbox.handed_back) < before + 3:  # noqa: ASYNC110 - a plain list of a fake
                await asyncio.sleep(0)
        assert ("begun", (2,)) not in needs.log
        gate.set()
        await needs.until(("answered", (2,)))

    assert (BORIS.id, RETRY_SECONDS) in inbox.handed_back
    assert sorted(inbox.alone) == [ANNA.id, BORIS.id]


@pytest.mark.parametrize("deaths", range(MAX_DEATHS_ALONE))
async def test_a_suspect_waits_longer_after_each_death(deaths):
    """A short storm of kills from outside cannot use its tries up."""
    inbox, needs = Ledger(), CommandDependencies()
    inbox.tries, inbox.died, inbox.deaths_alone = SUSPECT, True, deaths
    await inbox.put(entry(1))
    async with working(needs, inbox, lease_seconds=0.05):
        await needs.until(("answered", (1,)))

    first, *later = [seconds for _, seconds in inbox.handed_back]
    assert first == pytest.approx(PAUSES[deaths] * 0.05)
    assert later == sorted(later, reverse=True)
    assert inbox.alone == [ANNA.id]


async def test_a_young_process_runs_no_suspect():
    """What dies anyway, every few seconds, tells nothing of what it ran."""
    inbox, needs = Ledger(), CommandDependencies()
    inbox.tries, inbox.deaths_alone = SUSPECT, 2
    async with working(needs, inbox, lease_seconds=15):
        await inbox.put(entry(1))
        async with asyncio.timeout(60):
            while len(inbox.handed_back) < 3:  # noqa: ASYNC110 - a plain list of a fake
                await asyncio.sleep(0)

    assert needs.log == []
    assert all(80 < seconds <= PAUSES[2] * 15 for _, seconds in inbox.handed_back[:3])


async def test_shared_tries_are_made_side_by_side():
    """What ran beside a message that broke the process does not wait for one another."""
    inbox, needs = Ledger(), CommandDependencies()
    inbox.tries = SHARED_TRIES
    gate = needs.hold(1)
    async with working(needs, inbox):
        await inbox.put(entry(1, ANNA))
        await inbox.put(entry(2, BORIS))
        await needs.until(("begun", (1,)), ("answered", (2,)))
        gate.set()

    assert inbox.handed_back == []


# ------------------------------------------------------------------------------------------- leases


async def test_a_lease_that_turns_out_to_be_lost_ends_the_turn_quietly_and_is_no_try(caplog):
    """C24: the inbox takes back only what is still ours, as after an outage in which nobody could
    claim it.
    """
    inbox, needs = Ledger(), CommandDependencies(at_1=[LaneLost()])
    async with working(needs, inbox, slots=1):
        await inbox.put(entry(1))
        await needs.until(("begun", (1,)))
        await inbox.put(entry(2, BORIS))
        await needs.until(("answered", (1,)), ("answered", (2,)))

    assert inbox.handed_back == [(ANNA.id, LOST_SECONDS)]
    assert sorted(inbox.finished) == [((1,), "done"), ((2,), "done")]
    assert errors(caplog) == []


async def test_a_turn_whose_lease_was_lost_is_cancelled_and_no_other(caplog):
    inbox, needs = Ledger(), CommandDependencies()
    needs.hold(1)
    gate = needs.hold(2)
    async with working(needs, inbox, lease_seconds=0.06):
        await inbox.put(entry(1, ANNA))
        await inbox.put(entry(2, BORIS))
        await needs.until(("begun", (1,)), ("begun", (2,)))
        inbox.lost = {ANNA.id}
        await needs.until(("cancelled", (1,)))
        assert ("cancelled", (2,)) not in needs.log
        gate.set()
        await needs.until(("answered", (2,)))

    assert inbox.finished == [((2,), "done")]
    assert errors(caplog) == []


async def test_a_lane_that_is_handed_back_goes_on_at_once_where_the_worker_goes_on(monkeypatch):
    """Nobody else may look for it, and the next look by the clock is far."""
    monkeypatch.setattr(worker, "IDLE_SECONDS", 60.0)
    inbox, needs = Ledger(), CommandDependencies()
    needs.hold(1)
    async with working(needs, inbox, lease_seconds=0.06):
        await inbox.put(entry(1))
        await needs.until(("begun", (1,)))
        inbox.lost = {ANNA.id}
        await needs.until(("cancelled", (1,)))
        inbox.lost = set()
        needs.gates[1].set()
        await needs.until(("answered", (1,)))

    assert inbox.handed_back == [(ANNA.id, 0.0)]


async def test_a_lane_that_was_claimed_again_while_its_old_lease_was_looked_up_is_not_lost():
    """Interleaving: a renewal is asked for, the lane is given back and claimed anew, the old lease
    is not found.
    """
    inbox, needs = Ledger(), CommandDependencies()
    first, second = needs.hold(1), needs.hold(2)
    async with working(needs, inbox, lease_seconds=0.06):
        await inbox.put(entry(1))
        await needs.until(("begun", (1,)))
        inbox.gate.clear()
        inbox.lost = {ANNA.id}
        await asked_again(inbox.renewals)
        first.set()
        await needs.until(("answered", (1,)))
        await turns_of_the_loop(10)
        await inbox.put(entry(2))
        await needs.until(("begun", (2,)))
        inbox.lost = set()
        inbox.gate.set()
        await asked_again(inbox.renewals)
        second.set()
        await needs.until(("answered", (2,)))

    assert ("cancelled", (2,)) not in needs.log


async def test_a_store_that_is_away_for_a_renewal_is_asked_again(caplog):
    class Away(Ledger):
        asked = 0

        async def keep(self, claims):
            self.asked += 1
            if self.asked == 1:
                raise StoreUnavailable
            return await super().keep(claims)

    inbox, needs = Away(), CommandDependencies()
    needs.hold(1)
    async with working(needs, inbox, lease_seconds=0.06, grace_seconds=0):
        await inbox.put(entry(1))
        await needs.until(("begun", (1,)))
        inbox.lost = {ANNA.id}
        await needs.until(("cancelled", (1,)))

    assert inbox.asked > 1
    assert errors(caplog) == []


# ------------------------------------------------------------------------------------------ leaving


async def test_leaving_lets_the_running_turn_finish_and_hands_back_the_rest():
    """C4"""
    inbox, needs = Ledger(), CommandDependencies()
    gate = needs.hold(1)
    async with working(needs, inbox) as leave:
        await inbox.put(entry(1, ANNA))
        await needs.until(("begun", (1,)))
        leave.set()
        await turns_of_the_loop(10)
        await inbox.put(entry(2, ANNA))
        await inbox.put(entry(3, BORIS))
        gate.set()

    assert needs.log == [("begun", (1,)), ("answered", (1,))]
    assert inbox.finished == [((1,), "done")]
    assert inbox.handed_back == [(ANNA.id, 0.0)]
    assert {(await inbox.claim(())).lane, (await inbox.claim(())).lane} == {ANNA.id, BORIS.id}


async def test_a_lane_that_is_granted_to_a_worker_which_leaves_is_handed_back():
    """C4: the store has leased it, and the answer is on its way when the bot is told to leave."""
    inbox, needs = Ledger(), CommandDependencies()
    inbox.granted.clear()
    await inbox.put(entry(1))
    async with working(needs, inbox) as leave:
        await inbox.reached.wait()
        leave.set()
        await turns_of_the_loop(10)
        inbox.granted.set()

    assert inbox.handed_back == [(ANNA.id, 0.0)]
    assert needs.log == []


async def test_leaving_cancels_a_turn_that_does_not_finish_in_time_and_hands_it_back():
    inbox, needs = Ledger(), CommandDependencies()
    needs.hold(1)
    async with working(needs, inbox, grace_seconds=0.05):
        await inbox.put(entry(1))
        await needs.until(("begun", (1,)))

    assert needs.log == [("begun", (1,)), ("cancelled", (1,))]
    assert inbox.finished == []
    batch = await inbox.next(await inbox.claim(()))
    assert batch is not None
    assert batch.turn == 1


async def test_a_command_is_not_obeyed_after_the_lease_is_over():
    """C24: woken after a freeze, it would close a Session that began meanwhile."""
    inbox, needs = Ledger(), CommandDependencies()
    inbox.expired = True
    async with working(needs, inbox):
        await inbox.put(entry(1, kind="command"))
        await inbox.recorded.wait()
        await turns_of_the_loop(10)

    assert needs.log == []
    assert inbox.finished == []


# -------------------------------------------------------------------------------------- fair shares

TOPICS = [Lane(ANNA.owner, Place(-100, topic)) for topic in range(1, 101)]


async def test_a_hundred_topics_of_one_person_leave_the_workers_to_others():
    """C167"""
    inbox, needs = Ledger(), CommandDependencies()
    gates = [needs.hold(number) for number in range(1, 101)]
    async with working(needs, inbox, slots=8, owner_lanes=3):
        for number, topic in enumerate(TOPICS, start=1):
            await inbox.put(entry(number, topic))
        await needs.until(*(("begun", (number,)) for number in (1, 2, 3)))
        for number in range(201, 211):
            await inbox.put(entry(number, BORIS))
            await needs.until(("answered", (number,)))
        assert len([ids for what, ids in needs.log if what == "begun" and ids[0] < 200]) == 3
        for gate in gates:
            gate.set()
        await needs.until(*(("answered", (number,)) for number in range(1, 101)))


async def test_a_lane_that_ends_makes_room_at_once_for_the_next_of_its_person():
    inbox, needs = Ledger(), CommandDependencies()
    gates = [needs.hold(number) for number in (1, 2)]
    async with working(needs, inbox, owner_lanes=1):
        await inbox.put(entry(1, TOPICS[0]), entry(2, TOPICS[1]))
        await needs.until(("begun", (1,)))
        began = asyncio.get_running_loop().time()
        gates[0].set()
        await needs.until(("begun", (2,)))
        assert asyncio.get_running_loop().time() - began < worker.IDLE_SECONDS / 2
        gates[1].set()


async def test_commands_answered_at_once_wait_for_no_turn_and_run_one_at_a_time():
    """C167: with /help in a hundred topics a person holds one worker more than with talks alone."""
    inbox, running, maximum = Ledger(), set(), 0

    class Slow(CommandDependencies):
        async def run_command(self, batch, run):
            nonlocal maximum
            running.add(batch.turn)
            maximum = max(maximum, len(running))
            await turns_of_the_loop(5)
            running.discard(batch.turn)
            return await super().run_command(batch, run)

    needs = Slow()
    gates = [needs.hold(number) for number in (1, 2)]
    async with working(needs, inbox, owner_lanes=2):
        await inbox.put(entry(1, TOPICS[0]), entry(2, TOPICS[1]))
        await needs.until(("begun", (1,)), ("begun", (2,)))
        helps = [
            entry(number, replace(TOPICS[number - 10], aside=True), "command")
            for number in range(10, 30)
        ]
        await inbox.put(*helps)
        await needs.until(*(("obeyed", (waiting.id,)) for waiting in helps))
        for gate in gates:
            gate.set()

    assert maximum == 1
