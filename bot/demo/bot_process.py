"""Runs the bot of the demo as a process of its own, which can be killed and started at will.

Each JSON line it logs is handed on at once and kept in a file. On Linux the process ends with the
demo, even when the demo is killed (`standins.mongod` says why only the main thread may start it).
It does not receive the terminal's Ctrl-C: the demo stops it.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from bot.errors import StartError
from bot.standins.mongod import dying_with_parent

READY = "is ready"
START_SECONDS = 60.0
STOP_SECONDS = 8.0
LINE_BYTES = 1 << 20
Line = dict[str, Any]


class BotProcess:
    """One bot, across its restarts.

    `heard` gets every log line; `died` is called when it ends unasked.
    """

    def __init__(
        self,
        environ: Mapping[str, str],
        clock: Path,
        log: Path,
        heard: Callable[[Line], None],
        died: Callable[[], None],
    ) -> None:
        self._environ = dict(environ)
        self._clock = clock
        self._log = log
        self._heard = heard
        self._died = died
        self._process: asyncio.subprocess.Process | None = None
        self._reading: asyncio.Task[None] | None = None
        self._ready = asyncio.Event()
        self._ending = False

    @property
    def running(self) -> bool:
        """Whether the process runs and has reported that it is ready."""
        return (
            self._ready.is_set() and self._process is not None and self._process.returncode is None
        )

    async def start(self) -> None:
        """Start it and wait until it answers people.

        Raises StartError with the bot's own sentence if it does not start.
        """
        self._ending = False
        self._ready = asyncio.Event()
        self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", "from bot.demo.run_bot import main; main()", str(self._clock)),
            env=self._environ,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            limit=LINE_BYTES,
            preexec_fn=dying_with_parent(),
            process_group=0,
        )
        last: deque[str] = deque(maxlen=5)
        self._reading = asyncio.create_task(
            self._read(self._process, last), name="what the bot logs"
        )
        ready = asyncio.create_task(self._ready.wait())
        try:
            await asyncio.wait(
                {ready, self._reading}, timeout=START_SECONDS, return_when=asyncio.FIRST_COMPLETED
            )
        finally:
            ready.cancel()
        if not self.running:
            await self.kill()
            raise StartError(
                "\n".join(last) or f"The bot was not ready within {START_SECONDS:.0f} seconds."
            )

    async def kill(self) -> None:
        """End the process at once, as a crash or a power cut would."""
        self._ending = True
        if self._process is not None:
            with suppress(ProcessLookupError):
                self._process.kill()
            await self._ended()

    async def stop(self) -> None:
        """Ask the process to stop and give it some seconds to finish its turns."""
        self._ending = True
        if self._process is not None:
            with suppress(ProcessLookupError):
                self._process.terminate()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._process.wait(), STOP_SECONDS)
            await self.kill()

    async def _ended(self) -> None:
        if self._process is not None and self._reading is not None:
            await self._process.wait()
            await self._reading

    async def _read(self, process: asyncio.subprocess.Process, last: deque[str]) -> None:
        """Copy the log to its end; `last` keeps the lines that explain a failed start."""
        if process.stderr is None:
            return
        with self._log.open("w", encoding="utf-8") as log:
            async for raw in process.stderr:
                text = raw.decode(errors="replace")
                log.write(text)
                log.flush()
                self._take(text.rstrip(), last)
        await process.wait()
        if not self._ending and self._ready.is_set():
            self._died()

    def _take(self, text: str, last: deque[str]) -> None:
        line = _log_line(text)
        if line is None:
            last.append(text)
            return
        if READY in line["message"]:
            self._ready.set()
        self._heard(line)


def _log_line(text: str) -> Line | None:
    try:
        line = json.loads(text)
    except ValueError:
        return None
    return line if isinstance(line, dict) and "message" in line else None
