"""The Dialogues port on every backend: a person's own list, and what may be done with one of it."""

from __future__ import annotations

from datetime import timedelta

import pytest

from bot.errors import SessionGone
from bot.owner import Place
from bot.ports import Cursor
from bot.session import Lifetime
from bot.store.documents import from_session
from tests.builders import (
    ANNA,
    ANNAS_CHAT,
    BORIS,
    BORIS_CHAT,
    GROUP,
    NOON,
    closed_turn,
    dialogue,
    session,
)

IDLE, AGE, RESUME = timedelta(minutes=30), timedelta(days=30), timedelta(days=7)
LIFETIME = Lifetime(IDLE, AGE, RESUME)
ALIVE = LIFETIME.at(NOON)
TICK = timedelta(milliseconds=1)
TOPIC = Place(ANNAS_CHAT.chat_id, 5)
IRRELEVANT = {"lsid", "txnNumber", "$clusterTime", "$db", "$readPreference"}


def name(number: int) -> str:
    return f"{number:032x}"


async def keep(stores, number, owner=ANNA, place=ANNAS_CHAT, *, ago=timedelta(0), **changes):
    """Store one with two turns in it, last active so long before NOON."""
    values = {
        "status": "closed",
        "title": f"talk {number}",
        "messages": dialogue(2),
        "created_at": NOON - ago,
        "last_active": NOON - ago,
    }
    await stores.sessions.create(owner, session(name(number), owner, place, **values | changes))


async def shown(stores, owner=ANNA, place=ANNAS_CHAT, cursor=None, alive=ALIVE):
    return await stores.dialogues.page(owner, place, alive, cursor)


def numbers(page):
    return [int(row.id, 16) for row in page.rows]


def behind(page):
    last = page.rows[-1]
    return Cursor(last.last_active, last.id[:8])


def above(page):
    first = page.rows[0]
    return Cursor(first.last_active, first.id[:8], newer=True)


def scattered(number: int) -> int:
    """Ids are random; only their order among equal dates is fixed."""
    return (number * 2654435761) % 2**32 << 96


@pytest.mark.parametrize("step", [timedelta(seconds=1), timedelta(0)], ids=["apart", "at_once"])
async def test_pages_show_each_dialogue_once_forwards_and_back(stores, step):
    """Also where many were active in the same millisecond, as on a clock that stands still."""
    for number in range(1, 21):
        await keep(stores, scattered(number), ago=number * step)
    seen, page = [], await shown(stores)
    forwards = [page]
    while page.has_older:
        page = await shown(stores, cursor=behind(page))
        forwards.append(page)
    seen = [number for one in forwards for number in numbers(one)]
    order = sorted(seen, reverse=True) if not step else [scattered(n) for n in range(1, 21)]
    assert (seen, [len(one.rows) for one in forwards]) == (order, [8, 8, 4])
    assert [one.has_newer for one in forwards] == [False, True, True]

    back = await shown(stores, cursor=above(page))
    assert (numbers(back), back.has_newer, back.has_older) == (numbers(forwards[1]), True, True)
    first = await shown(stores, cursor=above(back))
    assert (numbers(first), first.has_newer) == (numbers(forwards[0]), False)


async def test_a_row_says_what_a_list_shows(stores):
    await keep(stores, 1, title="Lisbon", ago=timedelta(days=2), last_active=NOON)
    [row] = (await shown(stores)).rows
    assert (row.id, row.title, row.status, row.place) == (name(1), "Lisbon", "closed", ANNAS_CHAT)
    assert (row.created_at, row.last_active, row.messages) == (NOON - timedelta(days=2), NOON, 4)


async def test_what_is_over_and_what_is_empty_is_not_listed(stores):
    await keep(stores, 1, status="active", ago=IDLE)
    await keep(stores, 2, ago=IDLE + RESUME)
    await keep(stores, 3, ago=IDLE + RESUME + TICK)
    await keep(stores, 4, ago=AGE + TICK, last_active=NOON)
    await keep(stores, 5, place=TOPIC, status="active", ago=IDLE + TICK)
    await stores.sessions.create(ANNA, session(name(6), place=GROUP))
    assert numbers(await shown(stores)) == [1, 2]
    for number in (3, 4, 5):
        assert await stores.dialogues.find(ANNA, ANNAS_CHAT, name(number), ALIVE) is None


async def test_a_group_sees_its_own_place_only_and_nobody_sees_anothers(stores):
    await keep(stores, 1)
    await keep(stores, 2, place=GROUP, ago=TICK)
    await keep(stores, 3, place=Place(GROUP.chat_id, 7), ago=2 * TICK)
    await keep(stores, 4, BORIS, BORIS_CHAT)
    await keep(stores, 5, BORIS, GROUP)
    assert numbers(await shown(stores)) == [1, 2, 3]
    assert numbers(await shown(stores, place=GROUP)) == [2]
    assert numbers(await shown(stores, BORIS, GROUP)) == [5]


@pytest.mark.parametrize("operation", ["find", "activate", "rename", "erase"])
async def test_foreign_unknown_over_and_malformed_ids_are_the_same_nothing(stores, operation):
    """And whatever is active stays so."""
    await keep(stores, 1, BORIS, BORIS_CHAT)
    await keep(stores, 2, ago=AGE + TICK, last_active=NOON)
    await keep(stores, 3, place=ANNAS_CHAT)
    await keep(stores, 4, place=GROUP, status="active")
    more = ("stolen",) if operation == "rename" else ()
    method = getattr(stores.dialogues, operation)
    for wanted in (name(1), name(2), name(3), name(9), "", "$ne", "0" * 31, "x" * 64):
        assert not await method(ANNA, GROUP, wanted, *more, ALIVE)
    with pytest.raises(TypeError):
        await method(ANNA, GROUP, {"$ne": ""}, *more, ALIVE)
    with pytest.raises(TypeError):
        await method(ANNA.id, GROUP, name(4), *more, ALIVE)
    assert [row.title for row in (await shown(stores)).rows] == ["talk 4", "talk 3"]
    assert (await stores.sessions.inspect(ANNA, GROUP)).id == name(4)
    assert (await shown(stores, BORIS, BORIS_CHAT)).rows


async def test_opening_closes_the_active_one_and_does_nothing_a_second_time(stores):
    await keep(stores, 1, ago=timedelta(days=3))
    await keep(stores, 2, status="active")
    opened = await stores.dialogues.activate(ANNA, ANNAS_CHAT, name(1), ALIVE)
    assert (opened.id, opened.status, opened.last_active) == (name(1), "active", NOON)
    assert [row.status for row in (await shown(stores)).rows] == ["closed", "active"]
    assert await stores.dialogues.activate(ANNA, ANNAS_CHAT, name(1), ALIVE) == opened
    found = await stores.sessions.load(ANNA, ANNAS_CHAT, at=NOON, now=NOON, lifetime=LIFETIME)
    assert found == opened


async def test_a_crash_between_closing_and_opening_is_completed_by_the_next_try(stores):
    await keep(stores, 1, ago=TICK)
    await keep(stores, 2, status="active")
    await stores.sessions.close(ANNA, ANNAS_CHAT)
    assert await stores.dialogues.activate(ANNA, ANNAS_CHAT, name(1), ALIVE)
    assert (await stores.sessions.inspect(ANNA, ANNAS_CHAT)).id == name(1)


async def test_a_turn_that_ran_in_what_was_closed_cannot_commit(stores):
    """Nor one that ran in another topic, from which the dialogue was taken away."""
    await keep(stores, 1, ago=TICK)
    await keep(stores, 2, status="active")
    running = await stores.sessions.inspect(ANNA, ANNAS_CHAT)
    await stores.dialogues.activate(ANNA, ANNAS_CHAT, name(1), ALIVE)
    with pytest.raises(SessionGone):
        await stores.sessions.commit(ANNA, running, closed_turn(running, 9))

    running = await stores.sessions.inspect(ANNA, ANNAS_CHAT)
    moved = await stores.dialogues.activate(ANNA, TOPIC, name(1), ALIVE)
    assert (moved.place, await stores.sessions.inspect(ANNA, ANNAS_CHAT)) == (TOPIC, None)
    with pytest.raises(SessionGone):
        await stores.sessions.commit(ANNA, running, closed_turn(running, 9))


async def test_the_previous_one_is_the_latest_closed_in_exactly_this_place(stores):
    await keep(stores, 1, ago=timedelta(hours=3))
    await keep(stores, 2, ago=timedelta(hours=2))
    await keep(stores, 3, place=TOPIC)
    await keep(stores, 4, status="active")
    await keep(stores, 5, BORIS, BORIS_CHAT)
    await keep(stores, 6, messages=[])
    assert (await stores.dialogues.previous(ANNA, ANNAS_CHAT, ALIVE)).id == name(2)
    assert (await stores.dialogues.previous(ANNA, TOPIC, ALIVE)).id == name(3)
    assert await stores.dialogues.previous(ANNA, GROUP, ALIVE) is None
    late = LIFETIME.at(NOON + IDLE + RESUME)
    assert await stores.dialogues.previous(ANNA, ANNAS_CHAT, late) is None


async def test_a_new_title_moves_nothing_else(stores):
    await keep(stores, 1, status="active")
    before = await stores.sessions.inspect(ANNA, ANNAS_CHAT)
    assert await stores.dialogues.rename(ANNA, ANNAS_CHAT, name(1), "Лиссабон \ud800", ALIVE)
    after = await stores.sessions.inspect(ANNA, ANNAS_CHAT)
    assert after.title == "Лиссабон \ufffd"
    before.title = after.title
    assert after == before


async def test_erasing_takes_that_one_only_active_or_not(stores):
    await keep(stores, 1)
    await keep(stores, 2, status="active")
    assert await stores.dialogues.erase(ANNA, ANNAS_CHAT, name(2), ALIVE)
    assert not await stores.dialogues.erase(ANNA, ANNAS_CHAT, name(2), ALIVE)
    assert numbers(await shown(stores)) == [1]


async def crowd(store):
    """500 dialogues of Anna in private, a few in the group, and those of others."""
    made = [
        session(
            name(number),
            place=GROUP if number % 100 == 0 else Place(ANNAS_CHAT.chat_id, number % 3 or None),
            status="active" if number <= 3 else "closed",
            created_at=NOON - timedelta(minutes=number),
            last_active=NOON - timedelta(minutes=number),
            messages=dialogue(1),
            title="talk",
        )
        for number in range(1, 501)
    ]
    await store.database["sessions"].insert_many([from_session(one) for one in made])
    for number in range(40):
        await store.sessions.create(BORIS, session(name(900 + number), BORIS, status="closed"))


@pytest.mark.parametrize("place", [ANNAS_CHAT, GROUP], ids=["private", "group"])
@pytest.mark.parametrize("minutes", [None, 5, 250, 490], ids=["first", "early", "middle", "last"])
@pytest.mark.parametrize("newer", [False, True], ids=["older", "newer"])
async def test_a_page_of_five_hundred_examines_hardly_more_than_it_shows(
    store, commands, mongo_client, place, minutes, newer
):
    await crowd(store)
    commands.sent.clear()
    at = None if minutes is None else NOON - timedelta(minutes=minutes)
    cursor = None if at is None else Cursor(at, name(minutes)[:8], newer=newer)
    page = await store.dialogues.page(ANNA, place, ALIVE, cursor)
    sent = commands.on(store.database.name, "sessions")
    assert len(sent) == 1
    stats = explained(mongo_client[store.database.name], sent[0][1])
    bound = len(page.rows) + 20
    assert (stats["totalDocsExamined"] <= bound, stats["totalKeysExamined"] <= bound) == (
        True,
        True,
    ), stats


async def test_opening_one_of_five_hundred_is_three_commands_on_an_index(
    store, commands, mongo_client
):
    await crowd(store)
    commands.sent.clear()
    assert await store.dialogues.activate(ANNA, ANNAS_CHAT, name(250), ALIVE)
    sent = commands.on(store.database.name, "sessions")
    assert len(sent) == 3
    await store.dialogues.previous(ANNA, ANNAS_CHAT, ALIVE)
    for _, command in commands.on(store.database.name, "sessions"):
        assert explained(mongo_client[store.database.name], command)["totalDocsExamined"] <= 4


def explained(database, command):
    """How the server runs this command; never by scanning a collection."""
    plain = {key: value for key, value in command.items() if key not in IRRELEVANT}
    plan = database.command("explain", plain, verbosity="executionStats")
    assert "COLLSCAN" not in str(plan["queryPlanner"]["winningPlan"])
    assert "'SORT'" not in str(plan["queryPlanner"]["winningPlan"])
    return plan["executionStats"]
