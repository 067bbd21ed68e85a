"""MongoDB refuses commands for reasons of its own: what passes is tried again within bounds, and
the person is told what will happen.
"""

from __future__ import annotations

from contextlib import contextmanager

import pytest

from bot.texts import text

CODES = {"write conflict": 112, "quota": 8000, "internal error": 1, "of nobody's table": 31_415}
COMMANDS = {"load": "findAndModify", "commit": "update"}


@contextmanager
def refusing(client, state, command, code, times):
    """The server refuses so many of these commands on Sessions."""
    where = {"failCommands": [command], "namespace": f"{state.database.name}.sessions"}
    mode = {"times": times} if times else "alwaysOn"
    data = {**where, "errorCode": code}
    client.admin.command("configureFailPoint", "failCommand", mode=mode, data=data)
    try:
        yield
    finally:
        client.admin.command("configureFailPoint", "failCommand", mode="off")


@pytest.fixture
def hurried(monkeypatch):
    """A lane that was handed back goes on soon."""
    monkeypatch.setattr("bot.lane_runner.RETRY_SECONDS", 0.05)


@pytest.mark.parametrize("code", CODES.values(), ids=CODES)
@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
async def test_what_is_refused_once_is_answered(state, anna, mongo_client, hurried, command, code):
    """C156"""
    async with state.bot():
        with refusing(mongo_client, state, command, code, 1):
            await state.ask(anna, "My name is Anna.", answers=2 if command != "update" else 1)
        answer = await state.ask(anna, "What is my name?")

    assert "Anna" in answer
    assert state.session(anna.id)["revision"] == 2


async def test_what_is_refused_for_long_is_given_up_with_a_button(
    state, anna, mongo_client, hurried
):
    """C156: and a later message is answered."""
    async with state.bot():
        with refusing(mongo_client, state, "findAndModify", 31_415, 0):
            said = await state.ask(anna, "My name is Anna.", answers=2)
        assert text("error_store_refused", "en") in said
        await state.ask(anna, "Hello.")
        below = next(one for one in anna.chat.answers if one.buttons)
        anna.presses(text("button_retry", "en"), on=below)
        await state.telegram.until(lambda: state.session(anna.id)["revision"] == 2)
