"""The whole bot behind a webhook: Telegram's request is answered when the update is stored, never
after the model.
"""

from __future__ import annotations

import asyncio
import socket

import aiohttp
import pytest

from bot.standins.claude.faults import Fault
from bot.telegram.inbound.webhook import SECRET_HEADER

SECRET = "planted_Secret-1-of-32-characters"


@pytest.fixture
def hook():
    """The settings of a bot behind a webhook, on a port that is free."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    return {
        "PORT": port,
        "WEBHOOK_URL": f"http://127.0.0.1:{port}/telegram",
        "WEBHOOK_SECRET": SECRET,
    }


async def push(hook, update):
    """Deliver an update as Telegram does; the status, and how long the answer took."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    async with (
        aiohttp.ClientSession() as http,
        http.post(hook["WEBHOOK_URL"], json=update, headers={SECRET_HEADER: SECRET}) as answer,
    ):
        return answer.status, loop.time() - began


async def metrics(hook):
    """What /metrics tells of the bot."""
    async with (
        aiohttp.ClientSession() as http,
        http.get(f"http://127.0.0.1:{hook['PORT']}/metrics") as answer,
    ):
        lines = (await answer.text()).splitlines()
    return dict(line.rsplit(" ", 1) for line in lines if line.startswith("bot_"))


async def test_people_are_answered_through_a_webhook(state, anna, boris, hook):
    async with state.bot(**hook):
        await state.ask(anna, "My name is Anna.")
        await asyncio.gather(state.ask(anna, "What is my name?"), state.ask(boris, "Привет!"))

    assert "Anna" in anna.chat.answers[-1].text
    assert {push.status for push in state.telegram.pushes} == {200}
    assert state.telegram.journal.of("getUpdates") == []


async def test_telegram_is_answered_at_once_while_the_model_takes_long(state, anna, hook):
    """C11: a repetition during the turn gets 200 as well, and starts nothing."""
    state.claude.faults.next(Fault.stalled(after=2))
    async with state.bot(**hook, SILENCE_SECONDS="3600", GRACE_SECONDS="0"):
        anna.says("Think about this for long.")
        await state.telegram.until(lambda: state.requests)
        [entry] = state.database["inbox"].find()
        again = await push(hook, entry["update"])

        assert (again[0], again[1] < 1) == (200, True)
        assert [(pushed.status, pushed.wait) for pushed in state.telegram.pushes] == [(200, 0)]
        assert anna.chat.answers == []
    assert len(state.requests) == 1


async def test_what_was_said_while_no_bot_ran_is_answered(state, anna, hook):
    """C4: the webhook stays set, Telegram keeps the update and repeats it."""
    async with state.bot(**hook):
        await state.ask(anna, "My name is Anna.")
    anna.says("What is my name?")
    await state.telegram.until(lambda: state.telegram.pushes[-1].status == 0)
    async with state.bot(**hook):
        await state.telegram.until(lambda: len(anna.chat.answers) == 2)

    assert "Anna" in anna.chat.answers[-1].text


async def test_one_may_change_from_a_webhook_to_polling_and_back(state, anna, hook):
    """A webhook that is still set would refuse every poll."""
    for number, settings in enumerate(({}, hook, {}), start=1):
        async with state.bot(**settings):
            await state.ask(anna, f"Number {number}.")

    assert state.session(anna.id)["revision"] == 3
    assert state.telegram.state.webhook.url == ""


async def test_the_same_port_tells_what_went_through(state, anna, hook):
    async with state.bot(**hook):
        await state.ask(anna, "Hello there.")
        await state.ask(anna, "/help")
        await state.eventually(
            lambda: state.database["inbox"].count_documents({"state": "done"}) == 2
        )
        told = await metrics(hook)

    assert told['bot_updates_total{kind="message"}'] == "2.0"
    assert told['bot_batches_total{state="done"}'] == "2.0"
    assert told["bot_turn_seconds_count"] == "1.0"
    assert told['bot_model_calls_total{end="end_turn",model="claude-sonnet-5-5"}'] == "1.0"
    assert "anna" not in str(told).lower()
    assert str(anna.id) not in str(told)


async def test_a_refusal_by_budget_is_counted_apart_from_failures(state, anna, hook):
    async with state.bot(**hook, DAILY_TOKEN_BUDGET="0"):
        await state.ask(anna, "Hello there.")
        await state.eventually(
            lambda: state.database["inbox"].count_documents({"state": "budget"}) == 1
        )
        told = await metrics(hook)

    assert told['bot_batches_total{state="budget"}'] == "1.0"
    assert 'bot_batches_total{state="failed"}' not in told
