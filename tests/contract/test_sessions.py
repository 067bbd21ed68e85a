"""The SessionStore port: create, load, close and erase, on every backend."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from bot.content import as_block
from bot.errors import AlreadyActive
from bot.owner import Owner, Place
from bot.session import CompactionState, Fact, Gap, PromptSize, Step, Summary, Task
from bot.usage import Usage
from tests.builders import (
    ANNA,
    ANNAS_CHAT,
    BORIS,
    GROUP,
    LIFETIME,
    NOON,
    closed_turn,
    dialogue,
    message,
    session,
)


@pytest.fixture
def sessions(stores):
    return stores.sessions


async def load(sessions, owner=ANNA, place=ANNAS_CHAT, at=NOON):
    return await sessions.load(owner, place, at=at, now=at, lifetime=LIFETIME)


def full_session():
    """A Session in which no field has its default."""
    return session(
        title="Trip to Lisbon",
        revision=7,
        next_seq=24,
        messages=dialogue(2, first_seq=20),
        summary=Summary("Anna plans a trip.", 19, 2, 40, "small", NOON, (Gap(4, 9),)),
        task=Task("book", (Step("flight", "doing"), Step("hotel")), (Fact("budget", "900 €"),)),
        turns=(1, 2, 2**40),
        usage=Usage(1, 2, 3, 4, 5),
        prompt=PromptSize(900, 2),
        compaction=CompactionState(1, NOON + timedelta(minutes=5), (NOON,)),
    )


async def test_nobody_has_a_session_at_first(sessions):
    assert await load(sessions) is None


@pytest.mark.parametrize("made", [session(), full_session()], ids=["empty", "full"])
async def test_what_was_created_is_loaded_field_by_field(sessions, made):
    await sessions.create(ANNA, made)
    assert await load(sessions) == made


async def test_save_load_save_is_a_fixpoint(sessions):
    """What was read and written again reads the same, so no field drifts from turn to turn."""
    await sessions.create(ANNA, full_session())
    first = await load(sessions)
    await sessions.erase(ANNA, ANNAS_CHAT)
    await sessions.create(ANNA, first)
    assert await load(sessions) == first


async def test_a_loaded_session_is_the_callers_own(sessions):
    await sessions.create(ANNA, full_session())
    (await load(sessions)).messages.clear()
    assert len((await load(sessions)).messages) == 4


async def test_a_second_active_session_in_a_place_is_refused(sessions):
    await sessions.create(ANNA, session("a" * 32))
    with pytest.raises(AlreadyActive):
        await sessions.create(ANNA, session("b" * 32))
    assert (await load(sessions)).id == "a" * 32


async def test_creating_the_same_session_again_is_no_error(sessions):
    """The insert was repeated after a lost answer: it is there, which is all that was wanted."""
    await sessions.create(ANNA, session())
    await sessions.create(ANNA, session())
    assert (await load(sessions)).id == session().id


async def test_places_and_topics_do_not_share_a_session(sessions):
    """C33, C56: private chat, group and topic each have their own."""
    places = [ANNAS_CHAT, GROUP, Place(GROUP.chat_id, 5), Place(GROUP.chat_id, 6)]
    for digit, place in enumerate(places):
        await sessions.create(ANNA, session(f"{digit}" * 32, place=place))
    assert [(await load(sessions, place=place)).id[0] for place in places] == ["0", "1", "2", "3"]


async def test_members_of_a_group_do_not_share_a_session(sessions):
    await sessions.create(ANNA, session(place=GROUP))
    assert await load(sessions, BORIS, GROUP) is None


async def test_a_closed_session_is_not_loaded_and_makes_room(sessions):
    """C6: after /new the new Session is the one that is found."""
    await sessions.create(ANNA, session("a" * 32))
    closed = await sessions.close(ANNA, ANNAS_CHAT)
    assert (closed.id, closed.status, closed.revision) == ("a" * 32, "closed", 1)
    assert await load(sessions) is None
    await sessions.create(ANNA, session("b" * 32))
    assert (await load(sessions)).id == "b" * 32


async def test_a_closed_session_still_exists_and_an_erased_one_does_not(sessions):
    """C30: /reset leaves nothing to find."""
    await sessions.create(ANNA, session("a" * 32))
    await sessions.close(ANNA, ANNAS_CHAT)
    await sessions.create(ANNA, session("b" * 32))
    assert await sessions.erase(ANNA, ANNAS_CHAT) == "b" * 32
    assert await sessions.exists(ANNA, "a" * 32)
    assert not await sessions.exists(ANNA, "b" * 32)


@pytest.mark.parametrize("end", ["close", "erase"])
async def test_ending_where_nothing_is_active_ends_nothing(sessions, end):
    assert await getattr(sessions, end)(ANNA, ANNAS_CHAT) is None


async def test_loading_touches_the_session_and_never_backwards(sessions):
    """A long turn must not lose its Session to the TTL monitor; a message from the past must not
    age it.
    """
    await sessions.create(ANNA, session())
    later = NOON + timedelta(minutes=10)
    assert (await load(sessions, at=later)).last_active == later
    assert (await load(sessions, at=NOON)).last_active == later


async def test_a_summary_that_claims_messages_still_there_does_not_hide_them(sessions, caplog):
    """C1: repaired when read, with one warning; the messages still reach the model."""
    lying = Summary("All of it.", 99, 1, 10, "small", NOON)
    await sessions.create(ANNA, session(messages=[message(4), message(5)], summary=lying))
    caplog.clear()
    found = await load(sessions)
    assert (found.summary.up_to, [entry.seq for entry in found.messages]) == (3, [4, 5])
    assert len([record for record in caplog.records if "summary claims" in record.message]) == 1
    assert await sessions.replace_summary(ANNA, found, found.summary, found.compaction)
    assert (await load(sessions)).messages == found.messages


@pytest.mark.parametrize("words", ["\ud800 half a pair", "a\0b", "🙂" * 3, "$owner", "\u2028"])
async def test_any_words_a_person_can_send_are_stored(sessions, words):
    """BSON refuses unpaired surrogates, C strings end at NUL; the rest must come back as it was."""
    made = session()
    await sessions.create(ANNA, made)
    await sessions.commit(ANNA, made, closed_turn(made, words=words))
    found = await load(sessions)
    expected = words.replace("\ud800", "\ufffd").replace("\0", "")
    assert (found.messages[0].content[0]["text"], found.title) == (expected, expected)
    assert found == made


@pytest.mark.parametrize(
    "value",
    [
        {"$where": "1"},
        {"a.b": {"": 1}},
        {"n": 2**80},
        {"json": "[]"},
        {"deep": [[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]},
    ],
    ids=["operator", "dots", "wide", "json", "deep"],
)
@pytest.mark.parametrize("field", ["input", "content", "json"])
async def test_hostile_tool_values_are_stored_as_they_are(sessions, field, value):
    """Keys the model chose are never field names, and the block comes back whole."""
    made = session()
    await sessions.create(ANNA, made)
    block = {"type": "tool_use", "id": "t1", "name": "plan", field: value}
    answer = replace(message(0, role="assistant"), content=(as_block(block),))
    await sessions.commit(ANNA, made, closed_turn(made, messages=(answer,)))
    assert (await load(sessions)).messages[0].content == (block,)


async def test_a_session_of_any_status_is_found_by_an_update_it_committed(sessions):
    """After a crash: the turn may be stored although /new closed its Session since."""
    made = session(turns=(7, 8))
    await sessions.create(ANNA, made)
    await sessions.close(ANNA, ANNAS_CHAT)
    await sessions.create(ANNA, session("b" * 32, turns=(9,)))
    assert (await sessions.find_by_update_ids(ANNA, [8, 12])).id == made.id
    assert (await sessions.find_by_update_ids(ANNA, [9])).id == "b" * 32
    assert await sessions.find_by_update_ids(ANNA, [12]) is None
    assert await sessions.find_by_update_ids(ANNA, []) is None
    assert await sessions.find_by_update_ids(BORIS, [8, 9]) is None


async def test_an_owner_must_be_an_owner(sessions):
    """C58: refused by type before any command is sent."""
    for loose in (ANNA.id, {"$ne": 0}, [ANNA], None, "1001"):
        with pytest.raises(TypeError):
            await load(sessions, owner=loose)
        with pytest.raises(TypeError):
            await sessions.exists(loose, "a" * 32)


@pytest.mark.parametrize(
    "loose", [{"$ne": ""}, ["a"], {"$gt": ""}], ids=["not_equal", "list", "greater"]
)
async def test_a_session_id_must_be_text(sessions, loose):
    """C58: a mapping would match any of the Owner's Sessions."""
    await sessions.create(ANNA, session())
    with pytest.raises(TypeError):
        await sessions.exists(ANNA, loose)


async def test_a_foreign_session_equals_an_unknown_one(sessions):
    await sessions.create(ANNA, session())
    assert await sessions.exists(ANNA, session().id)
    assert not await sessions.exists(BORIS, session().id)
    assert not await sessions.exists(Owner(3), "f" * 32)


async def test_an_empty_session_may_follow_another_dialogue(sessions):
    await sessions.create(ANNA, session())
    assert await sessions.follow(ANNA, ANNAS_CHAT, "Title: heron")
    assert not await sessions.follow(BORIS, ANNAS_CHAT, "Title: theft")
    found = await sessions.inspect(ANNA, ANNAS_CHAT)
    assert found.previous == "Title: heron"


async def test_one_in_which_something_was_said_follows_nothing(sessions):
    await sessions.create(ANNA, session(messages=dialogue(1)))
    assert not await sessions.follow(ANNA, ANNAS_CHAT, "Title: heron")
    assert (await sessions.inspect(ANNA, ANNAS_CHAT)).previous == ""
