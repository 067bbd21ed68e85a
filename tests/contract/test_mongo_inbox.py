"""The inbox in MongoDB beyond its port: leases by the server's clock, fences, and what is left when
a process dies.

Two processes are two inboxes over one database. A lease that has ended is one whose end was moved
into the past behind their back: the bot's own clock has no say in it.
"""

from __future__ import annotations

import asyncio
import logging
from datetime import UTC, datetime, timedelta

import pytest
from pymongo.errors import WriteError

from bot.errors import LaneLost, StoreUnavailable, Uncertain
from bot.owner import Lane, Owner, Place
from bot.ports import Entry
from bot.store.mongo import arrivals
from bot.store.mongo.driver_gate import DriverGate
from bot.store.mongo.inbox import MongoInbox
from bot.store.mongo.queries import NEVER, LeaseOwner
from bot.store.mongo.turn_records import UNCERTAIN
from tests.builders import NOON

ANNA = Lane(Owner(1), Place(1))
BORIS = Lane(Owner(2), Place(2))
PAST = datetime(2000, 1, 1, tzinfo=UTC)


def entry(update_id, lane=ANNA, kind="content", **marks):
    return Entry(update_id, lane, kind, {"update_id": update_id}, NOON, **marks)


def new(update_id, lane=ANNA):
    return entry(update_id, lane, "command", cancels=True)


class Processes:
    """The inboxes of several processes, and their database as an admin sees it."""

    def __init__(self, store, clock, database):
        self.store, self.clock, self.database = store, clock, database
        self.here, self.there = self.process("here"), self.process("there")

    def process(self, name, *, lease_seconds=15.0, calls=None):
        holder = LeaseOwner(name, lease_seconds)
        return MongoInbox(self.store.database, calls or self.store.calls, self.clock, holder)

    def lane(self, lane=ANNA):
        return self.database["lanes"].find_one({"_id": lane.id})

    def entry(self, update_id):
        return self.database["inbox"].find_one({"_id": update_id})

    def let_lease_end(self, lane=ANNA):
        """As it ends when its holder was killed, or stopped for long."""
        assert (
            self.database["lanes"]
            .update_one({"_id": lane.id}, {"$set": {"leaseUntil": PAST}})
            .matched_count
        )

    async def taken_over(self, *entries):
        """The claim and batch of a process that was frozen, and of the one that took over."""
        for waiting in entries or (entry(1),):
            await self.here.put(waiting)
        zombie = await self.here.claim(())
        held = await self.here.next(zombie)
        self.let_lease_end()
        claim = await self.there.claim(())
        return held, await self.there.next(claim)


@pytest.fixture
def processes(store, clock, mongo_client):
    return Processes(store, clock, mongo_client[store.database.name])


async def claimed(inbox, *entries):
    for waiting in entries:
        await inbox.put(waiting)
    claim = await inbox.claim(())
    assert claim is not None
    return claim


# ------------------------------------------------------------------------------------------- leases


async def test_the_bots_own_clock_ends_no_lease(processes):
    """The demo moves it by an hour at the press of a button."""
    await claimed(processes.here, entry(1))
    processes.clock.advance(timedelta(days=1))
    assert await processes.there.claim(()) is None


async def test_a_lease_ends_by_the_servers_clock(processes):
    """The machines' clocks may differ; the lease is one of the server's."""
    claim = await claimed(processes.process("brief", lease_seconds=0.2), entry(1))
    async with asyncio.timeout(60):
        while (later := await processes.there.claim(())) is None:  # noqa: ASYNC110 - time itself is waited for
            await asyncio.sleep(0.02)

    assert (later.lane, later.fence) == (claim.lane, claim.fence + 1)


async def test_the_lane_that_was_served_longest_ago_is_claimed_first(processes):
    """So a lane in which much is going on does not keep the others waiting."""
    for update_id, lane in ((1, ANNA), (2, BORIS)):
        await processes.here.put(entry(update_id, lane))
    processes.let_lease_end(ANNA)

    assert [(await processes.here.claim(())).lane for _ in range(2)] == [BORIS.id, ANNA.id]


async def test_keeping_is_one_command_however_many_lanes(processes, commands):
    claims = [
        await claimed(processes.here, entry(number, Lane(Owner(number), Place(number))))
        for number in range(1, 9)
    ]
    commands.forget()
    await processes.here.keep(claims)

    assert [name for name, _ in commands.on(processes.store.database.name, "lanes")] == ["update"]


async def test_a_holder_knows_by_its_own_clock_that_its_lease_may_be_over(processes):
    """A process that was frozen wakes up with this question, and need not ask anybody."""
    inbox = processes.process("brief", lease_seconds=0.2)
    claim = await claimed(inbox, entry(1))
    record = inbox.record(await inbox.next(claim))
    record.require_lease()
    async with asyncio.timeout(60):
        while inbox._leases.is_valid(claim):  # noqa: ASYNC110 - time itself is waited for
            await asyncio.sleep(0.02)
    with pytest.raises(LaneLost):
        record.require_lease()

    await inbox.keep([claim])
    record.require_lease()


# ------------------------------------------------------------------------------------------ zombies


async def test_what_a_zombie_began_is_not_begun_again(processes):
    """Whoever comes first, the effect begins once."""
    zombie, batch = await processes.taken_over()
    assert await processes.here.record(zombie).effect_begins(1, "send", "hash")
    assert not await processes.there.record(batch).effect_begins(1, "send", "hash")


async def test_a_process_that_wakes_up_finishes_nothing(processes):
    """C24: the one that took over goes one by one, so what it has not touched yet is not the
    zombie's to fail.
    """
    frozen = processes.process("brief", lease_seconds=0.2)
    claim = await claimed(frozen, entry(1), entry(2))
    batch = await frozen.next(claim)
    async with asyncio.timeout(60):
        while frozen._leases.is_valid(claim):  # noqa: ASYNC110 - time itself is waited for
            await asyncio.sleep(0.02)
    later = await processes.there.claim(())
    assert [waiting.id for waiting in (await processes.there.next(later)).entries] == [1]
    with pytest.raises(LaneLost):
        await frozen.finish(batch, "failed")

    assert [processes.entry(number)["state"] for number in (1, 2)] == ["queued", "queued"]


# ----------------------------------------------------------------------------------- tries, retries


async def dies(processes, inbox):
    """Claim the lane, and be killed."""
    claim = await inbox.claim(())
    processes.let_lease_end()
    return claim


async def test_a_lane_that_is_handed_back_was_not_tried(processes):
    await processes.here.put(entry(1))
    for _ in range(5):
        claim = await processes.here.claim(())
        await processes.here.hand_back(claim)
    await dies(processes, processes.here)
    claim = await processes.here.claim(())
    assert (claim.tries, claim.is_retry) == (2, True)
    await processes.here.hand_back(claim)
    again = await processes.there.claim(())

    assert (again.tries, again.is_retry) == (
        2,
        True,
    )  # what the dead one may have committed was not looked up yet


async def test_the_tries_begin_anew_with_the_entry_after_a_finished_one(processes):
    """A message is parked for what it broke itself."""
    await processes.here.put(entry(1))
    for _ in range(3):
        await dies(processes, processes.here)
    claim = await claimed(processes.here, entry(2))
    batch = await processes.here.next(claim)
    going_on = await processes.here.finish(batch, "done")
    assert (claim.tries, [waiting.id for waiting in batch.entries], going_on.tries) == (4, [1], 1)

    processes.let_lease_end()
    assert (await processes.here.claim(())).tries == 2


async def test_only_a_death_while_an_entry_ran_alone_counts_against_it(processes):
    """Not one between a claim and its return, nor a run that its process survived."""
    await processes.here.put(entry(1))
    for _ in range(4):
        await dies(processes, processes.here)
    survived = await processes.here.claim(())
    await processes.here.run_alone(survived)
    await processes.here.hand_back(survived)
    assert (await dies(processes, processes.there)).deaths_alone == 0

    ran = await processes.here.claim(())
    await processes.here.run_alone(ran)
    processes.let_lease_end()
    claim = await processes.there.claim(())
    assert claim.deaths_alone == 1
    with pytest.raises(LaneLost):
        await processes.here.run_alone(ran)
    await processes.there.hand_back(claim)
    assert (await dies(processes, processes.there)).deaths_alone == 1


async def test_deaths_are_forgotten_with_the_entry_that_was_run(processes):
    await processes.here.put(entry(1), new(2))
    for _ in range(3):
        await dies(processes, processes.here)
    claim = await processes.here.claim(())
    await processes.here.run_alone(claim)
    going_on = await processes.here.finish(await processes.here.next(claim), "done")
    assert going_on.deaths_alone == 0
    await processes.here.hand_back(claim)

    assert (await processes.there.claim(())).deaths_alone == 0


async def test_a_lane_that_was_emptied_begins_with_its_first_try(processes):
    await processes.here.put(entry(1))
    for _ in range(3):
        await dies(processes, processes.here)
    claim = await processes.here.claim(())
    await processes.here.release(
        await processes.here.finish(await processes.here.next(claim), "dead")
    )
    later = await claimed(processes.there, entry(2))

    assert (later.tries, later.is_retry) == (1, False)


# ------------------------------------------------------------------------------------- not readable


async def test_a_row_that_cannot_be_read_is_a_dead_letter_and_its_lane_goes_on(processes, caplog):
    """One without an update and one whose lane is not its Owner's: neither is answered."""
    claim = await claimed(processes.here, *[entry(number) for number in range(1, 6)])
    stored = processes.database["inbox"]
    stored.update_one({"_id": 1}, {"$unset": {"update": ""}})
    stored.update_one({"_id": 2}, {"$set": {"ownerId": BORIS.owner.id}})
    stored.update_one({"_id": 4}, {"$unset": {"update": ""}})
    batch = await processes.here.next(claim)
    await processes.here.finish(batch, "done")

    assert [waiting.id for waiting in batch.entries] == [3, 5]
    states = [
        (processes.entry(number)["state"], processes.entry(number)["turn"])
        for number in range(1, 6)
    ]
    assert states == [("dead", 1), ("dead", 2), ("done", 3), ("dead", 4), ("done", 3)]
    assert [
        record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR
    ] == ["updates [1, 2, 4] cannot be read any more and are dead letters"]


async def test_a_zombie_parks_nothing(processes):
    held, _ = await processes.taken_over(entry(1), entry(2))
    processes.database["inbox"].update_one(
        {"_id": 1}, {"$unset": {"update": ""}, "$set": {"fence": 2}}
    )
    with pytest.raises(LaneLost):
        await processes.here.next(held.claim)
    assert processes.entry(1)["state"] == "queued"


# ---------------------------------------------------------------------------------- claims in doubt


async def test_a_claim_that_was_granted_unheard_is_taken_back(processes):
    """The server leased the lane, and its answer was lost; other lanes of this process stay as they
    are.
    """
    here = processes.process("unsure", calls=(calls := Silent(0)))
    mine = await claimed(here, entry(1, BORIS))
    await here.put(entry(2))
    calls.left = 1
    with pytest.raises(StoreUnavailable):
        await here.claim({mine.lane})
    assert processes.lane()["leaseBy"] == "unsure"
    again = await here.claim({mine.lane})

    assert (again.lane, again.tries, again.is_retry) == (ANNA.id, 1, True)
    assert processes.lane(BORIS)["fence"] == mine.fence
    assert await processes.there.claim(()) is None


# ---------------------------------------------------------------------------- arriving, and crashes


async def test_an_update_that_was_finished_is_not_announced_when_it_comes_again(processes):
    claim = await claimed(processes.here, entry(1))
    await processes.here.release(
        await processes.here.finish(await processes.here.next(claim), "done")
    )
    before = processes.lane()
    assert not await processes.there.put(entry(1))

    assert processes.lane() == before


class Silent(DriverGate):
    """The call of this number does its work, and its answer is lost."""

    def __init__(self, number):
        super().__init__()
        self.left = number

    async def __aexit__(self, kind, error, trace):
        await super().__aexit__(kind, error, trace)
        self.left -= 1
        if self.left == 0:
            raise Uncertain


@pytest.mark.parametrize("number", [1, 2], ids=["insert", "announcement"])
async def test_an_update_whose_storing_is_uncertain_is_refused_and_taken_once_when_it_comes_again(
    processes, number
):
    """C12, C108."""
    inbox = processes.process("unsure", calls=Silent(number))
    with pytest.raises(StoreUnavailable):
        await inbox.put(entry(1))
    assert not await inbox.put(entry(1))
    claim = await processes.there.claim(())

    assert [waiting.id for waiting in (await processes.there.next(claim)).entries] == [1]
    assert processes.database["inbox"].count_documents({}) == 1


async def test_telegram_does_not_wait_long_for_a_store_that_does_not_answer(
    processes, mongo_client, monkeypatch
):
    """C12: neither in line, behind calls that wait as well, nor for the server; what comes again is
    taken.
    """
    monkeypatch.setattr(arrivals, "PROMPTLY", 0.3)
    stuck = processes.process("stuck", calls=DriverGate(at_once=2))
    where = {"failCommands": ["insert"], "namespace": f"{processes.store.database.name}.inbox"}
    block = {"blockConnection": True, "blockTimeMS": 1200}
    begun = asyncio.get_running_loop().time()
    mongo_client.admin.command(
        "configureFailPoint", "failCommand", mode={"times": 2}, data=where | block
    )
    refused = await asyncio.gather(
        *(stuck.put(entry(number)) for number in range(1, 9)), return_exceptions=True
    )
    took = asyncio.get_running_loop().time() - begun
    mongo_client.admin.command("configureFailPoint", "failCommand", mode="off")

    assert [isinstance(error, StoreUnavailable) for error in refused] == [True] * 8
    assert took < 1
    for number in range(1, 9):
        await processes.there.put(entry(number))
    claim = await processes.there.claim(())
    assert [waiting.id for waiting in (await processes.there.next(claim)).entries] == list(
        range(1, 9)
    )


async def test_twenty_first_messages_at_once_make_one_lane(processes):
    """Two upserts of one lane may collide; each announcement counts all the same."""
    inboxes = [processes.process(f"process {number}") for number in range(4)]
    await asyncio.gather(*(inboxes[number % 4].put(entry(number)) for number in range(1, 21)))

    assert processes.lane()["arrivals"] == 20
    claim = await processes.here.claim(())
    assert len((await processes.here.next(claim)).entries) == 20


async def test_a_lane_is_not_given_back_over_the_head_of_what_another_process_accepted(processes):
    """The lost wake-up: it comes after the last look and before the release."""
    claim = await claimed(processes.here, entry(1))
    claim = await processes.here.finish(await processes.here.next(claim), "done")
    assert await processes.here.next(claim) is None
    await processes.there.put(entry(2))
    going_on = await processes.here.release(claim)

    assert (going_on.fence, going_on.arrivals) == (claim.fence, 2)
    assert [waiting.id for waiting in (await processes.here.next(going_on)).entries] == [2]
    going_on = await processes.here.finish(await processes.here.next(going_on), "done")
    assert await processes.here.release(going_on) is None
    assert processes.lane()["ready"] is False


# ----------------------------------------------------------------------------- cancels, and records


async def test_a_command_that_one_process_accepts_cancels_the_turn_of_another(processes):
    await claimed(processes.here, entry(1))
    await claimed(processes.here, entry(2, BORIS))
    await processes.there.put(new(3))

    assert dict(await processes.here.cancelled([ANNA.id, BORIS.id])) == {ANNA.id: 3}


async def test_a_process_asks_for_all_its_lanes_at_once(processes, commands):
    commands.forget()
    await processes.here.cancelled([f"{number}:{number}:" for number in range(30)])

    assert len(commands.on(processes.store.database.name, "lanes")) == 1


async def test_a_part_nobody_can_vouch_for_takes_its_place(processes):
    claim = await claimed(processes.here, entry(1))
    record = processes.here.record(await processes.here.next(claim))
    for message_id in (501, None, 503):
        await record.part_sent(1, message_id)

    assert processes.entry(1)["sent"] == [501, UNCERTAIN, 503]


@pytest.mark.parametrize(
    ("state", "kept"),
    [("done", False), ("cancelled", False), ("refused", False), ("failed", True), ("dead", True)],
)
async def test_what_nobody_will_want_again_is_forgotten(processes, state, kept):
    """The words stay only where somebody may have them tried again."""
    claim = await claimed(processes.here, entry(1), entry(2))
    await processes.here.finish(await processes.here.next(claim), state)
    found = [processes.entry(number) for number in (1, 2)]

    assert [(one["state"], one["turn"], "update" in one) for one in found] == [(state, 1, kept)] * 2
    assert [one["doneAt"] for one in found] == [processes.clock.now()] * 2


# ------------------------------------------------------------------------------------ what it costs


@pytest.fixture
async def crowd(processes):
    """Hundreds of lanes and entries of every state, so that a scan would show."""
    inbox, lanes = processes.database["inbox"], processes.database["lanes"]
    for number in range(100, 400):
        lane = Lane(Owner(number), Place(number))
        await processes.here.put(entry(number, lane))
    lanes.update_many({"_id": {"$regex": "^1"}}, {"$set": {"ready": False}})
    lanes.update_many(
        {"_id": {"$regex": "^[23]"}}, {"$set": {"leaseUntil": datetime(2100, 1, 1, tzinfo=UTC)}}
    )
    inbox.update_many({"_id": {"$mod": [2, 0]}}, {"$set": {"state": "done", "doneAt": NOON}})


async def test_every_query_finds_its_documents_through_an_index(
    processes, crowd, commands, mongo_client
):
    """Keys and documents examined: no more than one beyond what is returned."""
    commands.forget()
    commands.explain = mongo_client
    await processes.here.put(entry(1))
    await processes.here.put(entry(1))
    claim = await processes.here.claim({BORIS.id})
    batch = await processes.here.next(claim)
    await processes.here.record(batch).part_sent(1, 501)
    await processes.here.record(batch).effect_begins(1, "send", "hash")
    await processes.here.keep([claim])
    await processes.here.cancelled([claim.lane])
    going_on = await processes.here.finish(batch, "done")
    await processes.here.next(going_on)
    await processes.here.release(going_on)
    assert await processes.here.claim(()) is None
    await processes.here.put(new(2))
    claim = await processes.here.claim(())
    await processes.here.finish(await processes.here.next(claim), "done")
    await processes.here.hand_back(claim)

    assert [plan for plan in commands.plans if not plan.is_indexed] == []
    assert {plan.command for plan in commands.plans} == {"find", "update", "findAndModify"}


# --------------------------------------------------------------------------------------- validators

WRONG = {
    "no_owner": ("inbox", {"ownerId": None}),
    "unknown_state": ("inbox", {"state": "waiting"}),
    "unknown_kind": ("inbox", {"kind": "poll"}),
    "unknown_field": ("inbox", {"isAdmin": True}),
    "date_as_text": ("inbox", {"doneAt": "now"}),
    "parts_as_number": ("inbox", {"sent": 2}),
    "negative_fence": ("inbox", {"fence": -1}),
    "effect_without_arguments": ("inbox", {"effects": [{"tool": "send"}]}),
    "lease_as_text": ("lanes", {"leaseUntil": "never"}),
    "holder_as_number": ("lanes", {"leaseBy": 7}),
    "ready_as_number": ("lanes", {"ready": 1}),
    "seen_never": ("lanes", {"lastSeen": None}),
    "half_a_cancel": ("lanes", {"cancel": {}}),
    "unknown_field_of_a_lane": ("lanes", {"shard": 1}),
}


@pytest.mark.parametrize(("collection", "change"), WRONG.values(), ids=WRONG)
async def test_the_server_refuses_what_is_no_entry_and_no_lane(processes, collection, change):
    """C106: above all what would never expire."""
    await processes.here.put(entry(1))
    with pytest.raises(WriteError) as refused:
        processes.database[collection].update_one({}, {"$set": change})
    assert refused.value.code == 121


async def test_entries_and_lanes_expire_after_their_last_use(processes):
    days = {
        name: processes.database[name].index_information()["expiry"] for name in ("inbox", "lanes")
    }
    found = {
        name: (index["key"], index["expireAfterSeconds"] / 86_400) for name, index in days.items()
    }
    assert found == {"inbox": ([("doneAt", 1)], 2), "lanes": ([("lastSeen", 1)], 90)}


TOPICS = 5000


@pytest.fixture
def topics(processes):
    """So many lanes of Anna's wait that one after the other would show."""
    made = {"ownerId": ANNA.owner.id, "share": ANNA.share, "ready": True, "arrivals": 1}
    free = {"leaseBy": None, "leaseUntil": NEVER, "fence": 0, "tries": 0, "lastSeen": NOON}
    lanes = [
        {"_id": Lane(ANNA.owner, Place(-100, topic)).id, **made, **free}
        for topic in range(1, TOPICS + 1)
    ]
    processes.database["lanes"].insert_many(lanes)


async def test_a_claim_passes_over_thousands_of_lanes_of_a_full_share(
    processes, topics, commands, mongo_client
):
    """C167"""
    await processes.here.put(entry(1, BORIS))
    commands.forget()
    commands.explain = mongo_client
    claim = await processes.here.claim((), [ANNA.share])

    assert claim.lane == BORIS.id
    assert [plan for plan in commands.plans if not plan.is_indexed] == []


async def test_lanes_released_close_together_are_passed_over_together(processes):
    """C167: what they are sorted by is rounded, so one step of the index leads past all of them."""
    for number in range(1, 5):
        claim = await claimed(processes.here, entry(number, Lane(Owner(number), Place(number))))
        await processes.here.release(
            await processes.here.finish(await processes.here.next(claim), "done")
        )
    released = {lane["leaseUntil"] for lane in processes.database["lanes"].find()}

    assert all(at.second % 10 == at.microsecond == 0 for at in released)
