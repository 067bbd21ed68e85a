"""The real command behind a webhook, with few files and a crowd of connections that say nothing."""

from __future__ import annotations

import asyncio
import resource
import socket
import sys
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest

from bot.ops.descriptors import raise_file_limit
from tests.process.chaos.replica_set import free_port
from tests.process.conftest import start

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="limits of another process are Linux's"
)

SECRET = "a-secret-of-the-tests-as-long-as-asked"
FILES = 1024
CROWD = 1100


@asynccontextmanager
async def crowd(port):
    """So many open connections; the system may still count those in that the bot has cut."""
    sockets = [socket.socket() for _ in range(CROWD)]
    try:
        for one in sockets:
            one.settimeout(0)
            await asyncio.get_running_loop().sock_connect(one, ("127.0.0.1", port))
        yield
    finally:
        for one in sockets:
            one.close()


@asynccontextmanager
async def bot_with_few_files(town, hard):
    """`bot run` behind a webhook, which the system allows so many files from its first moment
    on.
    """
    port = free_port()
    url = f"http://127.0.0.1:{port}/hook"
    running = await start(
        town.environ | {"PORT": str(port), "WEBHOOK_URL": url, "WEBHOOK_SECRET": SECRET}, "run"
    )
    try:
        resource.prlimit(running.process.pid, resource.RLIMIT_NOFILE, (FILES, hard))
        await running.until("is ready")
        yield running, port
    finally:
        if running.process.returncode is None:
            await running.kill()


async def lives(port):
    async with (
        aiohttp.ClientSession() as http,
        http.get(f"http://127.0.0.1:{port}/healthz") as answer,
    ):
        return answer.status == 200


@pytest.mark.parametrize("hard", [FILES, None], ids=["no more to be had", "more to be had"])
async def test_a_silent_crowd_stops_nobody(town, hard):
    """C167: 1,100 connections that say nothing, against 1,024 files: healthz answers, people are
    answered.
    """
    raise_file_limit()
    maximum = hard or resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    anna = town.telegram.person(1001, "Anna")
    async with bot_with_few_files(town, maximum) as (running, port):
        await town.ask(anna, "hello before")
        async with crowd(port):
            assert await lives(port)
            assert await town.ask(anna, "hello beside")
            limits = resource.prlimit(running.process.pid, resource.RLIMIT_NOFILE)
            assert await lives(port)
        assert limits == (maximum, maximum)
        assert await town.ask(anna, "hello after")
        await running.kill()
    assert "Too many open files" not in running.text


async def test_the_port_is_this_machines_own_without_a_webhook(town):
    """C167: what `bot run` opens without a word, nobody outside can reach."""
    port = free_port()
    async with town.bot(PORT=str(port)):
        assert await lives(port)
        assert listening(port) == {"0100007F"}


async def test_the_metrics_may_have_a_port_of_their_own(town):
    port, apart = free_port(), free_port()
    async with town.bot(PORT=str(port), METRICS_PORT=str(apart)), aiohttp.ClientSession() as http:
        answers = {}
        for place, path in (
            (port, "metrics"),
            (port, "healthz"),
            (apart, "metrics"),
            (apart, "healthz"),
        ):
            async with http.get(f"http://127.0.0.1:{place}/{path}") as answer:
                answers[place, path] = answer.status
        assert answers == {
            (port, "metrics"): 404, (port, "healthz"): 200, (apart, "metrics"): 200, (apart, "healthz"): 404
        }  # fmt: skip
        assert listening(apart) == {"0100007F"}


def listening(port):
    """The addresses, as the kernel writes them, at which something listens on this port."""
    rows = [
        line.split() for line in Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:]
    ]
    return {
        row[1].partition(":")[0]
        for row in rows
        if row[3] == "0A" and row[1].endswith(f":{port:04X}")
    }
