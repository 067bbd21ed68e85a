"""Health: one question for the process, one for its parts, and a port that may be taken."""

from __future__ import annotations

import asyncio
import logging

import aiohttp
import pytest

from bot.errors import StartError
from bot.ops.health import Health


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

    async with (
        Health(0, {"mongodb": mongodb.ping, "telegram": fine}, patience=0.05) as health,
        aiohttp.ClientSession(f"http://127.0.0.1:{health.port}") as client,
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
    assert [record.getMessage() for record in caplog.records] == ["Not ready: mongodb (OSError)", "Ready again"]


async def test_a_taken_port_is_one_sentence_that_names_the_setting():
    async with Health(0, {}) as health:
        with pytest.raises(
            StartError, match=rf"^PORT {health.port} cannot be opened: another program uses it"
        ) as caught:
            await Health(health.port, {}).__aenter__()
    assert caught.value.__cause__ is None


async def test_the_port_is_free_again_afterwards():
    async with Health(0, {}) as first:
        port = first.port
    async with Health(port, {}) as second:
        assert second.port == port
