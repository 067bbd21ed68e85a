"""Thirty people write at once, each with a secret word: no word ever turns up where it does not
belong.
"""

from __future__ import annotations

import asyncio
import json
import random

PEOPLE = 30
ROUNDS = 4
SMALL = {"CONTEXT_TRIGGER_MESSAGES": "6", "CONTEXT_KEEP_MESSAGES": "2"}


def secret(number):
    return f"zq{number:02d}x{random.Random(number).getrandbits(32):08x}"


def secrets_in(thing):
    written = json.dumps(thing, default=str, ensure_ascii=False)
    return {number for number in range(PEOPLE) if secret(number) in written}


async def converse(state, person, number, group):
    await state.ask(person, f"My secret word is {secret(number)}.")
    await state.ask(person, f"Remember that {secret(number)} is my word.")
    for _ in range(ROUNDS):
        await state.ask(person, "Tell me something.")
    person.says("@emulated_bot what is my secret word?", chat=group)
    return await state.ask(person, "What is my secret word?")


async def test_no_secret_word_leaves_its_owner(state):
    """C54, C55: in private and in one group, through notes, tools and compaction."""
    people = [state.telegram.person(2000 + number, f"Person {number}") for number in range(PEOPLE)]
    group = state.telegram.group("Everybody", people)
    async with state.bot(**SMALL):
        answers = await asyncio.gather(
            *(converse(state, person, number, group) for number, person in enumerate(people))
        )
        await state.telegram.until(lambda: len(group.answers) == PEOPLE)

    for number, (person, answer) in enumerate(zip(people, answers, strict=True)):
        assert secret(number) in answer
        assert secrets_in([message.text for message in person.chat.shown]) == {number}
    assert secrets_in([message.text for message in group.shown]) == set()
    for exchange in state.claude.journal.exchanges:
        assert len(secrets_in(exchange.body)) <= 1
    for name in ("sessions", "archive", "notes"):
        for document in state.database[name].find():
            assert secrets_in(document) <= {document["ownerId"] - 2000}
    summarised = state.database["sessions"].count_documents({"summary": {"$ne": None}})
    assert summarised > 0
