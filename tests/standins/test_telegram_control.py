"""People can be moved from another process, and from nowhere but this machine."""

from __future__ import annotations

import asyncio
import base64
import json

import aiohttp
import pytest
from telegram import BotCommand, InlineKeyboardButton, InlineKeyboardMarkup
from telegram.error import BadRequest

FOREIGN = {
    "host": {"Host": "evil.example"},
    "rebound host with our port": {"Host": "evil.example:80"},
    "origin": {"Origin": "https://evil.example"},
    "origin of a file or a sandbox": {"Origin": "null"},
}


@pytest.fixture
async def http(telegram):
    async with aiohttp.ClientSession(base_url=telegram.url) as session:
        yield session


@pytest.fixture
async def tell(http):
    async def tell(verb, **told):
        async with http.post(f"/control/{verb}", json=told) as answer:
            return answer.status, await answer.json()

    return tell


@pytest.fixture
async def look(http):
    async def look(what, **query):
        async with http.get(f"/control/{what}", params=query) as answer:
            return await answer.json()

    return look


async def test_a_person_talks_edits_and_deletes(telegram_bot, tell, look):
    assert (await tell("person", user_id=9, first_name="Vera", language_code="ru"))[0] == 200
    _, said = await tell("say", person=9, text="hello")
    await tell("edit", person=9, message_id=said["message_id"], text="hello!")
    await telegram_bot.send_message(9, "hi")
    seen = await look("chat", id=9)
    assert [(message["text"], message["from_bot"]) for message in seen["messages"]] == [
        ("hello!", False),
        ("hi", True),
    ]
    await tell("delete", person=9, message_id=said["message_id"])
    assert [message["text"] for message in (await look("chat", id=9))["messages"]] == ["hi"]


async def test_a_person_pastes_presses_and_uploads(telegram_bot, tell, look, http):
    await tell("person", user_id=9, first_name="Vera")
    assert len((await tell("paste", person=9, text="x" * 5000))[1]) == 2
    keyboard = InlineKeyboardMarkup([[InlineKeyboardButton("Go", callback_data="token")]])
    await telegram_bot.send_message(9, "go?", reply_markup=keyboard)
    assert (await tell("press", person=9, button="Go"))[0] == 200
    content = base64.b64encode(b"words").decode()
    _, sent = await tell("upload", person=9, content=content, name="a.txt", mime="text/plain")
    async with http.get("/control/file", params={"id": sent["document"]["file_id"]}) as answer:
        assert await answer.read() == b"words"
    updates = await telegram_bot.get_updates()
    assert [update.callback_query.data for update in updates if update.callback_query] == ["token"]


async def test_a_draft_a_topic_and_the_typing_line_are_seen(telegram_bot, tell, look):
    await tell("person", user_id=9, first_name="Vera")
    _, topic = await tell("topic", person=9, name="Plans")
    await tell("say", person=9, text="hello", thread=topic["thread"])
    await telegram_bot.send_message_draft(9, 3, "writing", api_kwargs={"can_stop": True})
    await telegram_bot.send_chat_action(9, "typing")
    seen = await look("chat", id=9)
    assert (seen["draft"], seen["action"]) == (
        {"id": 3, "text": "writing", "can_stop": True},
        "typing",
    )
    await tell("stop", person=9)
    assert (await look("chat", id=9))["draft"] is None


async def test_groups_blocks_and_raw_updates(telegram, tell):
    await tell("person", user_id=9, first_name="Vera")
    _, group = await tell("group", type="supergroup", title="Talk", members=[9], forum=True)
    assert group["is_forum"]
    await tell("say", person=9, text="/new", chat=group["id"])
    await tell("block", person=9)
    await tell("unblock", person=9)
    assert (await tell("deliver", update_id=5, poll={}))[1] == {"update_id": 5}
    kinds = [
        next(key for key in item.update if key != "update_id")
        for item in telegram.state.updates.pending
    ]
    assert kinds == ["message", "my_chat_member", "my_chat_member", "poll"]


async def test_faults_can_be_ordered_and_called_off(telegram_bot, tell, anna):
    await tell("fault", method="sendMessage", kind="refused", text="no", times=2)
    with pytest.raises(BadRequest, match="No"):
        await telegram_bot.send_message(anna.id, "one")
    await tell("fault", kind="none")
    await telegram_bot.send_message(anna.id, "two")


async def test_the_journal_is_read_from_where_one_stopped(telegram_bot, anna, look):
    await telegram_bot.send_document(anna.id, b"x", filename="x.txt")
    calls = await look("journal", since=1)
    assert [(call["method"], call["status"]) for call in calls] == [("sendDocument", 200)]
    assert await look("journal", since=calls[-1]["number"]) == []


async def test_a_change_of_the_chat_is_streamed(telegram_bot, anna, http):
    async with http.get("/control/events", params={"id": anna.id}) as answer:
        first = json.loads((await answer.content.readuntil(b"\n\n"))[5:])
        await telegram_bot.send_message(anna.id, "hi")
        second = json.loads((await asyncio.wait_for(answer.content.readuntil(b"\n\n"), 5))[5:])
    assert [message["text"] for message in first["messages"]] == ["/start"]
    assert [message["text"] for message in second["messages"]] == ["/start", "hi"]


MISTAKES = {
    "nobody of that id": ("say", {"person": 404, "text": "x"}),
    "no text": ("say", {"person": 7}),
    "too long a text": ("say", {"person": 7, "text": "x" * 5000}),
    "no such button": ("press", {"person": 7, "button": "Go"}),
    "no such message": ("edit", {"person": 7, "message_id": 99, "text": "x"}),
    "no such fault": ("fault", {"method": "sendMessage", "kind": "flood"}),
}


@pytest.mark.parametrize(("verb", "told"), MISTAKES.values(), ids=MISTAKES)
async def test_a_mistake_is_told(tell, anna, verb, told):
    status, answer = await tell(verb, **told)
    assert status == 400
    assert answer["error"]


@pytest.mark.parametrize("headers", FOREIGN.values(), ids=FOREIGN)
async def test_foreign_pages_are_refused(http, telegram, headers):
    async with http.post(
        "/control/person", json={"user_id": 9, "first_name": "V"}, headers=headers
    ) as answer:
        assert answer.status == 403
    assert telegram.people == {}


@pytest.mark.parametrize("origin", ["http://127.0.0.1:1234", "http://localhost"])
async def test_pages_of_this_machine_are_let_in(http, anna, origin):
    async with http.get(
        "/control/chat", params={"id": anna.id}, headers={"Origin": origin}
    ) as answer:
        assert answer.status == 200


async def test_a_page_learns_of_the_bot_its_menu_and_the_chats(telegram_bot, tell, look):
    await telegram_bot.set_my_commands([BotCommand("new", "Start afresh")])
    await telegram_bot.set_my_commands([BotCommand("new", "Заново")], language_code="ru")
    await tell("person", user_id=9, first_name="Vera")
    await tell("group", title="Talk", members=[9])
    told = await look("bot", language="ru")
    assert (told["username"], told["commands"][0]["description"]) == ("emulated_bot", "Заново")
    assert (await look("bot", language="fr"))["commands"][0]["description"] == "Start afresh"
    assert [(chat["type"], chat["members"]) for chat in await look("chats")] == [
        ("private", []),
        ("group", [9]),
    ]
