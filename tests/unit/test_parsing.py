"""What an update asks of the bot, and how messages become one question."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from telegram import Update

from bot.content import clean
from bot.telegram.inbound.fields import UNREADABLE
from bot.telegram.inbound.parsing import (
    ALWAYS_SAID,
    Account,
    CommandText,
    command_of,
    kind_of,
    read,
)
from bot.texts import LANGUAGES, table

ACCOUNT = Account(99, "our_bot")
ANNA = {"id": 7, "is_bot": False, "first_name": "Anna"}
BOT = {"id": 99, "is_bot": True, "first_name": "Our bot", "username": "our_bot"}
PRIVATE = {"id": 7, "type": "private", "first_name": "Anna"}
GROUP = {"id": -100500, "type": "supergroup", "title": "Friends"}
DATE = 1767600000


def mark(kind, offset, length, **more):
    return {"type": kind, "offset": offset, "length": length, **more}


def update(text=None, *, update_id=1, kind="message", chat=PRIVATE, **fields):
    if text is not None:
        fields["text"] = text
        if text.startswith("/"):
            fields["entities"] = [mark("bot_command", 0, len(text.split()[0]))]
    message = {"message_id": update_id, "date": DATE, "chat": chat, "from": ANNA, **fields}
    return Update.de_json(clean({"update_id": update_id, kind: message}))  # as it is received


def said(text, **fields):
    return {"message_id": 3, "date": DATE, "chat": PRIVATE, "from": BOT, "text": text, **fields}


def parts(*updates):
    question = read(updates).question
    assert question is not None
    return question.parts


def texts(*updates):
    """The text blocks of each part of the question."""
    return [[block["text"] for block in part.content] for part in parts(*updates)]


# -------------------------------------------------------------------------------------------- kinds


@pytest.mark.parametrize(
    ("asked", "kind"),
    [
        pytest.param(update("hello"), "content", id="text"),
        pytest.param(update("/new"), "command", id="command"),
        pytest.param(update("/new@our_bot"), "command", id="command for us"),
        pytest.param(update("/NEW@Our_Bot"), "command", id="command for us, in capitals"),
        pytest.param(update("/new@other_bot"), None, id="command for another bot"),
        pytest.param(update("/new", kind="edited_message"), None, id="edited command"),
        pytest.param(update("hello", kind="edited_message"), "edit", id="edited text"),
        pytest.param(update(" \n\u00a0"), None, id="whitespace"),
        pytest.param(update("\0"), None, id="nothing but a NUL"),
        pytest.param(update(), None, id="empty"),
        pytest.param(update(new_chat_members=[ANNA]), None, id="somebody joined"),
        pytest.param(update(pinned_message=said("x")), None, id="something was pinned"),
        pytest.param(
            update(dice={"emoji": "🎲", "value": 3}), "content", id="a kind we cannot read"
        ),
        pytest.param(update("see /new"), "content", id="command in the middle"),
    ],
)
def test_what_a_private_message_asks_for(asked, kind):
    assert kind_of(asked, ACCOUNT) == kind


def test_a_forwarded_command_is_somebody_elses():
    origin = {"type": "hidden_user", "date": DATE, "sender_user_name": "Boris"}
    assert kind_of(update("/reset", forward_origin=origin), ACCOUNT) == "content"


def test_a_press_is_a_press():
    query = {"id": "1", "chat_instance": "1", "data": "x", "from": ANNA, "message": said("x")}
    assert kind_of(Update.de_json({"update_id": 1, "callback_query": query}), ACCOUNT) == "press"


@pytest.mark.parametrize(
    ("asked", "kind"),
    [
        pytest.param(update("hello all", chat=GROUP), None, id="not for us"),
        pytest.param(
            update("hi @our_bot", chat=GROUP, entities=[mark("mention", 3, 8)]),
            "content",
            id="mention",
        ),
        pytest.param(
            update("😀 @OUR_bot", chat=GROUP, entities=[mark("mention", 3, 8)]),
            "content",
            id="after an emoji",
        ),
        pytest.param(
            update("hi @other", chat=GROUP, entities=[mark("mention", 3, 6)]),
            None,
            id="other mention",
        ),
        pytest.param(update("hi @our_bot", chat=GROUP), None, id="a name that is no mention"),
        pytest.param(
            update("hi you", chat=GROUP, entities=[mark("text_mention", 3, 3, user=BOT)]),
            "content",
            id="text mention",
        ),
        pytest.param(
            update("go on", chat=GROUP, reply_to_message=said("x")), "content", id="reply to us"
        ),
        pytest.param(
            update("go on", chat=GROUP, reply_to_message=said("x", **{"from": ANNA})),
            None,
            id="reply to another",
        ),
        pytest.param(
            update(
                "hi",
                chat=GROUP,
                reply_to_message=said(
                    None, forum_topic_created={"name": "t", "icon_color": 7322096}
                ),
            ),
            None,
            id="in a topic that the bot opened",
        ),
        pytest.param(update("/new", chat=GROUP), "command", id="command for any bot"),
        pytest.param(update("/new@our_bot", chat=GROUP), "command", id="command for us"),
        pytest.param(update("/new@other_bot", chat=GROUP), None, id="command for another bot"),
        pytest.param(
            update(
                chat=GROUP, caption="@our_bot", caption_entities=[mark("mention", 0, 8)], dice=None
            ),
            "content",
            id="mention in a caption",
        ),
    ],
)
def test_in_a_group_it_hears_what_is_meant_for_it(asked, kind):
    assert kind_of(asked, ACCOUNT) == kind


@pytest.mark.parametrize(
    ("text", "chat", "command_text"),
    [
        ("/new", PRIVATE, CommandText("new", "", addressed=True)),
        ("/start ref_12-x", PRIVATE, CommandText("start", "ref_12-x", addressed=True)),
        ("/New@our_bot  a b ", GROUP, CommandText("new", "a b ", addressed=True)),
        ("/new", GROUP, CommandText("new", "", addressed=False)),
        ("/new\nplease", PRIVATE, CommandText("new", "please", addressed=True)),
        ("/new@other_bot", PRIVATE, None),
    ],
)
def test_a_command_is_read_from_its_first_word(text, chat, command_text):
    assert command_of(update(text, chat=chat).message, ACCOUNT) == command_text


# ---------------------------------------------------------------------------------------- questions


def test_each_message_becomes_a_part_with_its_own_date():
    asked = parts(update("one", update_id=4), update("two", update_id=6))
    assert [(part.update_id, part.at) for part in asked] == [
        (4, datetime.fromtimestamp(DATE, UTC)),
        (6, datetime.fromtimestamp(DATE, UTC)),
    ]
    assert texts(update("one"), update("two", update_id=2)) == [["one"], ["two"]]


def test_the_pieces_of_a_paste_are_joined_without_a_character_between_them():
    """C99.

    The last piece carries the whole, so that nothing is missing if the others were answered before
    a crash.
    """
    pasted = [update(f"{sign}" * 4096, update_id=index) for index, sign in enumerate("ab", start=1)]
    parts = texts(*pasted, update("rest", update_id=3))
    assert parts == [[], [], ["a" * 4096 + "b" * 4096 + "rest"]]


def test_a_paste_is_measured_in_utf16_units():
    """1,950 emoji are 3,900 units."""
    assert texts(update("😀" * 1950), update("x", update_id=2)) == [[], ["😀" * 1950 + "x"]]
    assert texts(update("😀" * 1949), update("x", update_id=2)) == [["😀" * 1949], ["x"]]


@pytest.mark.parametrize(
    "later",
    [
        pytest.param(update("y", update_id=2, date=DATE + 60), id="much later"),
        pytest.param(
            update(
                "y",
                update_id=2,
                forward_origin={"type": "hidden_user", "date": 1, "sender_user_name": "B"},
            ),
            id="a forward",
        ),
        pytest.param(update("y", update_id=2, reply_to_message=said(None)), id="a reply"),
        pytest.param(update(None, update_id=2, caption="y"), id="a caption"),
    ],
)
def test_what_follows_a_long_message_is_not_always_its_rest(later):
    assert [said[-1] for said in texts(update("x" * 4096), later)] == ["x" * 4096, "y"]


def test_the_quoted_text_goes_along_marked_line_by_line():
    asked = update("why?", reply_to_message=said("first\nsecond"))
    assert texts(asked) == [["> first\n> second", "why?"]]


def test_a_selected_quote_takes_the_place_of_the_whole_message():
    asked = update(
        "why?", reply_to_message=said("first\nsecond"), quote={"text": "second", "position": 6}
    )
    assert texts(asked) == [["> second", "why?"]]


def test_a_paste_that_answers_a_message_keeps_its_quote_apart():
    pasted = [update("x" * 4096, reply_to_message=said("q")), update("y", update_id=2)]
    assert texts(*pasted) == [[], ["> q", "x" * 4096 + "y"]]


def test_a_very_long_quote_is_shortened():
    [[quote, _]] = texts(update("why?", reply_to_message=said("q" * 4096)))
    assert len(quote) == len("> …") + 1000


STICKER = {
    "file_id": "f", "file_unique_id": "u", "type": "regular", "width": 1, "height": 1, "emoji": "👍",
    "is_animated": False, "is_video": False,
}  # fmt: skip
POLL = {
    "id": "1", "question": "Tea or coffee?", "total_voter_count": 0, "is_closed": False, "is_anonymous": True,
    "type": "regular", "allows_multiple_answers": False, "allows_revoting": False, "members_only": False,
    "options": [{"text": word, "voter_count": 0, "persistent_id": word} for word in ("tea", "coffee")],
}  # fmt: skip
PHOTO = [{"file_id": "f", "file_unique_id": "u", "width": 1, "height": 1, "file_size": 5}]
PICTURE = {
    "type": "file",
    "kind": "picture",
    "file_id": "f",
    "unique_id": "u",
    "name": "",
    "bytes": 5,
}
VIDEO = {"file_id": "f", "file_unique_id": "u", "width": 1, "height": 1, "duration": 1}


def document(name="a.txt", mime="text/plain", size=5):
    return {
        "file_id": "f",
        "file_unique_id": "u",
        "file_name": name,
        "mime_type": mime,
        "file_size": size,
    }


def contents(*updates):
    """The content of each part: texts as they are, and other blocks."""
    return [[block.get("text", block) for block in part.content] for part in parts(*updates)]


def test_a_photo_is_read_before_its_caption():
    asked = update(caption="what is it?", photo=PHOTO)
    assert contents(asked) == [[PICTURE, "what is it?"]]
    assert read([asked]).unreadable == ()


def test_of_a_photos_sizes_the_largest_is_taken_that_a_model_sees_whole():
    sizes = [
        {"file_id": str(side), "file_unique_id": str(side), "width": side, "height": side // 2}
        for side in (90, 320, 800, 1280, 2560)
    ]
    [[taken]] = contents(update(photo=sizes))
    [[only]] = contents(update(photo=sizes[-1:]))
    assert (taken["file_id"], only["file_id"]) == ("1280", "2560")


@pytest.mark.parametrize(
    ("name", "mime", "kind"),
    [
        ("plan.png", "image/png", "picture"),
        ("plan.JPG", None, "picture"),
        (None, "image/webp", "picture"),
        ("lease.pdf", "application/pdf", "pdf"),
        ("main.ts", "video/mp2t", "text"),
        ("Makefile", "application/octet-stream", "text"),
        ("table.csv", "text/comma-separated-values", "text"),
        ("noname", "application/vnd.api+json", "text"),
        ("drawing.svg", "image/svg+xml", "text"),
    ],
)
def test_a_document_is_told_by_its_name_or_its_type(name, mime, kind):
    [[block]] = contents(update(document=document(name, mime)))
    assert (block["kind"], block["name"]) == (kind, name or "")


def test_a_name_keeps_nothing_that_could_do_harm():
    [[block]] = contents(update(document=document('../a"><b>\n[ignore me]\u202e.txt')))
    assert block["name"] == ".._a_b_ignore me_.txt"
    [[long]] = contents(update(document=document("x" * 300 + ".pdf", "application/pdf")))
    assert len(long["name"]) <= 80
    assert long["name"].endswith(".pdf")


def test_what_is_spoken_is_a_file_of_its_own_kind():
    sound = {"file_id": "f", "file_unique_id": "u", "duration": 3, "file_size": 5}
    [[voice]] = contents(update(voice=sound))
    [[audio]] = contents(update(audio={**sound, "file_name": "talk.weird"}))
    assert [(block["kind"], block["name"]) for block in (voice, audio)] == [
        ("voice", "voice.ogg"),
        ("audio", "audio.mp3"),
    ]


@pytest.mark.parametrize(
    ("sent", "key", "told"),
    [
        ({"document": document("a.zip", "application/zip")}, "unreadable_document", "document"),
        ({"document": document(size=20 * 2**20 + 1)}, "file_too_large", "file"),
    ],
    ids=["of an unknown kind", "larger than Telegram lets a bot fetch"],
)
def test_a_file_nobody_can_open_is_named_at_once_and_its_caption_answered(sent, key, told):
    asked = update(caption="what is in it?", **sent)
    assert contents(asked) == [[f"[{told} attached; you cannot open it]", "what is in it?"]]
    assert read([asked]).unreadable == (key,)
    assert read([update(**sent)]).question is None


def test_the_file_of_the_message_that_is_answered_goes_along():
    asked = update(
        "what is this?",
        reply_to_message=said(None, caption="look", photo=PHOTO, media_group_id="a"),
    )
    assert contents(asked) == [
        ["> look", "[it answers a message with this file:]", PICTURE, "what is this?"]
    ]


def test_what_cannot_be_read_is_named_once_and_the_rest_is_answered():
    sent = [update(video=VIDEO), update(video=VIDEO, update_id=2), update("hello", update_id=3)]
    assert read(sent).unreadable == ("unreadable_video",)
    unseen = "[video attached; you cannot open it]"
    assert texts(*sent) == [[unseen], [unseen], ["hello"]]


def test_a_video_with_words_is_answered_without_a_complaint():
    asked = update(caption="what is it?", video=VIDEO)
    assert texts(asked) == [["[video attached; you cannot open it]", "what is it?"]]
    assert read([asked]).unreadable == ()


def test_there_is_no_question_where_nothing_can_be_read():
    reading = read([update(video=VIDEO)])
    assert (reading.question, reading.unreadable) == (None, ("unreadable_video",))


def test_an_album_is_one_question_of_all_its_pieces():
    """C100"""
    album = [update(photo=PHOTO, update_id=number, media_group_id="a") for number in (1, 2, 3)]
    album[1] = update(photo=PHOTO, update_id=2, media_group_id="a", caption="which is best?")
    piece = {**PICTURE, "album": "a"}
    assert contents(*album) == [[piece], [piece, "which is best?"], [piece]]
    assert read(album).unreadable == ()


def test_a_video_in_an_album_with_a_caption_needs_no_words_of_its_own():
    album = [
        update(photo=PHOTO, update_id=1, media_group_id="a", caption="which is best?"),
        update(video=VIDEO, update_id=2, media_group_id="a"),
    ]
    assert contents(*album)[1] == ["[video attached; you cannot open it]"]
    assert read(album).unreadable == ()


POINT = {"latitude": 56.95, "longitude": 24.1}


@pytest.mark.parametrize(
    ("carried", "sentence"),
    [
        pytest.param({"location": POINT}, "[location: 56.95, 24.1]", id="location"),
        pytest.param(
            {
                "location": POINT,
                "venue": {"location": POINT, "title": "Cafe", "address": "Main St 1"},
            },
            "[venue: Cafe, Main St 1, at 56.95, 24.1]",
            id="venue",
        ),
        pytest.param(
            {
                "contact": {
                    "phone_number": "+37120000000",
                    "first_name": "Ilze",
                    "last_name": "Ozola",
                }
            },
            "[contact: Ilze Ozola, +37120000000]",
            id="contact",
        ),
        pytest.param({"dice": {"emoji": "🎯", "value": 6}}, "[a throw of 🎯: 6]", id="dice"),
        pytest.param({"sticker": STICKER}, "[sticker 👍]", id="sticker"),
        pytest.param(
            {"sticker": {**STICKER, "emoji": None}}, "[sticker]", id="sticker without a sign"
        ),
        pytest.param({"poll": POLL}, "[poll: Tea or coffee? Options: tea; coffee]", id="poll"),
    ],
)
def test_what_can_be_said_in_a_sentence_is_said_to_the_model(carried, sentence):
    asked = update(**carried)
    assert kind_of(asked, ACCOUNT) == "content"
    assert (texts(asked), read([asked]).unreadable) == ([[sentence]], ())


def test_an_answer_to_a_poll_quotes_it():
    assert texts(update("coffee", reply_to_message=said(None, poll=POLL))) == [
        ["> [poll: Tea or coffee? Options: tea; coffee]", "coffee"]
    ]


CHANNEL = {"id": -100900, "type": "channel", "title": "News"}


@pytest.mark.parametrize(
    ("origin", "name"),
    [
        ({"type": "user", "sender_user": {**ANNA, "last_name": "Berg"}}, "Anna Berg"),
        ({"type": "hidden_user", "sender_user_name": "Boris"}, "Boris"),
        ({"type": "chat", "sender_chat": GROUP}, "Friends"),
        ({"type": "channel", "chat": CHANNEL, "message_id": 5}, "News"),
    ],
)
def test_a_forward_names_whom_it_comes_from_and_its_comment_stays_apart(origin, name):
    sent = [
        update("what do you think?"),
        update("Prices rise.", update_id=2, forward_origin={"date": DATE, **origin}),
    ]
    assert texts(*sent) == [["what do you think?"], [f"[forwarded from {name}]", "Prices rise."]]


def test_every_unreadable_kind_has_its_sentence_in_every_language():
    keys = {*UNREADABLE.values(), *ALWAYS_SAID, "unreadable_voice", "unreadable_audio"}
    for language in LANGUAGES:
        assert keys <= table(language).keys()


def test_blank_text_does_not_get_into_a_message():
    """The Messages API refuses it."""
    sent = update(photo=PHOTO, caption=" \n")
    assert [block["type"] for block in parts(sent)[0].content] == ["file"]


def test_what_no_store_can_hold_is_mended():
    """A lone half of a surrogate pair and a NUL; whole pairs and everything else stay."""
    assert clean({"a": ["x\ud83dy\0", "\ud83d\ude00", 1, None]}) == {
        "a": ["x\ufffdy", "😀", 1, None]
    }
    for raw, fit in (
        ("x\ud83dy\0", "x\ufffdy"),
        ("a\ud800b", "a\ufffdb"),
        ("a\0b", "ab"),
        ("🐞", "🐞"),
    ):
        assert texts(update(raw)) == [[fit]]
