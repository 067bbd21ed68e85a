"""Whatever field a message comes with, its person gets an answer or a sentence, unless it is a
service note: over all fields that the library and the Bot API up to 10.4 name, and over some that
nobody knows yet.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from telegram import Message

from bot.content import clean
from bot.telegram.inbound.fields import FIELDS
from bot.telegram.inbound.lenient import as_update
from bot.telegram.inbound.parsing import Account, kind_of, read
from bot.texts import LANGUAGES, table

ACCOUNT = Account(99, "our_bot")
ANNA = {"id": 7, "is_bot": False, "first_name": "Anna"}
BARE = {
    "message_id": 5,
    "date": 1767600000,
    "chat": {"id": 7, "type": "private"},
    "from": ANNA,
}
SINCE_THE_LIBRARY = {
    "rich_message",
    "receiver_user",
    "ephemeral_message_id",
    "community_chat_added",
    "community_chat_joined",
    "community_chat_removed",
}
"""Of Bot API 10.1 to 10.4."""
FUTURE = {"hologram", "shared_dream", "smell"}
PRIVATE_SLOTS = {"api_kwargs"}


def library_fields():
    slots = {slot for one in Message.__mro__ for slot in getattr(one, "__slots__", ())}
    return {slot for slot in slots if not slot.startswith("_")} - PRIVATE_SLOTS


PHOTO = {"file_id": "f", "file_unique_id": "u", "width": 1, "height": 1}
FILE = {**PHOTO, "duration": 1, "mime_type": "audio/mpeg", "file_name": "a.mp3"}
LIKELY = {
    "text": "heron",
    "caption": "heron",
    "photo": [PHOTO],
    "voice": FILE,
    "audio": FILE,
    "video": FILE,
    "document": FILE,
    "location": {"latitude": 1, "longitude": 2},
    "rich_message": {"blocks": [{"type": "paragraph", "text": ["her", {"type": "bold", "text": "on"}]}]},
}  # fmt: skip
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 2**40) | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(["id", "text", "type", "blocks", "question", "title", "file_id", "x"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=6,
)
CONTENT = sorted(
    ({name for name, role in FIELDS.items() if role not in {"frame", "service"}} | FUTURE)
    - {"text", "caption"}
)
SERVICE = sorted(name for name, role in FIELDS.items() if role == "service")


def heard(fields):
    """What comes of a message with these fields: its kind, and what is said of it."""
    update = as_update(clean({"update_id": 1, "message": {**BARE, **fields}}))
    reading = read([update])
    return kind_of(update, ACCOUNT), reading.question, reading.unreadable


def test_every_field_has_its_place_in_the_table():
    assert library_fields() | SINCE_THE_LIBRARY <= FIELDS.keys()


@pytest.mark.parametrize("field", LIKELY)
def test_what_speaks_is_heard(field):
    assert heard({field: LIKELY[field]})[0] == "content"


@given(st.sampled_from(CONTENT), ANYTHING)
@settings(max_examples=600, deadline=None)
def test_nothing_that_is_sent_is_met_with_silence(field, value):
    """C133: also where its object is of no shape that the library can read."""
    kind, question, unreadable = heard({field: value})
    if value is None or value is False or (field in FIELDS and not value):
        return  # the server sends no such field
    assert kind == "content"
    assert question is not None or unreadable
    for key in unreadable:
        assert all(key in table(language) for language in LANGUAGES)


@given(st.sampled_from(CONTENT), ANYTHING)
@settings(max_examples=200, deadline=None)
def test_words_are_heard_whatever_stands_beside_them(field, value):
    kind, question, _ = heard({"text": "A heron?", field: value})
    assert kind == "content"
    assert question is not None
    assert question.content[-1]["text"] == "A heron?"


@given(st.sampled_from(SERVICE), ANYTHING)
@settings(max_examples=150, deadline=None)
def test_a_service_note_asks_nothing(field, value):
    if not value:
        return
    kind, question, unreadable = heard({field: value})
    assert (kind, question, unreadable) == (None, None, ())
