"""Entities and documents: tolerant when reading, strict when writing."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import bson
import pytest

from bot.errors import SessionTooLarge
from bot.session import SCHEMA_VERSION, Message, PromptSize, Summary
from bot.store import documents, turn_documents
from bot.usage import Usage
from tests.builders import NOON, closed_turn, dialogue, message, session, text

MOSCOW = timezone(timedelta(hours=3))


def test_field_names_are_the_admins_interface():
    """DESIGN §4: renaming one breaks dashboards and older replicas."""
    assert set(documents.from_session(session())) == {
        *(
            "_id",
            "ownerId",
            "chatId",
            "threadId",
            "status",
            "title",
            "createdAt",
            "lastActive",
            "revision",
            "nextSeq",
        ),
        *(
            "messages",
            "summary",
            "task",
            "turns",
            "usage",
            "context",
            "compaction",
            "schemaVersion",
        ),
    }


def test_moments_are_utc_and_whole_milliseconds():
    odd = datetime(2026, 1, 5, 15, 0, 0, 999_999, tzinfo=MOSCOW)
    assert documents.bson_datetime(odd) == datetime(2026, 1, 5, 12, 0, 0, 999_000, tzinfo=UTC)
    assert documents.bson_datetime(odd).tzinfo is UTC


def test_a_moment_without_a_zone_is_refused():
    """It would be taken for UTC and shift a Session's expiry by hours."""
    with pytest.raises(ValueError, match="time zone"):
        documents.bson_datetime(NOON.replace(tzinfo=None))


def test_a_reader_ignores_what_a_newer_version_added():
    newer = documents.from_session(session()) | {
        "mood": "good",
        "schemaVersion": SCHEMA_VERSION + 1,
    }
    assert documents.to_session(newer) == session()


@pytest.mark.parametrize(
    "field",
    [
        "title",
        "threadId",
        "summary",
        "task",
        "turns",
        "usage",
        "context",
        "compaction",
        "schemaVersion",
    ],
)
def test_a_reader_does_without_what_an_older_version_lacked(field):
    older = documents.from_session(session())
    del older[field]
    assert documents.to_session(older) == session()


def test_an_older_document_is_lifted_step_by_step():
    """C10: each step knows only the next version."""
    steps = {1: lambda old: old | {"b": old["a"]}, 2: lambda old: old | {"c": old["b"] + 1}}
    assert documents.upgraded({"schemaVersion": 1, "a": 1}, steps, 3)["c"] == 2
    assert "c" not in documents.upgraded({"schemaVersion": 3}, steps, 3)


def test_each_version_before_ours_has_a_step():
    assert set(documents.UPGRADES) == set(range(1, SCHEMA_VERSION))


def applied(document, update):
    """What MongoDB makes of a turn's update; only the operators it may use."""
    for path, value in update["$inc"].items():
        *parents, name = path.split(".")
        place = document[parents[0]] if parents else document
        place[name] += value
    for name, push in update["$push"].items():
        document[name] = (document[name] + push["$each"])[push.get("$slice", 0) :]
    for name, value in update["$max"].items():
        document[name] = max(document[name], value)
    assert set(update) == {"$inc", "$push", "$max", "$set"}
    return document | update["$set"]


def test_the_update_of_a_turn_does_what_absorb_does():
    """The stored Session and the one in hand never part."""
    made = session(messages=dialogue(3), turns=(1, 2, 3), usage=Usage(9, 9, 9, 9, 3), title="")
    turn = closed_turn(made, 70, update_ids=tuple(range(70, 140)), prompt=PromptSize(5, 1))
    stored = applied(documents.from_session(made), turn_documents.turn_update(made, turn))
    made.absorb(turn)
    assert documents.to_session(stored) == made


def test_a_renamed_session_keeps_its_name():
    made = session(title="Lisbon")
    assert "title" not in turn_documents.turn_update(made, closed_turn(made))["$set"]


def test_as_stored_is_what_comes_back():
    odd = (Message(0, 1, "user", (text("\ud800\0x"),), NOON + timedelta(microseconds=7), 1),)
    turn = turn_documents.as_stored(closed_turn(session(), messages=odd, title="\0t"))
    assert (turn.messages[0].content, turn.messages[0].at, turn.title) == (
        (text("\ufffdx"),),
        NOON,
        "t",
    )
    assert turn_documents.as_stored(turn) == turn


@pytest.mark.parametrize(
    ("seqs", "claimed", "up_to"),
    [((4, 5), 99, 3), ((4, 5), 4, 3), ((4, 5), 3, 3), ((4, 5), 1, 1), ((), 99, 5)],
    ids=["beyond_the_end", "into_the_tail", "honest", "hole", "nothing_left"],
)
def test_a_summary_cannot_claim_messages_that_are_still_there(seqs, claimed, up_to):
    """C1. A hole below the tail is no lie about the tail: it stays as it is."""
    summary = Summary("They talked.", claimed, 1, 5, "small", NOON)
    made = session(messages=[message(seq) for seq in seqs], next_seq=6, summary=summary)
    found = documents.to_session(documents.from_session(made))
    assert found == replace(made, summary=replace(summary, up_to=up_to))


def test_a_turn_is_recognised_by_its_words_too():
    """Two replicas may run the same update; the ids alone do not say whose answer is stored."""
    made = session()
    ours, theirs = closed_turn(made, 5), closed_turn(made, 5, answer="other words")
    stored = applied(documents.from_session(made), turn_documents.turn_update(made, theirs))
    assert turn_documents.contains_turn(stored, theirs)
    assert not turn_documents.contains_turn(stored, ours)
    assert not turn_documents.contains_turn(documents.from_session(made), ours)


@pytest.mark.parametrize("size", [0.4, 0.97, 1.03, 2.5])
def test_the_cap_is_close_to_a_megabyte_of_bson(size):
    """The estimate never calls a document small that BSON finds large."""
    words = int(size * turn_documents.MAX_BYTES / 10)
    made = session(messages=[message(seq, words="x" * words) for seq in range(9)])
    turn = closed_turn(made, messages=(message(9, words="x" * words),))
    if (
        len(
            bson.encode(
                applied(documents.from_session(made), turn_documents.turn_update(made, turn))
            )
        )
        > 1_000_000
    ):
        with pytest.raises(SessionTooLarge):
            turn_documents.require_room(made, turn)
    else:
        turn_documents.require_room(made, turn)


def test_a_long_summary_counts_too():
    made = session(summary=Summary("s" * 990_000, 0, 1, 5, "small", NOON))
    with pytest.raises(SessionTooLarge):
        turn_documents.require_room(made, closed_turn(made, words="x" * 12_000))
