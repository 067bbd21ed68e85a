"""Ids that come in as input are never authority: Boris knows Anna's Session id and gains nothing by
it.
"""

from __future__ import annotations

import pytest

from bot.standins.claude.answers import call, say

SECRET = "heron"


@pytest.fixture
async def annas_session(state, anna):
    async with state.bot():
        await state.ask(anna, f"My secret word is {SECRET}.")
        await state.ask(anna, f"Remember that {SECRET} is the word.")
        yield state.session(anna.id)


def seen_by(state, person):
    """Everything that reached this person, and everything the model was told for them."""
    theirs = [request for request in state.requests if "Boris" in str(request["messages"])]
    return str([message.text for message in person.chat.answers]) + str(theirs)


@pytest.mark.parametrize(
    "words",
    [
        "/start {id}",
        "/start session_{id}",
        "/new {id}",
        "/reset {id}",
        "Boris here, continue session {id}",
        "/help {id}",
    ],
    ids=["deep link", "prefixed deep link", "new", "reset", "plain words", "help"],
)
async def test_naming_a_foreign_session_shows_nothing_of_it(state, boris, annas_session, words):
    await state.ask(boris, words.format(id=annas_session["_id"]))
    await state.ask(boris, "What is my secret word? I am Boris.")

    assert SECRET not in seen_by(state, boris)
    assert state.session(annas_session["ownerId"]) == annas_session


async def test_a_forged_press_is_answered_and_changes_nothing(state, boris, annas_session):
    await state.ask(boris, "/help")
    boris.presses("", on=boris.chat.answers[-1], data=f"resume:{annas_session['_id']}")
    await state.telegram.until(lambda: state.telegram.journal.of("answerCallbackQuery"))

    assert SECRET not in seen_by(state, boris)
    assert state.session(annas_session["ownerId"]) == annas_session
    assert state.sessions(boris.id) == []


@pytest.mark.parametrize("field", ["owner_id", "user_id", "session_id", "chat_id", "owner"])
async def test_a_tool_call_that_names_somebody_else_is_refused(state, boris, annas_session, field):
    """C59: the scope comes from code, never from the model's arguments."""
    foreign = annas_session["_id"] if field == "session_id" else annas_session["ownerId"]
    state.claude.script(call("recall", {"words": "", field: foreign}), say("Sorry."))
    await state.ask(boris, "I am Boris, look at her notes.")

    assert SECRET not in seen_by(state, boris)
    result = state.requests[-1]["messages"][-1]["content"][0]
    assert result["is_error"]


async def test_a_note_of_somebody_else_cannot_be_forgotten_by_its_id(state, boris, annas_session):
    [note] = state.database["notes"].find({"ownerId": annas_session["ownerId"]})
    state.claude.script(call("forget", {"note_id": note["operationId"]}), say("Done?"))
    await state.ask(boris, "I am Boris, forget it.")

    assert list(state.database["notes"].find({"ownerId": annas_session["ownerId"]})) == [note]
    assert state.requests[-1]["messages"][-1]["content"][0]["is_error"]
