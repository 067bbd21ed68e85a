"""An Owner is a real person who wrote or pressed; nobody else opens a Session (C60, C61, C62,
C102).
"""

from __future__ import annotations

import pytest
from telegram import Update
from telegram.constants import ChatID

from bot.owner import Lane, Owner, Place
from bot.telegram.inbound.identity import (
    Contact,
    Refusal,
    Sender,
    Stop,
    contact,
    identify,
    inviter,
    stop_of,
)

ANNA = {"id": 7, "is_bot": False, "first_name": "Anna", "language_code": "ru"}
PRIVATE = {"id": 7, "type": "private", "first_name": "Anna"}
GROUP = {"id": -100500, "type": "supergroup", "title": "Friends"}
CHANNEL = {"id": -100900, "type": "channel", "title": "News"}
ADMIN = {
    "id": ChatID.ANONYMOUS_ADMIN,
    "is_bot": True,
    "first_name": "Group",
    "username": "GroupAnonymousBot",
}
AS_CHANNEL = {
    "id": ChatID.FAKE_CHANNEL,
    "is_bot": True,
    "first_name": "Channel",
    "username": "Channel_Bot",
}
SERVICE = {"id": ChatID.SERVICE_CHAT, "is_bot": False, "first_name": "Telegram"}


def message(sender=ANNA, chat=PRIVATE, **fields):
    return {
        "message_id": 5,
        "date": 1767600000,
        "chat": chat,
        "from": sender,
        "text": "hello",
        **fields,
    }


def update(kind="message", **payload):
    return Update.de_json({"update_id": 1, kind: payload})


def place_of(of):
    sender = identify(of)
    assert isinstance(sender, Sender)
    return sender.place


def press(sender=ANNA, **fields):
    return {
        "id": "1",
        "chat_instance": "1",
        "data": "x",
        "from": sender,
        "message": message(),
        **fields,
    }


def test_a_private_message_names_its_owner_place_and_language():
    assert identify(update(**message())) == Sender(Owner(7), Place(7), "ru")


def test_a_group_message_keeps_the_owner_and_takes_the_groups_place():
    assert identify(update(**message(chat=GROUP))) == Sender(Owner(7), Place(-100500), "ru")


def test_an_edit_has_the_owner_of_its_message():
    assert identify(update("edited_message", **message())) == Sender(Owner(7), Place(7), "ru")


def test_a_press_belongs_to_whoever_pressed_not_to_whom_the_button_was_shown():
    shown = message(sender={"id": 99, "is_bot": True, "first_name": "bot"}, chat=GROUP)
    assert identify(update("callback_query", **press(message=shown))) == Sender(
        Owner(7), Place(-100500), "ru"
    )


def test_a_press_on_a_message_too_old_to_be_shown_still_has_its_chat():
    shown = {"message_id": 5, "date": 0, "chat": GROUP}
    assert identify(update("callback_query", **press(message=shown))) == Sender(
        Owner(7), Place(-100500), "ru"
    )


@pytest.mark.parametrize(
    ("fields", "place"),
    [
        pytest.param(
            {"message_thread_id": 9, "is_topic_message": True}, Place(-100500, 9), id="topic"
        ),
        pytest.param(
            {"message_thread_id": 1, "is_topic_message": True}, Place(-100500), id="general topic"
        ),
        pytest.param({"message_thread_id": 9}, Place(-100500), id="reply chain of a plain group"),
        pytest.param({}, Place(-100500), id="no topic"),
    ],
)
def test_a_topic_counts_only_where_a_send_to_it_would_work(fields, place):
    """C102."""
    assert place_of(update(**message(chat=GROUP, **fields))) == place


def test_a_topic_of_a_private_chat_is_a_place_of_its_own():
    fields = {"message_thread_id": 3, "is_topic_message": True}
    assert place_of(update(**message(**fields))) == Place(7, 3)


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"sender": ADMIN, "sender_chat": GROUP}, id="anonymous admin"),
        pytest.param({"sender": ADMIN}, id="anonymous admin without a chat"),
        pytest.param({"sender": AS_CHANNEL, "sender_chat": CHANNEL}, id="posting as a channel"),
        pytest.param({"sender": ANNA, "sender_chat": CHANNEL}, id="on behalf of a chat"),
        pytest.param(
            {"sender": {**ADMIN, "is_bot": False}}, id="shared id that does not look like a bot"
        ),
    ],
)
def test_an_id_that_many_share_is_nobody_and_gets_a_hint(fields):
    """C61."""
    assert identify(update(**message(chat=GROUP, **fields))) == Refusal(
        Place(-100500), "en" if fields["sender"] != ANNA else "ru"
    )


@pytest.mark.parametrize(
    "refused",
    [
        pytest.param(update("channel_post", **message(chat=CHANNEL)), id="channel post"),
        pytest.param(
            update("edited_channel_post", **message(chat=CHANNEL)), id="edited channel post"
        ),
        pytest.param(
            update("business_message", **message(business_connection_id="b")), id="business message"
        ),
        pytest.param(update("guest_message", **message(guest_query_id="g")), id="guest message"),
        pytest.param(
            update(**message(business_connection_id="b")), id="business connection in a message"
        ),
        pytest.param(update(**message(guest_query_id="g")), id="guest query in a message"),
        pytest.param(
            update(**message(SERVICE, GROUP, sender_chat=CHANNEL, is_automatic_forward=True)),
            id="linked channel",
        ),
        pytest.param(update(**message(SERVICE, GROUP)), id="service account"),
        pytest.param(update(**message({**ANNA, "is_bot": True})), id="another bot"),
        pytest.param(update(**message(chat=CHANNEL)), id="message in a channel"),
        pytest.param(
            update(**message(chat={**GROUP, "is_direct_messages": True})),
            id="direct messages of a channel",
        ),
        pytest.param(
            update(**message(chat={**PRIVATE, "id": 8})), id="somebody else's private chat"
        ),
        pytest.param(
            update("callback_query", **press({**ANNA, "is_bot": True})), id="press of a bot"
        ),
        pytest.param(update("callback_query", **press(ADMIN)), id="press with a shared id"),
        pytest.param(
            update("callback_query", **press(message=message(business_connection_id="b"))),
            id="press in a business chat",
        ),
        pytest.param(
            update(
                "callback_query",
                id="1",
                chat_instance="1",
                data="x",
                inline_message_id="i",
                **{"from": ANNA},
            ),
            id="press under an inline message",
        ),
        pytest.param(
            update(
                "poll_answer", poll_id="1", option_ids=[0], option_persistent_ids=["a"], user=ANNA
            ),
            id="poll answer",
        ),
        pytest.param(
            update("stopped_message_generation", chat=PRIVATE, draft_id=1),
            id="kind unknown to the library",
        ),
        pytest.param(
            update("message", **{k: v for k, v in message().items() if k != "from"}), id="no sender"
        ),
    ],
)
def test_what_is_in_nobodys_or_anothers_name_has_no_owner(refused):
    """C60, C62: no error either, and `effective_user` is set for some of these."""
    assert identify(refused) is None


# ---------------------------------------------------------------------------------- the Stop button


@pytest.mark.parametrize(("thread", "place"), [(None, Place(7)), (1, Place(7)), (30, Place(7, 30))])
def test_stop_is_pressed_by_the_one_whose_private_chat_it_is(thread, place):
    """The update names nobody; it is enough for the turn of that draft in that chat, and for
    nothing else.
    """
    pressed = update(
        "stopped_message_generation", chat=PRIVATE, draft_id=12, message_thread_id=thread
    )
    assert stop_of(pressed) == Stop(Lane(Owner(7), place), 12)


@pytest.mark.parametrize("chat", [GROUP, {**PRIVATE, "id": 777000}])
def test_a_stop_of_nobodys_stops_nothing(chat):
    assert stop_of(update("stopped_message_generation", chat=chat, draft_id=12)) is None


def test_a_message_stops_nothing():
    assert stop_of(update(**message())) is None


def moved(chat, was, now, sender=ANNA):
    us = {"id": 99, "is_bot": True, "first_name": "bot"}
    more = {"kicked": {"until_date": 0}}
    before, after = (
        {"user": us, "status": status, **more.get(status, {})} for status in (was, now)
    )
    members = {"old_chat_member": before, "new_chat_member": after}
    return update("my_chat_member", chat=chat, date=1767600000, **members, **{"from": sender})


def test_who_blocks_the_bot_stops_what_it_is_writing():
    assert stop_of(moved(PRIVATE, "member", "kicked")) == Stop(
        Lane(Owner(7), Place(7)), 1, in_all_topics=True
    )
    assert stop_of(moved(PRIVATE, "kicked", "member")) is None
    assert stop_of(moved(GROUP, "member", "kicked")) is None


def test_who_can_be_reached_is_told_of_private_chats_only():
    assert contact(moved(PRIVATE, "member", "kicked")) == Contact(Owner(7), is_open=False)
    assert contact(moved(PRIVATE, "kicked", "member")) == Contact(Owner(7), is_open=True)
    assert contact(moved(GROUP, "member", "kicked")) is None
    assert contact(update(**message())) is None


# -------------------------------------------------------------------------------------- invitations


@pytest.mark.parametrize(
    ("chat", "was", "now", "sender", "found"),
    [
        (GROUP, "left", "member", ANNA, True),
        (CHANNEL, "kicked", "member", ANNA, True),
        (GROUP, "member", "left", ANNA, False),
        (PRIVATE, "kicked", "member", ANNA, False),
        (GROUP, "left", "member", ADMIN, False),
    ],
    ids=["brought in", "into a channel", "thrown out", "unblocked", "by an anonymous admin"],
)
def test_who_brings_the_bot_in_is_known_where_it_can_be(chat, was, now, sender, found):
    assert (inviter(moved(chat, was, now, sender)) is not None) == found
