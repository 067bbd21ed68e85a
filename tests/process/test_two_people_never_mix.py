"""C54: two people write right after one another, two hundred random turns long; neither's word
reaches the other.

Notes, plans, searches of old talks, compaction, new Sessions, a group, and a kill in the middle of
it. By name:

    uv run pytest -n 0 -m chaos tests/process/test_two_people_never_mix.py
"""

from __future__ import annotations

import asyncio
import json
import random

import pytest

from bot.standins.claude.answers import call
from bot.standins.claude.script import last_words

pytestmark = pytest.mark.chaos

TURNS = 100
"""Of each of them."""
SMALL = {
    "CONTEXT_TRIGGER_MESSAGES": "8",
    "CONTEXT_KEEP_MESSAGES": "2",
    "LEASE_SECONDS": "3",
    "LOG_LEVEL": "DEBUG",
}
CALLBACKS = (
    "My secret word is {word}.",
    "Remember that {word} is my word.",
    "What do you remember?",
    "What is my secret word?",
    "Plan a trip: {word}, pack, go.",
    "Where were we?",
    "Search for my word.",
    "Tell me something.",
    "Tell me something else.",
    "/context",
    "/plan",
    "/new",
)
COLLECTIONS = ("sessions", "archive", "notes", "usage", "inbox", "lanes", "owners")


def searches(body):
    return "Search for my word." in last_words(body)


@pytest.fixture
def seed():
    return random.SystemRandom().getrandbits(32)


def answers(people, group):
    return sum(len(chat.answers) for chat in (*(person.chat for person in people), group))


async def handled(database):
    """Until nothing waits."""
    async with asyncio.timeout(60):
        while database["inbox"].count_documents({"state": "queued"}):  # noqa: ASYNC110 - it has no event to wait for
            await asyncio.sleep(0.005)


async def turns(town, people, words, luck, database):
    group = town.telegram.group("Both", people)
    for _ in range(TURNS // 2):
        operation = luck.choice(CALLBACKS)
        before = answers(people, group)
        for person in people:
            if "Search" in operation:
                town.claude.script(call("search", {"words": "word"}), when=searches)
            in_group = (
                luck.random() < 0.1 and "{word}" not in operation and not operation.startswith("/")
            )
            said = operation.format(word=words[person.id])
            person.says(
                f"@emulated_bot {said}" if in_group else said, chat=group if in_group else None
            )
        await town.telegram.until(
            lambda before=before: answers(people, group) >= before + len(people)
        )
        await handled(database)
    return group


async def test_no_word_crosses(town, mongo_client, seed):
    database, luck = mongo_client[town.environ["MONGODB_DATABASE"]], random.Random(seed)
    people = [town.telegram.person(1001, "Anna"), town.telegram.person(1002, "Boris")]
    words = {person.id: f"zq{person.id}x{luck.getrandbits(32):08x}" for person in people}
    groups, logs = [], []
    for is_killed in (True, False):
        async with town.bot(**SMALL) as bot:
            groups.append(await turns(town, people, words, luck, database))
            if is_killed:
                for person in people:
                    person.says(f"My secret word is {words[person.id]}.")
                await bot.kill()
            logs.append(bot)
    texts = "".join(bot.text for bot in logs)

    def found(thing):
        written = json.dumps(thing, default=str, ensure_ascii=False)
        return {owner for owner, word in words.items() if word in written}

    told = f"seed {seed}"
    for person in people:
        assert found([message.text for message in person.chat.shown]) == {person.id}, told
    assert found([message.text for group in groups for message in group.shown]) == set(), told
    assert [
        one.number for one in town.claude.journal.exchanges if len(found(one.body)) > 1
    ] == [], told
    for name in COLLECTIONS:
        owned = [
            row for row in database[name].find() if found(row) - {row.get("ownerId", row["_id"])}
        ]
        assert owned == [], f"{told}: {name}"
    assert found(texts) == set(), told
    searched = [one for one in town.claude.journal.exchanges if searches(one.body)]
    assert len(searched) > 1, told
    assert database["sessions"].count_documents({"summary": {"$ne": None}}) > 1, told
    assert database["notes"].count_documents({}) > 1, told
