"""The last question is edited after its answer: a button answers it again, in the place of the turn
it corrects.
"""

from __future__ import annotations

import asyncio

import pytest

from bot.standins.claude.faults import Fault
from bot.standins.telegram.faults import Fault as Held
from bot.texts import text
from tests.samples import jpeg

BUTTON = text("button_again", "en")
OFFER = text("again_offer", "en")
TOO_LATE = text("again_too_late", "en")
EXPIRED = text("button_expired", "en")


def said(session):
    return [
        block["text"]
        for message in session["messages"]
        for block in message["content"]
        if block["type"] == "text"
    ]


async def answered(state, query):
    await state.telegram.until(lambda: query.answer is not None)
    return query.answer.get("text", "")


async def corrects(state, person, message, words):
    """Edit it, and wait for the offer."""
    chat = state.telegram.state.chats[message.chat_id]
    before = len(chat.answers)
    person.edits(message, words)
    await state.telegram.until(lambda: len(chat.answers) > before)
    return chat.answers[-1]


async def idle(state):
    await state.eventually(
        lambda: state.database["inbox"].count_documents({"state": "queued"}) == 0
    )


@pytest.mark.parametrize("driver", ["motor", "pymongo"])
async def test_the_corrected_question_takes_the_place_of_the_old_one(state, anna, driver):
    """C103: the Session holds it once, and the seqs go on without a hole; also after a restart."""
    state.claude.script("Paris.", "Herring is a fish.", "Herons are birds.", "You are welcome.")
    async with state.bot(MONGODB_DRIVER=driver):
        await state.ask(anna, "What is the capital of France?")
        await state.ask(anna, "What are herrings?")
        offer = await corrects(state, anna, anna.chat.shown[2], "What are herons?")
        assert (offer.text, [button.text for button in offer.buttons]) == (OFFER, [BUTTON])
    async with state.bot(MONGODB_DRIVER=driver):
        assert await answered(state, anna.presses(BUTTON)) == ""
        await state.telegram.until(lambda: "Herons are birds." in anna.chat.text)
        await state.ask(anna, "Thank you.")

    session = state.session(anna.id)
    assert said(session) == [
        "What is the capital of France?",
        "Paris.",
        "What are herons?",
        "Herons are birds.",
        "Thank you.",
        "You are welcome.",
    ]
    assert [message["seq"] for message in session["messages"]] == list(range(6))
    assert (session["nextSeq"], session["revision"]) == (6, 4)
    assert "herrings" not in str(state.requests[-1]["messages"])
    assert [message.text for message in anna.chat.answers][2:4] == [
        text("answering_again", "en"),
        "Herons are birds.",
    ]


async def test_of_several_messages_the_corrected_one_is_changed_and_changed_again(state, anna):
    gate = asyncio.Event()
    state.claude.script("Hello.", "Herring and trains.", "Heron and trains.", "Herons and trains.")
    state.telegram.faults.next("sendMessage", Held.hold(gate))
    async with state.bot():
        anna.says("Hi")
        await state.telegram.until(lambda: state.telegram.journal.of("sendMessage"))
        line = anna.says("Tell me about herrings.")
        anna.says("And about trains.")
        await state.eventually(
            lambda: state.database["inbox"].count_documents({"state": "queued"}) == 3
        )
        gate.set()
        await state.telegram.until(lambda: len(anna.chat.answers) == 2)
        await idle(state)
        for words, answer in (("a heron.", "Heron and trains."), ("herons.", "Herons and trains.")):
            await corrects(state, anna, line, f"Tell me about {words}")
            anna.presses(BUTTON)
            await state.telegram.until(lambda answer=answer: answer in anna.chat.text)
            await idle(state)
    session = state.session(anna.id)
    assert said(session) == [
        "Hi",
        "Hello.",
        "Tell me about herons.",
        "And about trains.",
        "Herons and trains.",
    ]
    assert [message["seq"] for message in session["messages"]] == [0, 1, 2, 3]


async def test_two_presses_make_one_turn_and_the_newest_words_count(state, anna):
    async with state.bot():
        await state.ask(anna, "Tell me about herrings.")
        offer = await corrects(state, anna, anna.chat.shown[0], "Tell me about herrons.")
        anna.edits(anna.chat.shown[0], "Tell me about herons.")
        await idle(state)
        queries = [anna.presses(BUTTON, on=offer) for _ in range(2)]
        assert sorted([await answered(state, query) for query in queries]) == ["", EXPIRED]
        await state.telegram.until(lambda: len(anna.chat.answers) == 3)
        await idle(state)

    session = state.session(anna.id)
    assert (said(session)[0], session["revision"], len(session["messages"])) == (
        "Tell me about herons.",
        2,
        2,
    )
    assert len(state.requests) == 2
    assert anna.chat.answers[1].text == text("answering_again", "en")
    assert session["title"] == "Tell me about herons."


async def test_an_edit_that_changes_no_word_or_no_last_question_does_nothing(state, anna):
    """And an edited command is never run again, nor does an edit open a Session."""
    async with state.bot():
        command = anna.says("/new")
        await state.telegram.until(lambda: anna.chat.answers)
        anna.edits(command, "/reset")
        first = state.session(anna.id)["_id"]
        await state.ask(anna, "One?")
        await state.ask(anna, "Two?")
        one, two = (message for message in anna.chat.shown if message.text in {"One?", "Two?"})
        anna.touches(two)
        anna.edits(one, "One, please?")
        await state.eventually(
            lambda: state.database["inbox"].count_documents({"kind": "edit", "state": "done"}) == 2
        )
        state.passes(minutes=40)
        anna.edits(two, "Two, please?")
        await state.eventually(
            lambda: state.database["inbox"].count_documents({"kind": "edit", "state": "done"}) == 3
        )

    assert len(anna.chat.answers) == 3
    assert [session["_id"] for session in state.sessions(anna.id)] == [first]
    assert len(state.requests) == 2


async def test_too_late_is_said_and_nothing_is_asked(state, anna):
    async with state.bot():
        await state.ask(anna, "One?")
        offer = await corrects(state, anna, anna.chat.shown[0], "One, please?")
        await state.ask(anna, "Two?")
        await answered(state, anna.presses(BUTTON, on=offer))
        await state.telegram.until(lambda: TOO_LATE in anna.chat.text)
    assert len(state.requests) == 2
    assert said(state.session(anna.id))[::2] == ["One?", "Two?"]


async def test_what_is_edited_while_it_is_being_answered_is_offered_afterwards(state, anna):
    gate = asyncio.Event()
    state.telegram.faults.next("sendMessage", Held.hold(gate))
    async with state.bot():
        question = anna.says("Tell me about herrings.")
        await state.telegram.until(lambda: state.telegram.journal.of("sendMessage"))
        anna.edits(question, "Tell me about herons.")
        await state.eventually(lambda: state.database["inbox"].count_documents({"kind": "edit"}))
        gate.set()
        await state.telegram.until(lambda: OFFER in anna.chat.text)


async def test_a_corrected_caption_is_asked_again_with_its_picture(state, anna):
    photo = jpeg()
    state.claude.script("A herring.", "A heron.")
    async with state.bot():
        anna.sends_photo(photo, "Which herring is it?")
        await state.telegram.until(lambda: anna.chat.answers)
        anna.touches(anna.chat.shown[0])
        await corrects(state, anna, anna.chat.shown[0], "Which heron is it?")
        anna.presses(BUTTON)
        await state.telegram.until(lambda: "A heron." in anna.chat.text)
    asked = state.requests[-1]["messages"]
    assert [block["type"] for block in asked[-1]["content"]].count("image") == 1
    assert "Which heron is it?" in said(state.session(anna.id))
    assert "herring" not in str(asked) + str(state.session(anna.id)["messages"])
    assert len(anna.chat.answers) == 3


async def test_a_failed_question_is_tried_again_as_it_is_now(state, anna):
    state.claude.faults.next(Fault.refusal())
    async with state.bot():
        await state.ask(anna, "Tell me about herrings.")
        anna.edits(anna.chat.shown[0], "Tell me about herons.")
        await state.eventually(
            lambda: state.database["inbox"].count_documents({"kind": "edit", "state": "done"})
        )
        anna.presses("Try again")
        await state.telegram.until(lambda: len(anna.chat.answers) == 2)
    assert said(state.session(anna.id))[0] == "Tell me about herons."


async def test_an_offer_that_a_retry_made_void_does_not_stand_in_the_way_of_the_next(state, anna):
    state.claude.script("A herring.")
    async with state.bot():
        await state.ask(anna, "What is a herring?")
        question = anna.chat.shown[0]
        offer = await corrects(state, anna, question, "What is a herron?")
        state.claude.faults.next(Fault.status(400, "bad"))
        anna.presses(BUTTON, on=offer)
        await state.telegram.until(lambda: len(anna.chat.answers) == 3)
        await corrects(state, anna, question, "What is a heron?")
        await idle(state)
        state.passes(seconds=1)
        state.claude.script("A heron.")
        anna.presses("Try again")
        await state.telegram.until(lambda: "A heron." in anna.chat.text)
        await idle(state)
        assert (await corrects(state, anna, question, "What is a heron, please?")).text == OFFER
