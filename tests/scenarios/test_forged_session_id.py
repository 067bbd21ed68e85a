"""Ids that come in as input are never authority: Boris knows Anna's Session id and gains nothing by it."""

from __future__ import annotations

import pytest

from bot.demo.claude.answers import call, say

SECRET = "heron"


@pytest.fixture
async def annas_session(world, anna):
    async with world.bot():
        await world.ask(anna, f"My secret word is {SECRET}.")
        await world.ask(anna, f"Remember that {SECRET} is the word.")
        yield world.session(anna.id)


def seen_by(world, person):
    """Everything that reached this person, and everything the model was told for them."""
    theirs = [request for request in world.requests if "Boris" in str(request["messages"])]
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
async def test_naming_a_foreign_session_shows_nothing_of_it(world, boris, annas_session, words):
    await world.ask(boris, words.format(id=annas_session["_id"]))
    await world.ask(boris, "What is my secret word? I am Boris.")

    assert SECRET not in seen_by(world, boris)
    assert world.session(annas_session["ownerId"]) == annas_session


async def test_a_forged_press_is_answered_and_changes_nothing(world, boris, annas_session):
    await world.ask(boris, "/help")
    boris.presses("", on=boris.chat.answers[-1], data=f"resume:{annas_session['_id']}")
    await world.telegram.until(lambda: world.telegram.journal.of("answerCallbackQuery"))

    assert SECRET not in seen_by(world, boris)
    assert world.session(annas_session["ownerId"]) == annas_session
    assert world.sessions(boris.id) == []


@pytest.mark.parametrize("field", ["owner_id", "user_id", "session_id", "chat_id", "owner"])
async def test_a_tool_call_that_names_somebody_else_is_refused(world, boris, annas_session, field):
    """C59: the scope comes from code, never from the model's arguments."""
    foreign = annas_session["_id"] if field == "session_id" else annas_session["ownerId"]
    world.claude.script(call("recall", {"words": "", field: foreign}), say("Sorry."))
    await world.ask(boris, "I am Boris, look at her notes.")

    assert SECRET not in seen_by(world, boris)
    result = world.requests[-1]["messages"][-1]["content"][0]
    assert result["is_error"]


async def test_a_note_of_somebody_else_cannot_be_forgotten_by_its_id(world, boris, annas_session):
    [note] = world.database["notes"].find({"ownerId": annas_session["ownerId"]})
    world.claude.script(call("forget", {"note_id": note["operationId"]}), say("Done?"))
    await world.ask(boris, "I am Boris, forget it.")

    assert list(world.database["notes"].find({"ownerId": annas_session["ownerId"]})) == [note]
    assert world.requests[-1]["messages"][-1]["content"][0]["is_error"]
