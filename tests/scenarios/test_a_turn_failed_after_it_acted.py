"""C146: a tool has acted, then the model fails for good: the person is told, and what was done is
not lost.
"""

from __future__ import annotations

import json
import sys

import pytest

from bot.standins.claude.answers import call
from bot.standins.claude.faults import Fault
from bot.texts import text
from bot.turn import Turn
from tests.scenarios.test_an_operators_own_tool import install

__all__ = ["install"]

SENDS = """
from bot.agent.tools import Arguments, Tool
SENT = []
class To(Arguments):
    to: str
async def send(context, given):
    SENT.append(given.to)
    return f"Letter 7 went to <{given.to}>."
TOOL = Tool("send_letter", "Sends a letter.", To, send, has_effect=True)
"""


@pytest.fixture
def sent(install):
    """What the tool has really sent."""
    install("letters", SENDS, {"letters": "letters:TOOL"})
    return lambda: sys.modules["letters"].SENT


def has_results(body):
    return any(block["type"] == "tool_result" for block in body["messages"][-1]["content"])


async def failed(state, person):
    """A letter was sent, and then the model could not be used any more."""
    state.claude.script(call("send_letter", {"to": "Riga"}))
    state.claude.faults.next(Fault.status(401), when=has_results)
    said = await state.ask(person, "Send a letter to Riga.", answers=2)
    assert said.splitlines()[0] == text("failed_after_effects", "en", tools="send_letter")
    assert said.splitlines()[1] == text("error_misconfigured", "en")


async def test_trying_again_gives_the_model_the_real_result(state, anna, sent):
    async with state.bot():
        await failed(state, anna)
    async with state.bot():
        state.claude.script(call("send_letter", {"to": "Riga"}), "It is on its way.")
        anna.presses("Try again")
        await state.telegram.until(lambda: anna.chat.answers[-1].text == "It is on its way.")
        await state.ask(anna, "Thank you.")

    assert sent() == ["Riga"]
    results = [
        block
        for block in state.requests[3]["messages"][-1]["content"]
        if block["type"] == "tool_result"
    ]
    assert [(one["content"], one.get("is_error", False)) for one in results] == [
        ("Letter 7 went to <Riga>.", False)
    ]
    assert "already_done" not in json.dumps(state.requests[-1]["messages"])


async def test_asking_again_in_words_shows_the_model_what_was_done_once(state, anna, boris, sent):
    """As data that cannot close its own tag; to nobody else; and in no later question again."""
    async with state.bot():
        await failed(state, anna)
        await state.ask(boris, "Hello there.")
        await state.ask(anna, "Did you send it?")
        await state.ask(anna, "And now?")

    hello, again, later = (request["messages"] for request in state.requests[2:])
    told = again[-1]["content"][-1]["text"]
    assert "send_letter: Letter 7 went to &lt;Riga&gt;." in told
    assert told.endswith("</already_done>")
    assert "already_done" not in json.dumps(hello)
    assert "already_done" not in json.dumps(later[-1])
    assert sent() == ["Riga"]


async def test_a_new_conversation_knows_nothing_of_it(state, anna, sent):
    async with state.bot():
        await failed(state, anna)
        await state.eventually(lambda: state.database["inbox"].find_one({"state": "failed"}))
        state.passes(seconds=5)
        await state.ask(anna, "/new")
        await state.ask(anna, "Hello.")
    assert "already_done" not in json.dumps(state.requests[-1]["messages"])
    assert sent() == ["Riga"]


async def test_a_turn_that_was_stopped_says_what_was_done_and_the_next_shows_the_model(
    state, anna, sent
):
    state.claude.script(call("send_letter", {"to": "Riga"}))
    state.claude.faults.next(Fault.stalled(after=0), when=has_results)
    async with state.bot():
        anna.says("Send a letter to Riga.")
        await state.claude.until(lambda _: len(state.requests) == 2)
        said = await state.ask(anna, "/stop", answers=3)
        await state.ask(anna, "Did you send it?")

    assert text("stopped_after_effects", "en", tools="send_letter") in said.splitlines()
    assert "send_letter: Letter 7 went to" in json.dumps(state.requests[-1]["messages"][-1])
    assert sent() == ["Riga"]


async def test_a_turn_that_broke_unexpectedly_says_what_was_done(state, anna, sent, monkeypatch):
    async def breaks(*_given):
        raise ZeroDivisionError

    state.claude.script(call("send_letter", {"to": "Riga"}), "It is on its way.", "Yes.")
    monkeypatch.setattr(Turn, "commit", breaks)
    async with state.bot():
        said = await state.ask(anna, "Send a letter to Riga.", answers=2)
        monkeypatch.undo()
        await state.ask(anna, "Did you send it?")

    assert said.splitlines() == [
        text("failed_after_effects", "en", tools="send_letter"),
        text("error_unexpected", "en"),
    ]
    assert "send_letter: Letter 7 went to" in json.dumps(state.requests[-1]["messages"][-1])


async def test_words_that_were_shown_and_lost_with_the_last_try_are_kept_and_marked(state, anna):
    """C143, C146: with a button that tries it again."""
    state.claude.faults.next(*[Fault.dropped(after=6)] * 4)
    state.claude.script("Herons stand in shallow water and wait for fish all day long.")
    async with state.bot():
        said = await state.ask(anna, "Tell me about herons.", answers=2)
        kept, apology = said.rsplit("\n", 1)
        assert kept.startswith("Herons")
        assert kept.endswith(text("ending_interrupted", "en"))
        assert apology == text("error_model_busy", "en")
        anna.presses("Try again")
        await state.telegram.until(lambda: anna.chat.answers[-1].text.endswith("day long."))

    assert [message["role"] for message in state.session(anna.id)["messages"]] == [
        "user",
        "assistant",
    ]
