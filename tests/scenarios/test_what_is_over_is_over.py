"""A Session that is over is shown by nothing, though the database's clean-up has not come to it
yet.
"""

from __future__ import annotations

import pytest

from bot.standins.claude.answers import call, calls, say, think
from bot.telegram.callbacks import CALLBACKS
from bot.telegram.command_names import COMMANDS

SECRET = "heron"
AN_HOUR = {
    "SESSION_TTL_SECONDS": "3600",
    "SESSION_RESUME_SECONDS": "7200",
    "SESSION_MAX_AGE_SECONDS": "4000",
}
LOOKING = [f"/{name}" for name in COMMANDS if name not in {"new", "reset"}]


TOOLS: dict[str, dict[str, object]] = {
    "recall": {"words": "secret"},
    "search": {"words": "secret"},
    "forget": {"note_id": "1"},
    "update_plan": {"steps": [{"number": 1, "status": "done"}]},
    "close_plan": {},
    "remember": {"text": "I like tea."},
    "set_plan": {"goal": "rest", "steps": ["sleep"]},
}
"""How each tool is asked; a new one has to be named here."""


def tokens(turn, session):
    """What an old or a forged button may name: a turn, an edit, a Session, a place in a list."""
    at = f"{session['lastActive'].timestamp():.0f}"
    start = session["_id"][:8]
    return (turn, f"1:{turn}:0:1", session["_id"], start, f"{at}:{start}", "")


async def nothing(_state, _anna):
    """It is left alone."""


async def new(state, anna):
    await state.ask(anna, "/new")


WAYS = {
    "by idleness": (nothing, {"minutes": 61}, {"SESSION_RESUME_SECONDS": "0"}),
    "by age, though never idle": (nothing, {"minutes": 61}, {"SESSION_TTL_SECONDS": "7200"}),
    "closed, past its resume time": (
        new,
        {"hours": 3, "minutes": 1},
        {"SESSION_MAX_AGE_SECONDS": "86400"},
    ),
}


async def pressed(state, anna, data):
    """Press a forged or an old button, and wait for what it says."""
    query = anna.presses("", on=anna.chat.answers[0], data=data)
    await state.telegram.until(lambda: query.answer is not None)
    return query.answer.get("text", "")


@pytest.mark.parametrize("way", WAYS)
async def test_no_command_button_or_tool_shows_a_character_of_it(state, anna, way):
    """C153"""
    ends, passed, changes = WAYS[way]
    async with state.bot(**AN_HOUR | changes):
        state.claude.script(
            calls(call("set_plan", {"goal": SECRET, "steps": [SECRET]})), say(f"It is {SECRET}.")
        )
        await state.ask(anna, f"My secret word is {SECRET}.")
        [turn] = state.session(anna.id)["turns"]
        await ends(state, anna)
        if way.startswith("by age"):
            state.passes(minutes=30)
            await state.ask(anna, "Still there?")
        state.passes(**passed)
        before = len(anna.chat.answers)

        shown = [await state.ask(anna, command) for command in LOOKING]
        first, [over] = anna.chat.answers[0], state.sessions(anna.id, turns=turn)
        said = first.text
        for name in CALLBACKS:
            shown += [await pressed(state, anna, f"{name}:{token}") for token in tokens(turn, over)]
        asking = [call(name, arguments) for name, arguments in TOOLS.items()]
        state.claude.script(think("Hm.", calls(*asking)), say("I do not know it."))
        await state.ask(anna, "And the word?", answers=1 if ends is new else 2)
        found = state.requests[-1]["messages"]
        shown += [message.text for message in anna.chat.answers[before:]]
        shown += [first.text] if first.text != said else []

    assert [text for text in shown if SECRET in text.casefold()] == []
    assert SECRET not in str(found).casefold()
    assert str(found).count("'tool_result'") == len(TOOLS)
    assert {tool["name"] for tool in state.requests[-1]["tools"]} == TOOLS.keys()
    assert SECRET in str(state.sessions(anna.id, turns=turn)), "the database had not forgotten it"
