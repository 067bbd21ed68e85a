"""Whatever a person sends in whatever kind of chat: journals of what they would see."""

from __future__ import annotations

import asyncio

import pytest

from bot.standins.telegram.faults import Fault
from bot.standins.telegram.service_messages import anonymous, as_channel

NEWS = {
    "type": "channel",
    "chat": {"id": -100900, "type": "channel", "title": "News"},
    "message_id": 5,
}


def asked(state, number=-1):
    """The words of the last question the model got, piece by piece."""
    content = state.requests[number]["messages"][-1]["content"]
    words = (
        [content]
        if isinstance(content, str)
        else [block["text"] for block in content if block["type"] == "text"]
    )
    return "\n".join(words)


async def settled(state, chat, answers):
    """So many answers, and nothing that still waits."""
    await state.telegram.until(lambda: len(chat.answers) >= answers)
    await state.eventually(
        lambda: state.database["inbox"].count_documents({"state": "queued"}) == 0
    )
    return [message.text for message in chat.answers]


async def until_gathered(state):
    """What gathers waits for more on the world's clock."""
    await state.eventually(lambda: state.database["inbox"].count_documents({"state": "queued"}))
    state.passes(seconds=2)


async def test_a_long_paste_is_one_question(state, anna):
    """C99"""
    text = "".join(f"{number:05d};" for number in range(1500))
    state.claude.script("That is long.")
    async with state.bot():
        anna.pastes(text)
        await until_gathered(state)
        assert await settled(state, anna.chat, 1) == ["That is long."]
    assert text in asked(state)


async def test_a_forward_with_its_comment_is_one_question(state, anna):
    state.claude.script("Inflation.")
    async with state.bot():
        anna.says("Why is that so?")
        anna.forwards("Prices rise.", NEWS)
        await until_gathered(state)
        assert await settled(state, anna.chat, 1) == ["Inflation."]
    assert "[forwarded from News]\nPrices rise." in asked(state)
    assert "Why is that so?" in asked(state)


async def test_what_is_corrected_while_it_waits_is_asked_as_it_is_now(state, anna):
    """An edit of what was answered already is no new question."""
    gate = asyncio.Event()
    state.claude.script("First.", "Second.")
    state.telegram.faults.next("sendMessage", Fault.hold(gate))
    async with state.bot():
        first = anna.says("One?")
        await state.telegram.until(lambda: state.telegram.journal.of("sendMessage"))
        second = anna.says("Tow?")
        anna.edits(second, "Two?")
        anna.edits(first, "One, please?")
        corrected = {"update.message.text": "Two?"}
        await state.eventually(lambda: state.database["inbox"].count_documents(corrected))
        gate.set()
        assert await settled(state, anna.chat, 2) == ["First.", "Second."]
    assert asked(state).endswith("Two?")
    assert len(state.requests) == 2


async def test_who_blocks_the_bot_pays_for_no_more_words(state, anna):
    state.claude.script(" ".join(f"word{number}" for number in range(400)))
    state.claude.faults.slow(0.1)
    async with state.bot():
        anna.says("Tell me a lot.")
        await state.telegram.until(lambda: anna.chat.draft(state.clock.now()))
        anna.blocks()
        await state.eventually(
            lambda: state.database["inbox"].count_documents({"state": "refused"})
        )
    assert "[interrupted]" in str(state.session(anna.id)["messages"][-1])
    assert anna.chat.answers == []


async def test_what_is_quoted_goes_along(state, anna):
    state.claude.script("Herons are birds.", "Because they can fly.")
    async with state.bot():
        await state.ask(anna, "What are herons?")
        await state.ask(anna, "Why?", reply_to=anna.chat.answers[0])
    assert "> Herons are birds.\nWhy?" in asked(state)


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        ({"location": {"latitude": 56.95, "longitude": 24.1}}, "[location: 56.95, 24.1]"),
        ({"dice": {"emoji": "🎯", "value": 6}}, "[a throw of 🎯: 6]"),
        ({"contact": {"phone_number": "+371", "first_name": "Ilze"}}, "[contact: Ilze, +371]"),
    ],
    ids=["location", "dice", "contact"],
)
async def test_what_can_be_said_in_a_sentence_is_answered(state, anna, sent, said):
    state.claude.script("I see.")
    async with state.bot():
        anna.sends(sent)
        assert await settled(state, anna.chat, 1) == ["I see."]
    assert said in asked(state)


async def test_what_cannot_be_read_is_said_in_the_persons_language(state, boris):
    async with state.bot():
        boris.sends_voice(b"OggS")
        [answer] = await settled(state, boris.chat, 1)
    assert answer.startswith("Голосовые")
    assert state.requests == []


async def test_unknown_commands_are_answered_others_bots_are_not_and_deep_links_do_no_harm(
    state, anna
):
    group = state.telegram.supergroup(members=[anna])
    async with state.bot():
        assert "/help" in await state.ask(anna, "/nonsense")
        assert "Hello!" in await state.ask(anna, "/start reset_all-1")
        anna.says("/new@other_bot", chat=group)
        anna.says("/nonsense", chat=group)
        assert "/help" in await state.ask(anna, "/nonsense@emulated_bot", chat=group)
    assert len(group.answers) == 1
    assert state.sessions() == []


async def test_each_topic_is_a_talk_of_its_own(state, anna):
    """C104: in a forum and in a private chat with topics; General is the chat itself."""
    forum = state.telegram.supergroup(members=[anna], forum=True)
    herons, trains = anna.topic("Herons", forum), anna.topic("Trains", forum)
    async with state.bot():
        await state.ask(anna, "@emulated_bot my secret word is heron.", chat=forum, thread=herons)
        answer = await state.ask(
            anna, "@emulated_bot what is my secret word?", chat=forum, thread=trains
        )
        again = await state.ask(
            anna, "@emulated_bot what is my secret word?", chat=forum, thread=herons
        )
        await state.ask(anna, "@emulated_bot hello", chat=forum)
        await state.ask(anna, "/reset@emulated_bot", chat=forum, thread=herons)
    assert "heron" not in answer
    assert "heron" in again
    threads = [message.thread_id for message in forum.answers]
    assert threads == [herons, trains, herons, None, herons]
    active = {
        session["threadId"]: len(session["messages"])
        for session in state.sessions(anna.id, status="active")
    }
    assert active == {herons: 0, trains: 2, None: 2}


async def test_a_reply_chain_in_a_plain_group_is_no_topic(state, anna):
    """C102"""
    group = state.telegram.supergroup(members=[anna])
    state.claude.script("First.", "Second.")
    async with state.bot():
        await state.ask(anna, "@emulated_bot one?", chat=group)
        await state.ask(anna, "two?", chat=group, reply_to=group.answers[0])
    assert [message.text for message in group.answers] == ["First.", "Second."]
    assert all(call.status == 200 for call in state.telegram.journal.of("sendMessage"))
    assert state.session(anna.id)["threadId"] is None


async def test_members_of_a_group_share_no_session_and_small_talk_is_not_heard(state, anna, boris):
    group = state.telegram.supergroup(members=[anna, boris])
    async with state.bot():
        await state.ask(anna, "@emulated_bot my secret word is heron.", chat=group)
        anna.says("nice weather", chat=group)
        answer = await state.ask(boris, "@emulated_bot what is my secret word?", chat=group)
        again = await state.ask(
            anna, "What is my secret word?", chat=group, reply_to=group.answers[0]
        )
    assert "heron" not in answer
    assert "heron" in again
    assert "weather" not in str(state.requests)


async def test_anonymous_admins_and_channels_get_a_sentence_and_no_session(state, anna):
    """C60, C61: and a post in a channel, which nobody has written, gets nothing."""
    group = state.telegram.supergroup(members=[anna])
    channel = state.telegram.channel()
    async with state.bot():
        answer = await state.ask(anna, "/new@emulated_bot", chat=group, **anonymous(group))
        anna.says("@emulated_bot hello", chat=group, **as_channel(channel))
        state.telegram.events.post(channel, "@emulated_bot hello")
        await state.ask(anna, "Hello")
    assert "post anonymously" in answer
    assert len(group.answers) == 1
    assert channel.answers == []
    assert [session["chatId"] for session in state.sessions()] == [anna.id]


async def test_the_bot_leaves_chats_it_is_not_allowed_in(state, anna, boris):
    allowed = state.telegram.supergroup("Anna's", members=[anna], standing="left")
    foreign = state.telegram.supergroup("Boris'", members=[boris], standing="left")
    async with state.bot(ALLOWED_USER_IDS=str(anna.id)):
        state.telegram.events.join(allowed, by=anna)
        state.telegram.events.join(foreign, by=boris)
        await state.telegram.until(lambda: foreign.standing == "left" and foreign.answers)
        assert "Hello" in await state.ask(anna, "/start@emulated_bot", chat=allowed)
    assert allowed.standing == "member"
