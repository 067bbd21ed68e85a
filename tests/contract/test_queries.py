"""Each query of the hot path is served by the index that its docstring names."""

from __future__ import annotations

import inspect
import re
from datetime import timedelta

import pytest

from bot.owner import Lane, Owner, Place
from bot.ports import Claim, Entry
from bot.store.mongo import queries
from bot.store.mongo.queries import LeaseOwner
from tests.builders import ANNA, ANNAS_CHAT, LIFETIME, NOON, closed_turn, session

HERE = LeaseOwner("here", 15)
LANE = Lane(ANNA, ANNAS_CHAT)
CLAIM = Claim(LANE.id, fence=2)
ENTRY = Entry(1, LANE, "content", {"update_id": 1}, NOON)
SORTED = {"claim": {"leaseUntil": 1}, "waiting": {"_id": 1}, "recover": {"lastActive": -1}}
ASKED = {
    "unfinished": ([1, 2],),
    "announce": (LANE.id, [ENTRY], NOON),
    "claim": (HERE, [], []),
    "take_back": (HERE, []),
    "keep": (HERE, [LANE.id]),
    "waiting": (CLAIM,),
    "load": (ANNA, ANNAS_CHAT, NOON, NOON, LIFETIME),
    "commit": (ANNA, session(), closed_turn(session())),
    "finish": (CLAIM, [1], "done", NOON),
    "release": (CLAIM,),
    "hand_back": (CLAIM, 0.0),
    "recover": (ANNA, [1], None),
}


def indexed():
    """The queries that say which index serves them, by name."""
    functions = dict(inspect.getmembers(queries, inspect.isfunction))
    said = {
        name: re.search(r"Index: `(\w+)\.(\w+)`", function.__doc__ or "")
        for name, function in functions.items()
    }
    return {name: found.groups() for name, found in said.items() if found}


@pytest.fixture
def crowded(store, mongo_client):
    """A database in which every other plan would have more to read."""
    database = mongo_client[store.database.name]
    people = range(1, 60)
    ends = [NOON - timedelta(seconds=number) for number in people]
    free = {"leaseBy": None, "fence": 0, "tries": 0, "arrivals": 1, "lastSeen": NOON}
    database["lanes"].insert_many(
        {"_id": f"{one}:{one}:", "ownerId": one, "ready": one % 9 == 0, "leaseUntil": end, **free}
        for one, end in zip(people, ends, strict=True)
    )
    entry = {"kind": "content", "receivedAt": NOON, "fence": 0, "sent": [], "effects": []}
    database["inbox"].insert_many(
        {"_id": one, "lane": f"{one % 7}:1:", "ownerId": one % 7, "state": "queued", **entry}
        for one in people
    )
    return database


async def test_all_queries_say_which_index_serves_them():
    assert indexed().keys() == ASKED.keys()


@pytest.mark.parametrize("name", ASKED)
async def test_a_query_is_served_by_the_index_it_names(name, store, crowded):
    for number in range(20):
        other = Owner(7000 + number)
        await store.sessions.create(other, session(f"{number:032x}", other, Place(other.id)))
        await store.sessions.create(ANNA, session(f"{number + 50:032x}", status="closed"))
    await store.sessions.create(ANNA, session())
    asked = getattr(queries, name)(*ASKED[name])
    where = asked if isinstance(asked, dict) else asked[0]
    collection, index = indexed()[name]
    find = {"find": collection, "filter": where, "sort": SORTED.get(name, {})}
    plan = crowded.command("explain", find, verbosity="queryPlanner")["queryPlanner"]

    assert stages(plan["winningPlan"]) == {index}


def stages(plan):
    """The indexes that a plan reads; IDHACK is the one on `_id`."""
    inner = [plan["inputStage"]] if "inputStage" in plan else plan.get("inputStages", [])
    own = {"IDHACK": "_id_", "COLLSCAN": "no index"}.get(plan["stage"], plan.get("indexName"))
    return {own} - {None} | {name for stage in inner for name in stages(stage)}
