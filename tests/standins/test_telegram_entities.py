"""Entities given by offset are checked, mended and limited as Telegram does it."""

from __future__ import annotations

import pytest
from telegram import MessageEntity

from bot.standins.telegram.entities import Entity, detected, mended

LINKS = {
    "script": ("javascript:alert(1)", "Unsupported URL protocol"),
    "another protocol": ("ftp://a.bc", "Unsupported URL protocol"),
    "one word": ("localhost", "Wrong HTTP URL"),
    "relative": ("/path", "URL host is empty"),
    "spaces": ("http://a.bc/x y", "Wrong HTTP URL"),
    "empty": ("", "URL host is empty"),
    "a port out of range": ("http://a.bc:99999", "Wrong HTTP URL"),
}
OUTSIDE = {
    "begins after the end": ((5, 1), "entity begins after the end of the text at UTF-16 offset 5"),
    "ends after the end": (
        (1, 9),
        "entity beginning at UTF-16 offset 1 ends after the end of the text at UTF-16 offset 10",
    ),
    "begins inside an emoji": (
        (2, 2),
        "entity begins in a middle of a UTF-16 symbol at byte offset 1",
    ),
    "ends inside an emoji": (
        (0, 2),
        "entity beginning at UTF-16 offset 0 ends in a middle of a UTF-16 symbol at byte offset 1",
    ),
}
MENDED = {
    "sorted": ([("italic", 3, 1), ("bold", 0, 2)], [("bold", 0, 2), ("italic", 3, 1)]),
    "no duplicates": ([("bold", 0, 3), ("bold", 0, 3)], [("bold", 0, 3)]),
    "no empties": ([("bold", 2, 0)], []),
    "no negative offsets": ([("bold", -1, 3)], []),
    "joined when they touch": ([("bold", 0, 3), ("bold", 3, 2)], [("bold", 0, 5)]),
    "code swallows bold": ([("code", 0, 5), ("bold", 1, 2)], [("code", 0, 5)]),
    "bold stops at code": (
        [("code", 2, 2), ("bold", 0, 6)],
        [("bold", 0, 2), ("code", 2, 2), ("bold", 4, 2)],
    ),
    "crossing styles are split": (
        [("bold", 0, 4), ("italic", 2, 4)],
        [("bold", 0, 4), ("italic", 2, 2), ("italic", 4, 2)],
    ),
    "nesting stays": ([("italic", 1, 2), ("bold", 0, 5)], [("bold", 0, 5), ("italic", 1, 2)]),
    "a second code across the first goes": ([("code", 0, 3), ("pre", 2, 3)], [("code", 0, 3)]),
    "white space is not formatted": ([("bold", 5, 1)], []),
    "types Telegram finds itself are ignored": ([("mention", 0, 3)], []),
}
FOUND = {
    "command": ("/new now", [("bot_command", 0, 4)]),
    "command for a bot": ("/new@emulated_bot x", [("bot_command", 0, 17)]),
    "no command inside a path": ("a/b //c </d", []),
    "mention": ("hi @anna_b!", [("mention", 3, 7)]),
    "no mention in an address": ("a@b.cd", [("email", 0, 6)]),
    "link": ("see https://a.bc/d.", [("url", 4, 14)]),
    "hashtag": ("#news #1", [("hashtag", 0, 5)]),
    "after an emoji": ("😀 /x", [("bot_command", 3, 2)]),
}


def plain(entities):
    return [(entity["type"], entity["offset"], entity["length"]) for entity in entities]


@pytest.mark.parametrize(("url", "reason"), LINKS.values(), ids=LINKS)
async def test_a_link_telegram_does_not_open_is_refused(telegram_call, anna, url, reason):
    link = {"type": "text_link", "offset": 0, "length": 1, "url": url}
    status, answer = await telegram_call("sendMessage", chat_id=anna.id, text="x", entities=[link])
    assert (status, answer["description"]) == (
        400,
        f"Bad Request: entity URL '{url}' is invalid: {reason}",
    )


@pytest.mark.parametrize(
    "url", ["https://a.bc/d?e#f", "http://a.bc/", "tg://resolve?domain=x", "http://a.bc:8080/x"]
)
async def test_a_link_telegram_opens_is_kept(telegram_bot, anna, url):
    sent = await telegram_bot.send_message(
        anna.id, "x", entities=[MessageEntity("text_link", 0, 1, url=url)]
    )
    assert sent.entities[0].url == url


async def test_a_link_without_a_scheme_or_a_path_is_completed(telegram_bot, anna):
    sent = await telegram_bot.send_message(
        anna.id, "x", entities=[MessageEntity("text_link", 0, 1, url="a.bc")]
    )
    assert sent.entities[0].url == "http://a.bc/"


async def test_a_link_to_a_user_is_a_mention(telegram_bot, anna):
    link = MessageEntity("text_link", 0, 1, url="tg://user?id=7")
    sent = await telegram_bot.send_message(anna.id, "x", entities=[link])
    assert (sent.entities[0].type, sent.entities[0].user.id) == ("text_mention", 7)


@pytest.mark.parametrize(("span", "words"), OUTSIDE.values(), ids=OUTSIDE)
async def test_offsets_that_do_not_fit_are_refused(telegram_call, anna, span, words):
    bold = {"type": "bold", "offset": span[0], "length": span[1]}
    status, answer = await telegram_call(
        "sendMessage", chat_id=anna.id, text="a😀bc", entities=[bold]
    )
    assert (status, answer["description"]) == (400, f"Bad Request: {words}")


@pytest.mark.parametrize(("given", "expected"), MENDED.values(), ids=MENDED)
async def test_entities_are_mended(telegram_call, anna, given, expected):
    entities = [
        {"type": kind, "offset": offset, "length": length} for kind, offset, length in given
    ]
    _, answer = await telegram_call(
        "sendMessage", chat_id=anna.id, text="abcde fgh", entities=entities
    )
    assert plain(answer["result"].get("entities", ())) == expected


async def test_an_unknown_type_is_refused(telegram_call, anna):
    status, answer = await telegram_call(
        "sendMessage",
        chat_id=anna.id,
        text="x",
        entities=[{"type": "blink", "offset": 0, "length": 1}],
    )
    assert (status, answer["description"]) == (
        400,
        "Bad Request: can't parse entities: unsupported type specified",
    )


async def test_entities_are_checked_after_the_chat(telegram_call):
    link = {"type": "text_link", "offset": 0, "length": 1, "url": "localhost"}
    _, answer = await telegram_call("sendMessage", chat_id=999, text="x", entities=[link])
    assert answer["description"] == "Bad Request: chat not found"


async def test_the_hundred_and_first_entity_is_silently_forgotten(telegram_bot, anna):
    words = " ".join("x" * 300)
    bold = [MessageEntity("bold", 2 * index, 1) for index in range(300)]
    sent = await telegram_bot.send_message(anna.id, words, entities=bold)
    assert [entity.offset for entity in sent.entities] == [2 * index for index in range(100)]


async def test_text_is_trimmed_and_entities_move_with_it(telegram_bot, anna):
    sent = await telegram_bot.send_message(
        anna.id, " \n ab  \n", entities=[MessageEntity("bold", 3, 4)]
    )
    assert (sent.text, sent.entities[0].offset, sent.entities[0].length) == ("ab", 0, 2)


async def test_carriage_returns_are_not_shown_and_offsets_move(telegram_bot, anna):
    sent = await telegram_bot.send_message(
        anna.id, "a\r\nb\r\nc", entities=[MessageEntity("bold", 3, 4)]
    )
    assert (sent.text, sent.entities[0].offset, sent.entities[0].length) == ("a\nb\nc", 2, 3)


async def test_control_characters_become_spaces(telegram_bot, anna):
    assert (await telegram_bot.send_message(anna.id, "a\x00b\x1fc\td")).text == "a b c\td"


async def test_half_an_emoji_is_refused(telegram_call, anna):
    status, answer = await telegram_call("sendMessage", chat_id=anna.id, text="a\ud83d")
    assert (status, answer["description"]) == (400, "Bad Request: strings must be encoded in UTF-8")


@pytest.mark.parametrize(
    "entities", ["{", {"type": "bold"}, [1], [{"type": "bold", "offset": "0", "length": 1}]]
)
async def test_malformed_entities_are_refused(telegram_call, anna, entities):
    status, answer = await telegram_call(
        "sendMessage", chat_id=anna.id, text="x", entities=entities
    )
    assert status == 400
    assert answer["description"].startswith("Bad Request: can't parse entities")


@pytest.mark.parametrize(("text", "expected"), FOUND.values(), ids=FOUND)
def test_telegram_finds_by_itself(text, expected):
    assert plain(entity.json() for entity in detected(text)) == expected


def test_what_is_found_never_overlaps_what_was_given():
    entities = mended("/new x", [Entity("code", 0, 4), Entity("bold", 2, 4)])
    assert plain(entity.json() for entity in entities) == [("code", 0, 4), ("bold", 4, 2)]
