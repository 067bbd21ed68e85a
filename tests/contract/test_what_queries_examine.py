"""Queries off the hot path look at what they return, however much of others lies beside it."""

from __future__ import annotations

from datetime import timedelta

import pytest

from bot.owner import Lane, Owner, Place
from tests.builders import ANNA, ANNAS_CHAT, GROUP, LIFETIME, NOON, session

MANY = 300
MAX_EXAMINED = 20
LANE = Lane(ANNA, ANNAS_CHAT)
ALIVE = LIFETIME.at(NOON)


def entry(number, lane=LANE, state="done", **fields):
    return {
        "_id": number,
        "lane": lane.id,
        "ownerId": lane.owner.id,
        "kind": "content",
        "state": state,
        "receivedAt": NOON,
        "doneAt": NOON + timedelta(seconds=number),
        "turn": number,
        "message": number,
        "fence": 0,
        "sent": [],
        "effects": [],
        "update": {},
        **fields,
    }


@pytest.fixture
async def crowded(store):
    """Hundreds of Sessions and entries of the same person, and of others."""
    for number in range(MANY):
        place = Place(GROUP.chat_id - 1 - number)
        await store.sessions.create(
            ANNA, session(f"{number:032x}", place=place, turns=(number + 1000,))
        )
    inbox = store.database["inbox"]
    await inbox.insert_many([entry(number) for number in range(1, MANY)])
    others = [Lane(Owner(9000 + number), Place(9000 + number)) for number in range(MANY)]
    await inbox.insert_many([entry(1000 + n, lane) for n, lane in enumerate(others)])
    await inbox.insert_many([entry(5000 + n, state="failed") for n in range(MANY)])
    return store


def examined(commands):
    return max((plan.keys, plan.documents) for plan in commands.plans)


ASKED = {
    "recovery": lambda store: store.sessions.find_by_update_ids(ANNA, [1007]),
    "recovery in vain": lambda store: store.sessions.find_by_update_ids(ANNA, [7]),
    "what may be seen in a group": lambda store: store.sessions.seen_from(ANNA, GROUP, ALIVE),
    "an edit": lambda store: store.corrections.of(LANE, MANY - 3),
    "an edit of something old": lambda store: store.corrections.of(LANE, 2),
    "try again": lambda store: store.dead_letters.try_again(LANE, 5007),
    "a group that has moved": lambda store: store.sessions.inspect(ANNA, GROUP),
}


@pytest.mark.parametrize("asked", ASKED.values(), ids=ASKED)
async def test_it_examines_little(crowded, commands, mongo_client, asked):
    await crowded.chats.moved(GROUP.chat_id, -777)
    commands.forget()
    commands.explain = mongo_client
    await asked(crowded)
    assert commands.plans
    assert max(examined(commands)) <= MAX_EXAMINED + 1, commands.plans


async def test_the_list_of_dead_letters_examines_dead_letters_only(crowded, commands, mongo_client):
    commands.forget()
    commands.explain = mongo_client
    found = await crowded.dead_letters.latest()
    [plan] = commands.plans
    assert len(found) == plan.found == 200
    assert max(plan.keys, plan.documents) <= plan.found + 2


async def test_a_message_is_found_among_the_twenty_of_its_turn(store):
    turn = [entry(number, turn=10) for number in range(10, 30)]
    await store.database["inbox"].insert_many(turn)
    found = await store.corrections.of(LANE, 12)
    assert (found.turn, found.part, found.of) == (10, 2, 20)
