"""Health: one question for the process, one for its parts, and a port that may be taken."""

from __future__ import annotations

import asyncio
import logging

import aiohttp
import pytest

from bot.ops.health import Health
from bot.ops.http_server import HttpServer


class Part:
    """A part that works until it is given a fault."""

    def __init__(self):
        self.fault = None
        self.hangs = False

    async def ping(self):
        if self.hangs:
            await asyncio.Event().wait()
        if self.fault:
            raise self.fault


@pytest.fixture
def mongodb():
    return Part()


@pytest.fixture
async def ask(mongodb):
    async def fine():
        """The other part never fails."""

    health = Health({"mongodb": mongodb.ping, "telegram": fine}, timeout=0.05, fresh=0)
    async with (
        HttpServer("127.0.0.1", 0, health.routes()) as server,
        aiohttp.ClientSession(f"http://127.0.0.1:{server.port}") as client,
    ):

        async def ask(path):
            async with client.get(path) as answer:
                return answer.status, await answer.json()

        yield ask


async def test_a_bot_whose_parts_work_is_ready(ask):
    assert await ask("/readyz") == (200, {"ready": True, "failing": []})


async def test_a_failing_part_is_named_and_its_error_is_not_told(ask, mongodb, caplog):
    """The error's text may hold an address with a password."""
    mongodb.fault = OSError("mongodb://bot:planted@host")
    assert await ask("/readyz") == (503, {"ready": False, "failing": ["mongodb"]})
    assert [record.getMessage() for record in caplog.records] == ["Not ready: mongodb (OSError)"]


async def test_a_part_that_does_not_answer_counts_as_failing(ask, mongodb):
    mongodb.hangs = True
    assert await ask("/readyz") == (503, {"ready": False, "failing": ["mongodb"]})


async def test_the_process_lives_while_its_parts_fail(ask, mongodb):
    """A restart would not bring the database back."""
    mongodb.fault = OSError()
    assert await ask("/healthz") == (200, {"alive": True})


async def test_the_log_tells_of_changes_only(ask, mongodb, caplog):
    caplog.set_level(logging.INFO, "bot")
    for fault in (None, OSError(), OSError(), None, None):
        mongodb.fault = fault
        await ask("/readyz")
    assert [record.getMessage() for record in caplog.records] == [
        "Not ready: mongodb (OSError)",
        "Ready again",
    ]


async def test_one_look_at_the_parts_serves_all_who_ask_in_the_same_second():
    """C167: neither those who come while the parts are asked, nor those who come just after, ask
    them again.
    """
    asked, answers = 0, asyncio.Event()

    async def ping():
        nonlocal asked
        asked += 1
        await answers.wait()
        raise OSError

    health = Health({"mongodb": ping}, fresh=3600)
    waiting = [asyncio.create_task(health.failing()) for _ in range(50)]
    await asyncio.sleep(0)
    waiting[0].cancel()  # one who leaves spoils it for nobody
    answers.set()
    assert await asyncio.gather(*waiting[1:]) == [("mongodb",)] * 49
    assert await health.failing() == ("mongodb",)
    assert asked == 1


async def test_a_later_question_is_a_new_one():
    asked = 0

    async def ping():
        nonlocal asked
        asked += 1

    health = Health({"mongodb": ping}, fresh=0)
    assert [await health.failing(), await health.failing()] == [(), ()]
    assert asked == 2
