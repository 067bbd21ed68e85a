"""The Inbox port: what any inbox promises the worker, in memory or durable."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta

import pytest

from bot.owner import Lane, Owner, Place
from bot.ports import Effect, Entry
from bot.store.memory.inbox import MemoryInbox
from bot.store.mongo.inbox import MongoInbox
from bot.store.mongo.queries import LeaseOwner
from tests.builders import NOON

ANNA = Lane(Owner(1), Place(1))
BORIS = Lane(Owner(2), Place(2))
COMMANDS = ("command", "press")


@asynccontextmanager
async def in_memory(request, clock):
    yield MemoryInbox(clock)


def through(driver):
    @asynccontextmanager
    async def in_mongodb(request, clock):
        connected = request.getfixturevalue("connected")
        store = await connected(driver)
        yield MongoInbox(store.database, store.calls, clock, LeaseOwner("here", lease_seconds=15))
        await store.close()

    return in_mongodb


INBOXES = {"memory": in_memory, "motor": through("motor"), "pymongo": through("pymongo")}


@pytest.fixture(params=INBOXES)
async def inbox(request, clock):
    async with INBOXES[request.param](request, clock) as opened:
        yield opened


def entry(update_id: int, lane: Lane = ANNA, kind="content", *, at=NOON, **marks) -> Entry:
    sender = [lane.owner.id, lane.place.chat_id, lane.place.thread_id]
    return Entry(update_id, lane, kind, {"update_id": update_id, "from": sender}, at, **marks)


def new(update_id: int, lane: Lane = ANNA) -> Entry:
    return entry(update_id, lane, "command", cancels=True)


def ids(batch):
    return batch and [waiting.id for waiting in batch.entries]


async def ids_of_next(inbox, claim):
    return ids(await inbox.next(claim))


async def claimed(inbox, *entries):
    """The lane in which these wait."""
    for waiting in entries:
        assert await inbox.put(waiting)
    claim = await inbox.claim(())
    assert claim is not None
    return claim


async def eventually_claimed(inbox):
    async with asyncio.timeout(60):
        while (claim := await inbox.claim(())) is None:  # noqa: ASYNC110 - the end of a delay is announced to nobody
            await asyncio.sleep(0.02)
    return claim


async def handled(inbox, claim):
    """Finish what waits, batch by batch, and give the lane back; what was seen."""
    seen = []
    while claim is not None:
        batch = await inbox.next(claim)
        if batch is None:
            claim = await inbox.release(claim)
        else:
            seen.append(batch)
            claim = await inbox.finish(batch, "done")
    return seen


# ---------------------------------------------------------------------------------------- accepting


async def test_an_update_is_accepted_once(inbox):
    """C16: duplicates are found by exact id, so an id lower than one seen before is news."""
    assert await inbox.put(entry(900))
    assert not await inbox.put(entry(900))
    assert await inbox.put(entry(7))


@pytest.mark.parametrize("state", ["done", "failed", "cancelled", "dead", "refused"])
async def test_a_finished_update_is_not_accepted_again(inbox, state):
    """C11: Telegram repeats what it believes undelivered."""
    claim = await claimed(inbox, entry(1))
    await inbox.release(await inbox.finish(await inbox.next(claim), state))

    assert not await inbox.put(entry(1))
    assert await inbox.claim(()) is None


@pytest.mark.parametrize(
    "put",
    [
        entry(1, Lane(Owner(1), Place(-100500, 7)), at=NOON + timedelta(milliseconds=250)),
        entry(1, Lane(Owner(1), Place(1), aside=True), "command"),
        replace(
            entry(1),
            update={
                **entry(1).update,
                "message": {"text": "ж", "entities": [{"offset": 0}], "x": None},
            },
        ),
        entry(1, kind="press"),
        entry(1, gathers=True),
    ],
    ids=["a topic", "aside", "an update", "a press", "gathering"],
)
async def test_an_entry_comes_back_as_it_was_put(inbox, put):
    await inbox.put(put)
    claim = await eventually_claimed(inbox)
    batch = await inbox.next(claim)

    assert batch.entries == (put,)
    assert (batch.turn, batch.lane, batch.claim.lane) == (1, put.lane, put.lane.id)


async def test_waiting_ends_when_something_arrives(inbox):
    assert await inbox.claim(()) is None
    waiting = asyncio.create_task(inbox.wait())
    await inbox.put(entry(1))

    await asyncio.wait_for(waiting, 5)


# ----------------------------------------------------------------------------------------- claiming


async def test_a_lane_is_held_once(inbox):
    held = await claimed(inbox, entry(1))
    await inbox.put(entry(2))

    assert (held.lane, held.tries, held.is_retry) == (ANNA.id, 1, False)
    assert await inbox.claim(()) is None


async def test_of_many_who_claim_at_once_one_gets_the_lane(inbox):
    await inbox.put(entry(1))
    claims = await asyncio.gather(*(inbox.claim(()) for _ in range(10)))

    assert len([claim for claim in claims if claim is not None]) == 1


async def test_lanes_are_claimed_side_by_side(inbox):
    """C23: no lane waits for another one; what is aside of a talk does not wait for it either."""
    aside = replace(ANNA, aside=True)
    for number, lane in enumerate((ANNA, BORIS, aside)):
        await inbox.put(entry(number, lane))

    assert {(await inbox.claim(())).lane for _ in range(3)} == {ANNA.id, BORIS.id, aside.id}


async def test_a_busy_lane_is_not_claimed(inbox):
    """A process does not claim a lane of which it still runs something, whatever the inbox
    believes.
    """
    await inbox.put(entry(1, ANNA))
    assert await inbox.claim({ANNA.id}) is None

    await inbox.put(entry(2, BORIS))
    assert (await inbox.claim({ANNA.id})).lane == BORIS.id
    assert (await inbox.claim({BORIS.id})).lane == ANNA.id


async def test_no_lane_of_a_full_share_is_claimed(inbox):
    """C167: an Owner's talks are one share, what is answered beside them is another."""
    topics = [Lane(ANNA.owner, Place(-100, topic)) for topic in range(1, 4)]
    for number, lane in enumerate((*topics, replace(topics[0], aside=True), BORIS), start=1):
        await inbox.put(entry(number, lane))

    first = await inbox.claim((), [])
    beside = {(await inbox.claim((), [ANNA.share])).lane for _ in range(2)}
    assert (first.lane, first.share) == (topics[0].id, ANNA.share)
    assert beside == {replace(topics[0], aside=True).id, BORIS.id}
    assert await inbox.claim((), [ANNA.share]) is None
    assert (await inbox.claim((), [replace(ANNA, aside=True).share, BORIS.share])).lane == topics[
        1
    ].id


async def test_a_lane_that_is_held_is_kept(inbox):
    assert not await inbox.keep([await claimed(inbox, entry(1))])


# ------------------------------------------------------------------------------------------ batches


async def test_waiting_messages_make_one_batch_in_the_order_of_their_ids(inbox):
    claim = await claimed(inbox, entry(5), entry(3), entry(4))

    assert await ids_of_next(inbox, claim) == [3, 4, 5]


async def test_a_batch_holds_at_most_twenty_messages(inbox):
    claim = await claimed(inbox, *(entry(update_id) for update_id in range(1, 26)))

    assert [ids(batch) for batch in await handled(inbox, claim)] == [
        list(range(1, 21)),
        list(range(21, 26)),
    ]


@pytest.mark.parametrize("kind", COMMANDS)
async def test_commands_go_alone_and_keep_their_place_among_messages(inbox, kind):
    claim = await claimed(
        inbox, entry(1), entry(2, kind=kind), entry(3, kind=kind), entry(4), entry(5)
    )

    assert [ids(batch) for batch in await handled(inbox, claim)] == [[1], [2], [3], [4, 5]]


async def test_after_a_crash_one_message_goes_at_a_time(inbox):
    """The one that breaks the process can be told from the rest; and what comes after it begins
    with its first try.
    """
    claim = await claimed(inbox, entry(1), entry(2), entry(3))
    batch = await inbox.next(replace(claim, tries=2, is_retry=True))
    going_on = await inbox.finish(batch, "done")

    assert ids(batch) == [1]
    assert (going_on.tries, going_on.is_retry) == (1, True)
    assert await ids_of_next(inbox, going_on) == [2, 3]


async def test_what_is_finished_is_gone(inbox):
    claim = await claimed(inbox, entry(1))
    claim = await inbox.finish(await inbox.next(claim), "done")

    assert await inbox.next(claim) is None


# ---------------------------------------------------------------------------------------- gathering

YOUNG = timedelta(seconds=1.2)


async def test_a_batch_is_early_while_its_last_message_gathers_and_is_young(inbox, clock):
    claim = await claimed(inbox, entry(1, at=clock.now()))
    clock.advance(timedelta(seconds=10))
    await inbox.put(entry(2, at=clock.now(), gathers=True))

    assert (await inbox.next(claim)).early == pytest.approx(1.2)
    clock.advance(timedelta(seconds=0.9))
    assert (await inbox.next(claim)).early == pytest.approx(0.3)
    clock.advance(timedelta(seconds=0.3))
    assert ((await inbox.next(claim)).early, await ids_of_next(inbox, claim)) == (0, [1, 2])
    clock.advance(timedelta(seconds=60))
    assert (await inbox.next(claim)).early == 0


async def test_a_burst_is_one_batch_in_the_order_sent(inbox, clock):
    """C19: a short message, a long one in two parts, a short one: none overtakes while the parts
    are gathered.
    """
    burst = [
        replace(entry(number, gathers=number in {2, 3}), received_at=clock.now())
        for number in range(1, 5)
    ]
    claim = await claimed(inbox, *burst[:3])
    assert (await inbox.next(claim)).early > 0
    await inbox.put(burst[3])
    batch = await inbox.next(claim)

    assert (ids(batch), batch.early) == ([1, 2, 3, 4], 0)


@pytest.mark.parametrize(
    "entries",
    [
        [entry(1), entry(2)],
        [entry(1), entry(2, gathers=True), entry(3)],
        [entry(1), entry(2, gathers=True), entry(3, kind="command")],
        [entry(update_id, gathers=update_id == 20) for update_id in range(1, 21)],
    ],
    ids=["none gathers", "the last does not gather", "a command follows", "the batch is full"],
)
async def test_nothing_is_waited_for_in_vain(inbox, clock, entries):
    claim = await claimed(
        inbox, *(replace(waiting, received_at=clock.now()) for waiting in entries)
    )

    assert (await inbox.next(claim)).early == 0


# -------------------------------------------------------------------------------------------- edits


def worded(update_id, words, lane=ANNA):
    waiting = entry(update_id, lane)
    message = {"message_id": 10 * update_id, "text": words}
    return replace(waiting, update={**waiting.update, "message": message})


def edit(update_id, message_id, words, lane=ANNA, *, edited=0):
    message = {"message_id": message_id, "text": words, "edit_date": edited}
    made = entry(update_id, lane, "edit")
    return replace(made, update={**made.update, "message": message})


def texts(batch):
    return [waiting.update["message"]["text"] for waiting in batch.entries]


async def test_an_edit_replaces_a_message_that_waits_and_no_other(inbox):
    await inbox.put(worded(3, "theirs", BORIS))
    claim = await claimed(inbox, worded(1, "wrong"), worded(2, "other"))
    while claim.lane != ANNA.id:
        claim = await inbox.claim(())
    await inbox.revise(edit(4, 10, "right"))
    await inbox.revise(edit(5, 30, "not hers"))
    await inbox.revise(edit(6, 99, "unknown"))
    found = await inbox.next(claim)
    assert texts(found) == ["right", "other"]
    assert ids(found) == [1, 2]


async def test_an_edit_of_what_was_answered_changes_nothing(inbox):
    assert len(await handled(inbox, await claimed(inbox, worded(1, "asked")))) == 1
    await inbox.revise(edit(2, 10, "corrected"))
    assert await inbox.claim(()) is None


async def test_two_edits_of_one_poll_keep_the_words_of_the_later(inbox):
    """Both are put before either is told: the earlier one must not overwrite the later entry."""
    edits = [edit(2, 10, "touched"), edit(3, 10, "corrected")]
    claim = await claimed(inbox, worded(1, "asked"), *edits)
    await inbox.revise(edits[0])
    assert texts(await inbox.next(claim)) == ["touched"]
    claim = await inbox.finish(await inbox.next(claim), "done")
    claim = await inbox.finish(await inbox.next(claim), "done")
    assert texts(await inbox.next(claim)) == ["corrected"]


async def test_edits_that_arrive_in_the_wrong_order_leave_the_later_words(inbox):
    """Several connections deliver to a webhook, and the later edit may overtake the earlier."""
    claim = await claimed(inbox, worded(1, "asked"))
    await inbox.revise(edit(3, 10, "third", edited=30))
    await inbox.revise(edit(2, 10, "second", edited=20))
    assert texts(await inbox.next(claim)) == ["third"]


# --------------------------------------------------------------------------------------- cancelling


async def test_a_cancelling_command_is_told_to_the_lane_it_stands_in_and_to_no_other(inbox):
    await claimed(inbox, entry(1, ANNA))
    await claimed(inbox, entry(2, BORIS))
    assert not await inbox.cancelled([ANNA.id, BORIS.id])
    await inbox.put(new(3, ANNA))

    assert dict(await inbox.cancelled([ANNA.id, BORIS.id])) == {ANNA.id: 3}
    assert not await inbox.cancelled([BORIS.id])
    assert not await inbox.cancelled([])


async def test_a_turn_that_is_stopped_leaves_what_waits_behind_it_alone(inbox):
    claim = await claimed(inbox, entry(1))
    running = await inbox.next(claim)
    await inbox.put(entry(2))
    await inbox.stop(ANNA, 1)
    await inbox.stop(BORIS, 1)

    [(lane, before)] = (await inbox.cancelled([ANNA.id, BORIS.id])).items()
    assert (lane, running.turn < before, before <= 2) == (ANNA.id, True, True)
    claim = await inbox.finish(running, "done")
    behind = await inbox.next(claim)
    assert (ids(behind), behind.overtaken) == ([2], False)


async def test_who_leaves_a_chat_leaves_all_its_topics_and_no_other_chat(inbox):
    topic, group = Lane(ANNA.owner, Place(1, 55)), Lane(ANNA.owner, Place(-5))
    lanes = {lane.id for lane in (ANNA, topic, group, BORIS)}
    for number, lane in enumerate((ANNA, topic, group, BORIS), start=1):
        await claimed(inbox, entry(number, lane))
    await inbox.stop(ANNA, 9, in_all_topics=True)
    assert dict(await inbox.cancelled(lanes)) == {ANNA.id: 10, topic.id: 10}


async def test_a_late_stop_takes_back_no_command(inbox):
    await claimed(inbox, entry(1), new(3))
    await inbox.stop(ANNA, 1)
    assert dict(await inbox.cancelled([ANNA.id])) == {ANNA.id: 3}


async def test_the_preview_of_a_turn_is_known_to_its_next_run(inbox):
    claim = await claimed(inbox, entry(1), entry(2))
    record = inbox.record(await inbox.next(claim))
    assert not record.previews(1)
    await record.previewed(1, 55)
    await record.previewed(1, 55, 56)
    for known in (record, inbox.record(await inbox.next(claim))):
        assert (tuple(known.previews(1)), tuple(known.previews(2))) == ((55, 56), ())
    await record.previewed(1)
    assert not inbox.record(await inbox.next(claim)).previews(1)


async def test_what_was_spoken_is_known_to_the_next_run(inbox):
    """C149."""
    claim = await claimed(inbox, entry(1), entry(2))
    record = inbox.record(await inbox.next(claim))
    assert record.transcript("voice") is None
    await record.transcribed(2, "voice", "Hello")
    for known in (record, inbox.record(await inbox.next(claim))):
        assert (known.transcript("voice"), known.transcript("other")) == ("Hello", None)


async def test_messages_before_a_cancelling_command_are_overtaken_and_those_after_it_are_not(inbox):
    claim = await claimed(inbox, entry(1), entry(2), new(3), entry(4))
    seen = [(ids(batch), batch.overtaken) for batch in await handled(inbox, claim)]

    assert seen == [([1, 2], True), ([3], False), ([4], False)]
    assert not await inbox.cancelled([ANNA.id])


async def test_other_commands_before_a_cancelling_one_are_carried_out(inbox):
    """Only messages are overtaken, never commands."""
    claim = await claimed(inbox, entry(1), entry(2, kind="command"), entry(3), new(4))
    seen = [(ids(batch), batch.overtaken) for batch in await handled(inbox, claim)]

    assert seen == [([1], True), ([2], False), ([3], True), ([4], False)]


async def test_the_last_of_two_cancelling_commands_decides(inbox):
    claim = await claimed(inbox, new(1), entry(2))
    await inbox.put(new(3))
    await inbox.put(entry(4))
    assert dict(await inbox.cancelled([ANNA.id])) == {ANNA.id: 3}
    seen = [(ids(batch), batch.overtaken) for batch in await handled(inbox, claim)]

    assert seen == [([1], False), ([2], True), ([3], False), ([4], False)]


async def test_an_earlier_command_that_comes_later_takes_nothing_back(inbox):
    claim = await claimed(inbox, new(5), new(3))
    assert dict(await inbox.cancelled([ANNA.id])) == {ANNA.id: 5}
    await inbox.finish(await inbox.next(claim), "done")

    assert dict(await inbox.cancelled([ANNA.id])) == {ANNA.id: 5}


async def test_a_cancelling_command_that_comes_again_cancels_nothing(inbox):
    await handled(inbox, await claimed(inbox, new(3)))
    await claimed(inbox, entry(4))
    await inbox.put(new(3))

    assert not await inbox.cancelled([ANNA.id])


# -------------------------------------------------------------------------------------- giving back


async def test_a_lane_that_was_handed_back_is_claimed_again_with_its_entries(inbox):
    """It was no try, and no crash."""
    claim = await claimed(inbox, entry(1), entry(2))
    await inbox.next(claim)
    await inbox.hand_back(claim)
    again = await inbox.claim(())

    assert again.fence > claim.fence
    assert (again.lane, again.tries, again.is_retry) == (ANNA.id, 1, False)
    assert await ids_of_next(inbox, again) == [1, 2]


async def test_a_lane_that_was_handed_back_for_a_while_is_claimed_when_that_is_over(inbox):
    """What comes meanwhile does not end the wait: Telegram asked for it."""
    claim = await claimed(inbox, entry(1))
    await inbox.hand_back(claim, 1.0)
    await inbox.put(entry(2))
    assert await inbox.claim(()) is None

    again = await eventually_claimed(inbox)
    assert again.fence > claim.fence
    assert await ids_of_next(inbox, again) == [1, 2]


async def test_a_lane_that_is_handed_back_does_not_starve_the_others(inbox):
    claim = await claimed(inbox, entry(1, ANNA))
    await inbox.put(entry(2, ANNA))
    await inbox.put(entry(3, BORIS))
    await inbox.hand_back(claim)

    assert (await inbox.claim(())).lane == BORIS.id


async def test_a_lane_in_which_nothing_waits_is_given_back_for_good(inbox):
    claim = await claimed(inbox, entry(1))
    claim = await inbox.finish(await inbox.next(claim), "done")

    assert await inbox.release(claim) is None
    assert await inbox.claim(()) is None
    again = await claimed(inbox, entry(2))
    assert again.fence > claim.fence


async def test_what_arrives_before_the_release_is_gone_on_with(inbox):
    claim = await claimed(inbox, entry(1))
    claim = await inbox.finish(await inbox.next(claim), "done")
    assert await inbox.next(claim) is None
    await inbox.put(entry(2))
    going_on = await inbox.release(claim)

    assert await inbox.claim(()) is None
    assert [ids(batch) for batch in await handled(inbox, going_on)] == [[2]]


async def test_a_release_ends_what_was_told_to_the_lane(inbox):
    await handled(inbox, await claimed(inbox, entry(1), new(2)))
    await claimed(inbox, entry(3))

    assert not await inbox.cancelled([ANNA.id])


# --------------------------------------------------------------------------------- what is recorded


async def handed_on(inbox, claim):
    """What the next holder of the lane is given."""
    await inbox.hand_back(claim)
    return await inbox.next(await inbox.claim(()))


async def test_parts_that_were_sent_are_known_to_the_next_holder(inbox):
    """Also the one of which nobody knows whether it arrived: it takes its place among them."""
    claim = await claimed(inbox, entry(1), entry(2))
    record = inbox.record(await inbox.next(claim))
    record.require_lease()
    assert record.parts_sent(1) == 0
    await record.part_sent(1, 501)
    await record.part_sent(1, None)
    assert record.parts_sent(1) == 2

    later = inbox.record(await handed_on(inbox, claim))
    assert (later.parts_sent(1), later.parts_sent(2)) == (2, 0)
    await later.part_sent(1, 503)
    assert later.parts_sent(1) == 3


async def test_an_answer_nobody_can_vouch_for_is_known_to_the_lane_until_it_was_offered_again(
    inbox,
):
    """To the next run of the same holder, to the next holder, and after the lane was empty; to no
    other lane.
    """
    claim = await claimed(inbox, entry(1))
    batch = await inbox.next(claim)
    assert inbox.record(batch).uncertain() is None
    await inbox.record(batch).mark_uncertain(1)
    assert inbox.record(batch).uncertain() == 1
    await inbox.release(await inbox.finish(batch, "done"))

    claim = await claimed(inbox, entry(2))
    assert inbox.record(await inbox.next(claim)).uncertain() == 1
    assert inbox.record(await inbox.next(await claimed(inbox, entry(3, BORIS)))).uncertain() is None
    batch = await handed_on(inbox, claim)
    await inbox.record(batch).mark_uncertain(None)
    assert inbox.record(batch).uncertain() is None
    await inbox.release(await inbox.finish(batch, "done"))

    claim = await claimed(inbox, entry(4))
    assert inbox.record(await inbox.next(claim)).uncertain() is None


async def test_an_effect_begins_once_whoever_holds_the_lane(inbox):
    claim = await claimed(inbox, entry(1), entry(2))
    record = inbox.record(await inbox.next(claim))
    assert await record.effect_begins(1, "send", "hash")
    assert not await record.effect_begins(1, "send", "hash")
    assert await record.effect_begins(1, "send", "other")
    assert await record.effect_begins(1, "order", "hash")

    later = inbox.record(await handed_on(inbox, claim))
    assert not await later.effect_begins(1, "send", "hash")
    assert not await later.effect_begins(1, "order", "hash")
    assert await later.effect_begins(2, "send", "hash")


async def test_a_lane_whose_person_was_not_there_is_known_until_something_in_it_is_answered(inbox):
    for number, state in enumerate(["refused", "refused", "done"], start=1):
        claim = await claimed(inbox, entry(number))
        assert claim.unreachable == (number > 1)
        going_on = await inbox.finish(await inbox.next(claim), state)
        assert going_on.unreachable == (state == "refused")
        await inbox.release(going_on)
    assert not (await claimed(inbox, entry(9))).unreachable


async def test_what_an_effect_came_to_is_known_to_every_later_run(inbox):
    """C146: and a call that was recorded with its result is not begun again."""
    claim = await claimed(inbox, entry(1), entry(2))
    record = inbox.record(await inbox.next(claim))
    await record.effect_begins(1, "send", "hash")
    await record.effect_begins(1, "order", "hash")
    await record.effect_ended(1, "send", "hash", "Sent.")

    later = inbox.record(await handed_on(inbox, claim))
    assert await later.effects(1) == [Effect("send", "hash", "Sent."), Effect("order", "hash")]
    assert not await later.effect_begins(1, "send", "hash")
    assert await later.effects(2) == []


async def test_what_a_failed_turn_did_is_told_to_the_next_turn_of_its_lane_until_that_has_seen_it(
    inbox,
):
    """C146: to nobody else."""
    claim = await claimed(inbox, entry(1))
    batch = await inbox.next(claim)
    record = inbox.record(batch)
    assert list(await record.unseen_effects(NOON - timedelta(days=1))) == []
    await record.effect_begins(1, "send", "hash")
    await record.effect_ended(1, "send", "hash", "Sent.")
    await record.keep_effects(1)
    await inbox.release(await inbox.finish(batch, "failed"))

    boris = inbox.record(await inbox.next(await claimed(inbox, entry(2, BORIS))))
    assert list(await boris.unseen_effects(NOON - timedelta(days=1))) == []
    for seen in (False, True):
        claim = await claimed(inbox, entry(4 + seen))
        batch = await inbox.next(claim)
        record = inbox.record(batch)
        assert await record.unseen_effects(NOON - timedelta(days=1)) == [
            Effect("send", "hash", "Sent.")
        ]
        if seen:
            await record.effects_seen()
            assert list(await record.unseen_effects(NOON - timedelta(days=1))) == []
        await inbox.release(await inbox.finish(batch, "done"))
    claim = await claimed(inbox, entry(9))
    assert (
        list(await inbox.record(await inbox.next(claim)).unseen_effects(NOON - timedelta(days=1)))
        == []
    )
