"""A turn that takes the place of the last one, in every store; and the edits that wait for a word,
in MongoDB.
"""

from __future__ import annotations

import asyncio

import pytest

from bot.content import words
from bot.errors import SessionGone
from bot.owner import Lane, Owner, Place
from bot.ports import Correction, Entry
from bot.session import CompactionState, Summary
from bot.store.mongo.corrections import MongoCorrections
from bot.store.mongo.inbox import MongoInbox
from bot.store.mongo.queries import LeaseOwner
from tests.builders import (
    ANNA,
    ANNAS_CHAT,
    BORIS,
    LIFETIME,
    NOON,
    closed_turn,
    dialogue,
    session,
    text,
)

HERS = Lane(Owner(1), Place(1))
THEIRS = Lane(Owner(2), Place(2))


@pytest.fixture
async def sessions(stores):
    await stores.sessions.create(
        ANNA, session(messages=dialogue(3), title="words", turns=(1, 2, 3))
    )
    return stores.sessions


async def load(sessions):
    return await sessions.load(ANNA, ANNAS_CHAT, at=NOON, now=NOON, lifetime=LIFETIME)


async def before(sessions, turn=3):
    found = (await load(sessions)).before(turn)
    assert found is not None
    return found


# -------------------------------------------------------------------------- the commit in its place


async def test_the_new_turn_stands_where_the_old_one_stood(sessions):
    """C103: the old messages go in the same update that brings the new ones; the seqs have no
    hole.
    """
    made = await before(sessions)
    await sessions.commit(ANNA, made, closed_turn(made, 9, "corrected", "better", replaces=3))
    found = await load(sessions)
    assert found == made
    assert [(message.seq, words(message.content)) for message in found.messages[4:]] == [
        (4, "corrected"),
        (5, "better"),
    ]
    assert (found.next_seq, found.revision, found.turns) == (6, 1, (1, 2, 3, 9))


async def test_a_shorter_or_longer_turn_leaves_no_hole_either(sessions):
    made = await before(sessions)
    one = closed_turn(made, 9, replaces=3)
    await sessions.commit(ANNA, made, closed_turn(made, 9, replaces=3, messages=one.messages[:1]))
    assert [message.seq for message in (await load(sessions)).messages] == [0, 1, 2, 3, 4]
    made = await before(sessions, 9)
    await sessions.commit(ANNA, made, closed_turn(made, 10, replaces=9))
    found = await load(sessions)
    assert ([message.seq for message in found.messages], found.next_seq) == ([0, 1, 2, 3, 4, 5], 6)


async def test_only_the_last_turn_can_be_taken_out(sessions):
    assert (await load(sessions)).before(2) is None
    made = await before(sessions)
    later = await load(sessions)
    await sessions.commit(ANNA, later, closed_turn(later, 8))
    with pytest.raises(SessionGone):
        await sessions.commit(ANNA, made, closed_turn(made, 9, replaces=3))
    assert await load(sessions) == later


async def test_a_compaction_in_between_makes_it_miss(sessions):
    """Setting the messages as a whole must not bring back what was archived."""
    made = await before(sessions)
    summary = Summary("They talked.", 1, 1, 5, "small", NOON)
    assert await sessions.replace_summary(ANNA, await load(sessions), summary, CompactionState())
    with pytest.raises(SessionGone):
        await sessions.commit(ANNA, made, closed_turn(made, 9, replaces=3))
    made = await before(sessions)
    await sessions.commit(ANNA, made, closed_turn(made, 9, replaces=3))
    assert [message.seq for message in (await load(sessions)).messages] == [2, 3, 4, 5]


async def test_nobody_takes_a_turn_out_of_another_ones_session(sessions):
    made = await before(sessions)
    with pytest.raises(SessionGone):
        await sessions.commit(BORIS, made, closed_turn(made, 9, replaces=3))
    assert (await load(sessions)).turns == (1, 2, 3)


# ---------------------------------------------------------------------------------- edits that wait


class CommandDependencies:
    """A lane's holder, and what its person corrects."""

    def __init__(self, store, clock):
        self.inbox = MongoInbox(store.database, store.calls, clock, LeaseOwner("here", 15))
        self.corrections = MongoCorrections(store.database, store.calls)

    async def handles(self, *entries, state="done"):
        await self.inbox.put(*entries)
        claim = await self.inbox.claim(())
        assert claim is not None
        batch = await self.inbox.next(claim)
        assert batch is not None
        await self.inbox.release(await self.inbox.finish(batch, state))


def entry(update_id, message_id, kind="content"):
    return Entry(update_id, HERS, kind, {"message": {"message_id": message_id}}, NOON)


@pytest.fixture
def needs(store, clock):
    return CommandDependencies(store, clock)


async def test_a_message_is_known_by_its_turn_and_its_place_in_the_question(needs):
    await needs.handles(entry(1, 10))
    await needs.handles(entry(2, 20), entry(3, 30))
    await needs.handles(entry(4, 40), state="failed")
    found = [await needs.corrections.of(HERS, message_id) for message_id in (10, 20, 30, 40, 99)]
    assert found == [Correction(1), Correction(2, 0, 2), Correction(2, 1, 2), None, None]
    assert await needs.corrections.of(THEIRS, 10) is None


async def test_what_was_corrected_once_keeps_its_place(needs):
    """The turn that answered it anew has one entry, and still the words of two messages."""
    await needs.handles(entry(2, 20), entry(3, 30))
    await needs.handles(entry(4, 30, "edit"), state="offered")
    assert await needs.corrections.answer_again(HERS, 4, Correction(2, 1, 2))
    await needs.handles(entry(5, 50, "command"))
    assert await needs.corrections.of(HERS, 30) == Correction(4, 1, 2)


@pytest.mark.parametrize(
    ("correction", "asked", "now", "whole"),
    [
        (Correction(1), ["one", "two"], ["ONE"], ["ONE"]),
        (Correction(1, 1, 2), ["one", "two"], ["TWO"], ["one", "TWO"]),
        (Correction(1, 0, 2), ["onetwo"], ["ONE"], None),
        (Correction(1, 0, 2), ["one", "two"], ["> quoted", "ONE"], None),
        (Correction(1, 2, 2), ["one", "two"], ["THREE"], None),
    ],
    ids=["all of it", "one of two", "pieces of a paste", "more than words", "forged"],
)
def test_what_stays_of_a_question_is_known_or_nothing_is_done(correction, asked, now, whole):
    applied = correction.applied([*map(text, asked)], [*map(text, now)])
    assert (applied and [block["text"] for block in applied]) == whole


async def test_an_edit_is_on_offer_once(needs, commands, mongo_client):
    await needs.handles(entry(1, 10))
    await needs.handles(entry(2, 10, "edit"), state="offered")
    commands.forget()
    commands.explain = mongo_client
    assert await needs.corrections.of(HERS, 10) is None
    assert not await needs.corrections.answer_again(THEIRS, 2, Correction(1))
    assert not await needs.corrections.answer_again(HERS, 1, Correction(1))
    assert not await needs.corrections.drop(THEIRS, 2)
    taken = await asyncio.gather(
        *(needs.corrections.answer_again(HERS, 2, Correction(1)) for _ in range(5))
    )
    assert sorted(taken) == [False] * 4 + [True]
    assert [plan for plan in commands.plans if not plan.is_indexed] == []
    await needs.inbox.put(entry(3, 30))
    batch = await needs.inbox.next(await needs.inbox.claim(()))
    assert [(waiting.id, waiting.kind, waiting.replaces) for waiting in batch.entries] == [
        (2, "content", Correction(1))
    ]


async def test_an_offer_that_came_to_nothing_is_taken_back_and_its_words_with_it(needs):
    await needs.handles(entry(1, 10))
    await needs.handles(entry(2, 10, "edit"), state="offered")
    assert await needs.corrections.drop(HERS, 2)
    assert not await needs.corrections.drop(HERS, 2)
    assert not await needs.corrections.answer_again(HERS, 2, Correction(1))
    assert "update" not in await needs.corrections.database["inbox"].find_one({"_id": 2})
