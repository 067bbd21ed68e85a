"""Processes of the bot side by side: started, killed, frozen and woken, and the one address that
reaches them all.

What Telegram delivers goes to a process that listens, whichever that is; where one does not answer,
to the next, so an update may arrive twice. Now and then it is delivered once more on purpose, a
while later.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
from aiohttp import web

from bot.standins.mongod import dying_with_parent
from tests.process.chaos.replica_set import free_port

ROOT = Path(__file__).parents[3]
ANSWER_SECONDS = 1.5
RECHECK = 0.05


@dataclass
class Replica:
    """One process of the bot, through all its lives; `module` is what it runs, `arguments` with
    what.
    """

    environ: Mapping[str, str]
    log: Path
    module: str = "bot"
    arguments: tuple[str, ...] = ("run",)
    port: int = field(default_factory=free_port)
    frozen: bool = False
    ready: bool = False
    process: asyncio.subprocess.Process | None = None
    _read: int = 0

    async def start(self) -> None:
        """Start it; `wait` tells when it answers."""
        bare = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        self.frozen = self.ready = False
        self._read = self.log.stat().st_size if self.log.exists() else 0
        with self.log.open("ab") as log:
            self.process = await asyncio.create_subprocess_exec(
                sys.executable,
                *("-W", "error", "-m", self.module, *self.arguments),
                env=bare | dict(self.environ) | {"PORT": str(self.port)},
                cwd=ROOT,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                preexec_fn=dying_with_parent(),
                process_group=0,
            )

    async def wait(self, seconds: float = 60) -> None:
        """Until it answers people."""
        async with asyncio.timeout(seconds):
            while not self.said("is ready"):
                if not self.alive:
                    raise AssertionError(f"it ended before it was ready:\n{self.text[-2000:]}")
                await asyncio.sleep(RECHECK)  # a file has no event to wait for
        self.ready = True

    @property
    def alive(self) -> bool:
        return self.process is not None and self.process.returncode is None

    @property
    def serving(self) -> bool:
        return self.alive and self.ready and not self.frozen

    @property
    def text(self) -> str:
        """All it ever logged."""
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def said(self, words: str) -> bool:
        """Whether it logged this in its present life."""
        with self.log.open("rb") as log:
            log.seek(self._read)
            return words.encode() in log.read()

    def signal(self, number: signal.Signals) -> None:
        assert self.process is not None
        self.process.send_signal(number)

    async def kill(self) -> None:
        """End it at once, as a crash does."""
        self.ready = False
        if self.alive:
            self.signal(signal.SIGKILL)
            await self.ends()

    async def ends(self, seconds: float = 30) -> int:
        assert self.process is not None
        code = await asyncio.wait_for(self.process.wait(), seconds)
        self.ready = False
        return code

    def freeze(self) -> None:
        """It stands still and knows nothing of it."""
        self.frozen = True
        self.signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self.frozen = False
        self.signal(signal.SIGCONT)


class Balancer:
    """The one address of the webhook."""

    def __init__(
        self,
        replicas: Sequence[Replica],
        dice: random.Random,
        *,
        twice: float = 0.0,
        late: float = 0.0,
        patience: float = ANSWER_SECONDS,
    ):
        self._replicas = replicas
        self._dice = dice
        self._twice = twice
        self._late = late
        self._patience = patience
        self._again: set[asyncio.Task[int]] = set()
        self.url = ""

    @asynccontextmanager
    async def open(self) -> AsyncIterator[str]:
        app = web.Application()
        app.add_routes([web.post("/hook", self._pass_on)])
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{runner.addresses[0][1]}/hook"
        async with aiohttp.ClientSession(
            timeout=aiohttp.ClientTimeout(total=self._patience)
        ) as self._http:
            try:
                yield self.url
            finally:
                for task in self._again:
                    task.cancel()
                await asyncio.gather(*self._again, return_exceptions=True)
                await runner.cleanup()

    async def _pass_on(self, request: web.Request) -> web.Response:
        body, headers = await request.read(), request.headers.copy()
        await asyncio.sleep(self._dice.random() * self._late)  # so that chats overtake each other
        status = await self._post(body, headers)
        if self._dice.random() < self._twice:
            task = asyncio.create_task(self._repeat(body, headers, self._dice.random() * 3))
            self._again.add(task)
            task.add_done_callback(self._again.discard)
        return web.Response(status=status, headers={"Retry-After": "1"} if status != 200 else {})

    async def _repeat(self, body: bytes, headers: Mapping[str, str], seconds: float) -> int:
        await asyncio.sleep(seconds)
        return await self._post(body, headers)

    async def _post(self, body: bytes, headers: Mapping[str, str]) -> int:
        listening = [replica for replica in self._replicas if replica.alive and replica.ready]
        for replica in self._dice.sample(listening, len(listening)):
            try:
                async with self._http.post(
                    f"http://127.0.0.1:{replica.port}/hook", data=body, headers=headers
                ) as got:
                    return got.status
            except (aiohttp.ClientError, TimeoutError):
                continue
        return 502
