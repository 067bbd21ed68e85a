"""An operator's mistake is one clear sentence and an exit code, never a traceback, never a
secret.
"""

from __future__ import annotations

import socket

import pytest

from bot.cli import FAULT
from tests.process.conftest import start

TOKEN = "123456:planted-TOKEN-that-must-not-be-printed"
PASSWORD = "planted-PASSWORD"

MISTAKES = {
    "no token": ({"TELEGRAM_BOT_TOKEN": ""}, "TELEGRAM_BOT_TOKEN"),
    "a token of the wrong shape": ({"TELEGRAM_BOT_TOKEN": "planted-TOKEN"}, "TELEGRAM_BOT_TOKEN"),
    "a token Telegram does not know": ({"TELEGRAM_BOT_TOKEN": TOKEN}, "TELEGRAM_BOT_TOKEN"),
    "no key": ({"ANTHROPIC_API_KEY": "", "ANTHROPIC_BASE_URL": ""}, "ANTHROPIC_API_KEY"),
    "no database": ({"MONGODB_URI": ""}, "MONGODB_URI"),
    "an address that is none": ({"MONGODB_URI": f"mongo://u:{PASSWORD}@host"}, "MONGODB_URI"),
    "an address with a broken option": (
        {"MONGODB_URI": "mongodb://127.0.0.1/?timeoutMS=soon"},
        "MONGODB_URI",
    ),
    "an idle time that is no number": (
        {"SESSION_TTL_SECONDS": "half an hour"},
        "SESSION_TTL_SECONDS",
    ),
    "an unknown driver": ({"MONGODB_DRIVER": "mongoose"}, "MONGODB_DRIVER"),
    "a tail as long as the trigger": ({"CONTEXT_KEEP_MESSAGES": "40"}, "CONTEXT_KEEP_MESSAGES"),
    "an address of Telegram where nobody answers": (
        {"TELEGRAM_API_URL": "http://127.0.0.1:9"},
        "TELEGRAM_API_URL",
    ),
}


@pytest.mark.parametrize(("changes", "names"), MISTAKES.values(), ids=MISTAKES)
async def test_a_mistake_is_one_sentence_that_names_the_setting(town, changes, names):
    running = await start(town.environ | changes, "run")
    code = await running.ends()

    assert code == FAULT
    [sentence] = [line for line in running.text.splitlines() if line.strip()]
    assert names in sentence
    assert "planted" not in sentence


async def test_every_mistake_is_told_at_once(town):
    running = await start({"SESSION_TTL_SECONDS": "-1"}, "run")
    code = await running.ends()

    assert code == FAULT
    for name in ("TELEGRAM_BOT_TOKEN", "ANTHROPIC_API_KEY", "MONGODB_URI", "SESSION_TTL_SECONDS"):
        assert name in running.text
    assert "Traceback" not in running.text


async def test_a_database_that_does_not_answer_is_named_without_its_password(town):
    uri = f"mongodb://anna:{PASSWORD}@127.0.0.1:9/?serverSelectionTimeoutMS=500"
    running = await start(town.environ | {"MONGODB_URI": uri}, "run")
    code = await running.ends()

    assert code == FAULT
    assert "MONGODB_URI" in running.text
    assert "127.0.0.1:9" in running.text
    assert PASSWORD not in running.text
    assert "Traceback" not in running.text


async def test_a_port_that_is_taken_is_named(town):
    with socket.create_server(("0.0.0.0", 0)) as taken:
        running = await start(town.environ | {"PORT": str(taken.getsockname()[1])}, "run")
        code = await running.ends()

    assert code == FAULT
    assert "PORT" in running.text
    assert "Traceback" not in running.text


async def test_check_says_what_is_missing_and_repair_mends_it(town):
    before = await start(town.environ, "check")
    assert await before.ends() == 1
    repair = await start(town.environ, "check", "--repair")
    assert await repair.ends() == 0
    after = await start(town.environ, "check")
    assert await after.ends() == 0

    assert "Index sessions.one_active is missing." in before.text.splitlines()
    assert "Mended: Index sessions.one_active is missing." in repair.text.splitlines()
    assert after.text == "All is as it should be.\n"
