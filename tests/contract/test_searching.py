"""Searching what was said, in Sessions and in the archive: one Owner's, seen from one Place, on
every backend.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from bot.owner import Owner, Place
from tests.builders import ALIVE, ANNA, ANNAS_CHAT, BORIS, GROUP, NOON, dialogue, message, session

MOST = 10
PRIVATE, IN_GROUP, ELSEWHERE = "a" * 32, "b" * 32, "c" * 32
TOPIC = Place(GROUP.chat_id, 7)


def said(seq, words, minute=0):
    return replace(message(seq, seq, words=words), at=NOON + timedelta(minutes=minute))


@pytest.fixture(params=["sessions", "archive"])
async def searched(request, stores):
    """A way to store messages of a Session, and to search them: both ports promise the same."""
    store = getattr(stores, request.param)

    async def keep(messages, owner=ANNA, session_id=PRIVATE, place=None):
        if request.param == "archive":
            await stores.archive.add(owner, session_id, messages)
        else:
            await stores.sessions.create(
                owner, session(session_id, owner, place, messages=list(messages))
            )

    async def search(*wanted, owner=ANNA, ids=(PRIVATE,), maximum=MOST):
        return [
            (hit.session_id, hit.message.seq)
            for hit in await store.search(owner, list(ids), list(wanted), maximum)
        ]

    return keep, search


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (["heron"], [2, 0]),
        (["HERON"], [2, 0]),
        (["ero"], [2, 0]),
        (["heron", "grey"], [2]),
        (["grey", "lake"], []),
        (["ЦАПЛ"], [3]),
        (["a.b"], [4]),
        (["(", "$"], [4]),
        (["nothing"], []),
    ],
    ids=[
        "word",
        "any case",
        "part of a word",
        "all words",
        "not in one message",
        "Cyrillic",
        "dot",
        "signs",
        "none",
    ],
)
async def test_a_message_is_found_by_all_of_its_words_the_latest_first(searched, wanted, expected):
    keep, search = searched
    lines = ["A heron!", "the lake", "The grey Heron again", "Серая цапля", "a.b (costs) $5", "axb"]
    await keep([said(seq, words, seq) for seq, words in enumerate(lines)])
    assert await search(*wanted) == [(PRIVATE, seq) for seq in expected]


async def test_no_more_are_given_than_asked_for(searched):
    keep, search = searched
    await keep(dialogue(5))
    assert len(await search("words", maximum=3)) == 3


async def test_a_foreign_session_is_not_searched_even_by_its_id(searched):
    """C54: an id that came from anywhere opens nothing."""
    keep, search = searched
    await keep([said(0, "Anna's heron")])
    assert await search("heron", owner=BORIS) == []
    assert await search("heron", ids=[]) == []
    assert await search("heron", ids=[PRIVATE, ELSEWHERE]) == [(PRIVATE, 0)]


async def test_ids_must_be_plain(searched):
    """C58."""
    _, search = searched
    with pytest.raises(TypeError):
        await search("heron", ids=[{"$ne": ""}])


async def test_only_words_are_searched_not_what_tools_were_given(searched):
    keep, search = searched
    call = {"type": "tool_use", "id": "t1", "name": "remember", "input": {"text": "heron"}}
    await keep([replace(said(0, ""), content=(call,))])
    assert await search("heron") == []


async def test_a_group_sees_its_own_sessions_and_private_sees_all(stores):
    """C55: and another topic of the group is another Place."""
    await stores.sessions.create(ANNA, session(PRIVATE, place=ANNAS_CHAT))
    await stores.sessions.close(ANNA, ANNAS_CHAT)
    await stores.sessions.create(ANNA, session(IN_GROUP, place=GROUP))
    await stores.sessions.create(ANNA, session(ELSEWHERE, place=TOPIC))
    await stores.sessions.create(BORIS, session("d" * 32, BORIS, GROUP))

    assert set(await stores.sessions.seen_from(ANNA, ANNAS_CHAT, ALIVE)) == {
        PRIVATE,
        IN_GROUP,
        ELSEWHERE,
    }
    assert await stores.sessions.seen_from(ANNA, GROUP, ALIVE) == [IN_GROUP]
    assert await stores.sessions.seen_from(ANNA, TOPIC, ALIVE) == [ELSEWHERE]
    assert list(await stores.sessions.seen_from(BORIS, TOPIC, ALIVE)) == []


async def test_to_inspect_a_session_keeps_it_alive_no_longer(stores):
    """The active one, whatever its age, and nobody else's."""
    made = session(messages=dialogue(1))
    await stores.sessions.create(ANNA, made)
    assert await stores.sessions.inspect(ANNA, ANNAS_CHAT) == made
    assert (await stores.sessions.inspect(ANNA, ANNAS_CHAT)).last_active == NOON
    assert await stores.sessions.inspect(BORIS, ANNAS_CHAT) is None
    assert await stores.sessions.inspect(ANNA, GROUP) is None
    await stores.sessions.close(ANNA, ANNAS_CHAT)
    assert await stores.sessions.inspect(ANNA, ANNAS_CHAT) is None


async def test_how_much_others_have_said_changes_nothing(store, commands, mongo_client):
    """C63: neither what is found, nor how much the server looks at to find it."""
    await store.archive.add(ANNA, PRIVATE, dialogue(5))
    await store.sessions.create(ANNA, session(PRIVATE, messages=dialogue(5, first_seq=10)))
    commands.explain = mongo_client

    async def asked():
        commands.plans.clear()
        seen = await store.sessions.seen_from(ANNA, ANNAS_CHAT, ALIVE)
        hits = [
            *await store.archive.search(ANNA, seen, ["words"], 10),
            *await store.sessions.search(ANNA, seen, ["words"], 10),
        ]
        return hits, [
            (plan.collection, plan.keys, plan.documents, plan.found) for plan in commands.plans
        ]

    before = await asked()
    commands.explain = None
    for number in range(4):
        owner, name = Owner(5_000 + number), f"{number}" * 32
        await store.archive.add(owner, name, dialogue(250))
        await store.sessions.create(
            owner, session(name, owner, messages=dialogue(100, first_seq=500))
        )
    commands.explain = mongo_client
    assert await asked() == before
    assert len(before[0]) == 20
