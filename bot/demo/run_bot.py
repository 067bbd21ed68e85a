"""Runs the bot of the demo: `bot run` with the demo's clock, which a button moves by an hour."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

from bot import app
from bot.demo.clock import ShiftedClock
from bot.errors import StartError
from bot.ops import logs
from bot.settings import Settings

FAULT = 2
"""The exit code of a start that failed, as `bot run` has it."""


async def run(clock_file: Path) -> None:
    """Answer people until SIGTERM or SIGINT, by the demo's clock."""
    settings = Settings.read(os.environ)
    logs.configure(settings.log_level, settings.log_format, settings.secrets)
    leave = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, leave.set)
    await app.run(settings, leave=leave, clock=ShiftedClock(clock_file))


def main() -> None:
    """Run it, or say in one sentence why it cannot start."""
    try:
        asyncio.run(run(Path(sys.argv[1])))
    except StartError as fault:
        sys.stderr.write(f"{fault}\n")
        sys.exit(FAULT)
