"""Hostile clients at the port of a whole `bot run`, and a person who is answered as before (C167).

Run by name.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
from contextlib import asynccontextmanager, suppress

import pytest

from tests.load.latency import p95
from tests.process.chaos.replica_set import free_port
from tests.process.conftest import town

__all__ = ["town"]  # the fixture

PAIRS = 3
QUESTIONS = 12
CLIENTS = 200
BAR = 1.5
SECRET = "a-secret-of-the-tests-as-long-as-asked"
KNOWN = f"X-Telegram-Bot-Api-Secret-Token: {SECRET}\r\n"
POST = "POST /hook HTTP/1.1\r\nHost: bot\r\nContent-Type: application/json\r\n"
PIECE = b"x" * 65536
NEVER = 3600.0


async def silence(_reader, _writer):
    await asyncio.sleep(NEVER)


async def trickled_head(_reader, writer):
    writer.write(b"GET /healthz HTTP/1.1\r\n")
    while True:
        writer.write(b"X: y\r\n")
        await writer.drain()
        await asyncio.sleep(0.2)


async def huge_head(_reader, writer):
    writer.write(b"GET /healthz HTTP/1.1\r\nX: ")
    await pour(writer)


async def endless_body(_reader, writer):
    writer.write(f"{POST}Content-Length: 1000000000000\r\n\r\n".encode())
    await pour(writer)


async def endless_body_with_the_secret(_reader, writer):
    writer.write(f"{POST}{KNOWN}Transfer-Encoding: chunked\r\n\r\n".encode())
    while True:
        writer.write(b"10000\r\n" + PIECE + b"\r\n")
        await writer.drain()


async def unread_answers(_reader, writer):
    """Ask for pages without end and read none of them."""
    while True:
        writer.write(b"GET /metrics HTTP/1.1\r\nHost: bot\r\n\r\n" * 50)
        await writer.drain()


async def garbage(reader, writer):
    writer.write(bytes(range(256)) * 16)
    await writer.drain()
    await reader.read()


async def forged_updates(reader, writer):
    body = '{"update_id": 1, "message": ' + "[" * 5000 + "]" * 5000 + "}"
    while True:
        head = f"{POST}X-Telegram-Bot-Api-Secret-Token: guess\r\nContent-Length: {len(body)}\r\n"
        writer.write(f"{head}\r\n{body}".encode())
        await writer.drain()
        await reader.readuntil(b"\r\n\r\n")


async def pour(writer):
    while True:
        writer.write(PIECE)
        await writer.drain()


async def attack_again_and_again(attack, port):
    """Attack again each time the port has let go of this client, at most twice a second."""
    while True:
        with suppress(OSError, asyncio.IncompleteReadError):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            try:
                await attack(reader, writer)
            finally:
                writer.transport.abort()
        await asyncio.sleep(0.5)


async def attack_as_a_crowd(attack, port):
    """All clients of one attacking process."""
    await asyncio.gather(*(attack_again_and_again(attack, port) for _ in range(CLIENTS)))


@asynccontextmanager
async def attacked(attack, port):
    """A process of its own attacks meanwhile, so that it takes no time from the stand-ins' loop."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", __name__, attack.__name__, str(port))
    )
    try:
        yield
        assert process.returncode is None
    finally:
        process.kill()
        await process.wait()


@asynccontextmanager
async def read_to_its_end(bot):
    """Read what the bot logs, which would wait for a reader otherwise."""
    reading = asyncio.create_task(bot.until("never said", NEVER))
    try:
        yield
    finally:
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)


ATTACKS = (
    silence,
    trickled_head,
    huge_head,
    endless_body,
    endless_body_with_the_secret,
    unread_answers,
    garbage,
    forged_updates,
)


@pytest.mark.load
@pytest.mark.parametrize("attack", ATTACKS)
async def test_two_hundred_hostile_clients_slow_nobody_down(town, attack):
    """Alternating pairs: p95 beside the attack against p95 without one, their median."""
    people = (town.telegram.person(4000 + number, "Quiet") for number in range(1 + 2 * PAIRS))
    port, ratios = free_port(), []
    hook = {"WEBHOOK_URL": f"http://127.0.0.1:{port}/hook", "WEBHOOK_SECRET": SECRET}
    async with town.bot(PORT=str(port), **hook) as bot, read_to_its_end(bot):
        await p95(town, next(people), QUESTIONS)  # warm
        for _ in range(PAIRS):
            alone = await p95(town, next(people), QUESTIONS)
            async with attacked(attack, port):
                beside = await p95(town, next(people), QUESTIONS)
            ratios.append(beside / alone)
            sys.stderr.write(f"{attack.__name__}: p95 alone {alone:.3f} s, x {ratios[-1]:.2f}\n")
    assert "Traceback" not in bot.text
    assert statistics.median(ratios) <= BAR


if __name__ == "__main__":
    [attack] = [one for one in ATTACKS if one.__name__ == sys.argv[1]]
    asyncio.run(attack_as_a_crowd(attack, int(sys.argv[2])))
