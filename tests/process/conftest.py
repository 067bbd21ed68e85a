"""The real command as a process, between the stand-ins, on a real mongod."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from bot.ops.clock import SystemClock
from bot.standins.claude.server import ClaudeServer
from bot.standins.telegram.server import TelegramServer


@dataclass
class Process:
    """A running `bot` command, and what it wrote."""

    process: asyncio.subprocess.Process
    errors: asyncio.StreamReader
    output: list[str] = field(default_factory=list)

    async def until(self, words: str, seconds: float = 60) -> None:
        """Wait for a line that holds these words."""
        async with asyncio.timeout(seconds):
            while not any(words in line for line in self.output):
                if not (line := (await self.errors.readline()).decode()):
                    raise AssertionError(f"it ended before {words!r}:\n{''.join(self.output)}")
                self.output.append(line)

    async def ends(self, seconds: float = 60) -> int:
        """Wait for its end; the exit code."""
        out, err = await asyncio.wait_for(self.process.communicate(), seconds)
        self.output += [out.decode(), err.decode()]
        return await self.process.wait()

    async def kill(self) -> None:
        """End it at once, as a crash does."""
        self.process.send_signal(signal.SIGKILL)
        await self.ends()

    @property
    def text(self) -> str:
        return "".join(self.output)


async def start(environ: dict[str, str], *arguments: str) -> Process:
    """Run `bot` with nothing of this environment but what it needs to find itself."""
    bare = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-W", "error", "-m", "bot", *arguments),
        env=bare | environ,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stderr is not None
    return Process(process, process.stderr)


@dataclass
class Environment:
    """The stand-ins, and the environment that points at them."""

    telegram: TelegramServer
    claude: ClaudeServer
    environ: dict[str, str]

    @asynccontextmanager
    async def bot(self, **changes: str) -> AsyncIterator[Process]:
        """`bot run`, ready to answer; killed afterwards if it still runs."""
        running = await start(self.environ | changes, "run")
        try:
            await running.until("is ready")
            yield running
        finally:
            if running.process.returncode is None:
                await running.kill()

    async def ask(self, person, words) -> str:
        """Say something and wait for the answer."""
        before = len(person.chat.answers)
        person.says(words)
        await self.telegram.until(lambda: len(person.chat.answers) > before)
        return str(person.chat.answers[-1].text)


@pytest.fixture
async def town(mongod: str, database: str) -> AsyncIterator[Environment]:
    clock = SystemClock()
    async with TelegramServer(clock=clock) as telegram, ClaudeServer(clock=clock) as claude:
        environ = {
            "TELEGRAM_BOT_TOKEN": telegram.token,
            "TELEGRAM_API_URL": telegram.url,
            "ANTHROPIC_API_KEY": claude.key,
            "ANTHROPIC_BASE_URL": claude.url,
            "MONGODB_URI": mongod,
            "MONGODB_DATABASE": database,
            "PORT": "0",
            "GRACE_SECONDS": "10",
            "MESSAGES_PER_MINUTE": "10000",  # a test writes as fast as it is answered
        }
        yield Environment(telegram, claude, environ)
