"""`bot run` is killed with -9 between two messages, and remembers."""

from __future__ import annotations

import asyncio
import signal

import aiohttp


async def test_what_was_said_before_the_kill_is_known_after_it(town):
    anna = town.telegram.person(1001, "Anna")
    async with town.bot() as first:
        await town.ask(anna, "My name is Anna.")
        await first.kill()
    async with town.bot():
        answer = await town.ask(anna, "What is my name?")

    assert "Anna" in answer
    assert len(anna.chat.answers) == 2


async def test_sigterm_lets_the_running_turn_finish_and_leaves_with_code_0(town):
    """C4"""
    anna = town.telegram.person(1001, "Anna")
    town.claude.faults.slow(0.05)
    async with town.bot() as bot:
        anna.says("Count to 40.")
        await town.claude.until(
            lambda exchanges: any(exchange.body.get("tools") for exchange in exchanges)
        )
        bot.process.send_signal(signal.SIGTERM)
        assert await bot.ends() == 0

    assert "40" in anna.chat.text
    assert "Traceback" not in bot.text


async def test_sigterm_does_not_wait_longer_than_the_grace_time(town):
    anna = town.telegram.person(1001, "Anna")
    town.claude.faults.slow(5)
    async with town.bot(GRACE_SECONDS="1") as bot:
        anna.says("Count to 40.")
        await town.claude.until(
            lambda exchanges: any(exchange.body.get("tools") for exchange in exchanges)
        )
        bot.process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(60):
            assert await bot.ends() == 0

    assert anna.chat.answers == []


async def test_health_is_answered_on_port(town):
    async with town.bot() as bot:
        line = next(line for line in bot.output if "health answers on port" in line)
        port = int(line.rpartition("port ")[2].split()[0])
        async with aiohttp.ClientSession() as client:
            for path in ("healthz", "readyz"):
                async with client.get(f"http://127.0.0.1:{port}/{path}") as response:
                    assert (path, response.status) == (path, 200)


async def test_no_secret_is_ever_printed(town):
    async with town.bot(LOG_LEVEL="DEBUG") as bot:
        anna = town.telegram.person(1001, "Anna")
        await town.ask(anna, "My secret word is heron.")
        bot.process.send_signal(signal.SIGTERM)
        await bot.ends()

    for secret in (town.telegram.token, town.claude.key, "heron"):
        assert secret not in bot.text
