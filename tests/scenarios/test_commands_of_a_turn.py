"""What a turn costs the database, and that every command of it names the Owner: recorded from the
whole running bot.
"""

from __future__ import annotations

import pytest

DRIVERS = ["motor", "pymongo"]
OWNED = {"sessions", "archive", "notes", "usage"}
A_TURN = [
    ("insert", "inbox"),  # accepted
    ("update", "lanes"),  # announced
    ("findAndModify", "lanes"),  # claimed
    ("find", "inbox"),  # read
    ("findAndModify", "sessions"),  # loaded
    ("update", "sessions"),  # committed
    ("update", "usage"),  # booked
    ("update", "inbox"),  # a part was sent
    ("update", "inbox"),  # finished
    ("find", "inbox"),  # nothing else waits
    ("update", "lanes"),  # given back
]


def is_polling(name, command):
    """What a process does as often as it likes, however few people write."""
    if name == "update":
        return command["update"] == "leases" or "leaseBy" in command["updates"][0]["q"]
    return name == "find" and "cancel.before" in command["filter"]


@pytest.fixture(params=DRIVERS)
def driver(request):
    return request.param


async def idle(state):
    """Every lane was given back."""
    await state.eventually(lambda: state.database["lanes"].count_documents({"ready": True}) == 0)


RESERVED = ("findAndModify", "usage")
"""The one command more, where there is a daily budget."""


@pytest.mark.parametrize(
    ("budget", "more"), [("", []), ("1000000", [RESERVED])], ids=["no budget", "a budget"]
)
async def test_a_plain_turn_is_eleven_commands_each_on_an_index(
    state, anna, budget, more, commands, mongo_client
):
    """At most 12: receiver, lane and Session together (a known public bot on MongoDB needs 50)."""
    async with state.bot(
        MONGODB_DRIVER="pymongo" if budget else "motor", DAILY_TOKEN_BUDGET=budget
    ):
        for words in ("Hello there.", "How are you?"):
            await state.ask(anna, words)
        await idle(state)
        commands.forget()
        commands.explain = mongo_client
        await state.ask(anna, "Tell me about herons.")
        await idle(state)
        plans = list(commands.plans)
        sent = [
            (name, command)
            for where, name, command in commands.sent
            if where == state.database.name
        ]

    claims = [
        plan for plan in plans if (plan.command, plan.collection) == ("findAndModify", "lanes")
    ]
    assert len([claim for claim in claims if claim.found]) == 1
    turn = [(name, command[name]) for name, command in sent if not is_polling(name, command)]
    for _ in range(len(claims) - 1):
        turn.remove(("findAndModify", "lanes"))  # a look that found nothing to claim
    assert sorted(turn) == sorted(A_TURN + more)
    assert [plan for plan in plans if plan.collection != "leases" and not plan.is_indexed] == []


def filters(name, command):
    """Every filter of a command, and every document it inserts."""
    match name:
        case "insert":
            return command["documents"]
        case "find":
            return [command["filter"]]
        case "findAndModify" | "count" | "distinct":
            return [command["query"]]
        case "update" | "delete":
            return [one["q"] for one in command.get("updates", command.get("deletes"))]
        case "aggregate":
            return [command["pipeline"][0]["$match"]]
        case "listIndexes" | "createIndexes" | "create" | "collMod":
            return []  # the shape of the database, at a start
    raise AssertionError(name)


async def everything(state, person):
    """Each feature that touches what belongs to a person, in the way people come to it."""
    await state.ask(person, "/start")
    await state.ask(person, "My secret word is heron.")
    await state.ask(person, "Remember that my sister lives in Riga.")
    await state.ask(person, "What do you remember?")
    await state.ask(person, "Plan a trip: book a flight, find a hotel, pack.")
    for number in range(5):
        await state.ask(person, f"Tell me something about number {number}.")
    await state.eventually(lambda: state.session(person.id)["summary"])
    state.passes(minutes=31)
    await state.ask(person, "Are you still there?", answers=2)
    await state.ask(person, "/new")
    await state.ask(person, "Something else.")
    await state.ask(person, "/reset")
    await state.ask(person, "/stop")
    await state.ask(person, "And once more.")


async def test_every_command_on_what_belongs_to_a_person_carries_its_owner(
    state, anna, boris, driver, commands
):
    """C57: equality with the Owner's own id.

    The hourly sweep, which reads ids only, is the one exception.
    """
    commands.forget()
    async with state.bot(
        MONGODB_DRIVER=driver, CONTEXT_TRIGGER_MESSAGES="10", CONTEXT_KEEP_MESSAGES="4"
    ):
        await everything(state, anna)
        await state.ask(boris, "Привет!")
        await idle(state)

    seen = set()
    for where, name, command in commands.sent:
        if where != state.database.name or command.get(name) not in OWNED:
            continue
        for one in filters(name, command):
            if set(one) == {"$or"} and (name, command[name]) == ("find", "archive"):
                continue  # the sweep
            seen.add((name, command[name], one.get("ownerId")))

    assert {owner for _, _, owner in seen} == {anna.id, boris.id}
    assert {(name, collection) for name, collection, _ in seen} >= {
        *((name, "sessions") for name in ("insert", "findAndModify", "update")),
        *((name, "archive") for name in ("insert", "delete")),
        *((name, "notes") for name in ("insert", "find")),
    }
