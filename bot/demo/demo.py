"""`bot demo`: shows the whole bot in a browser, without a token, a key or a database to install.

It runs until Ctrl-C, SIGTERM or a closed terminal and leaves no process behind, even when it is
killed. Conversations stay in the folder named on screen, and the next demo continues them.
"""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
import webbrowser
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from bot.aio import run_until
from bot.demo.environment import DATABASE, Environment, open_environment
from bot.demo.page_server import PageServer, nameless
from bot.demo.serving import serving
from bot.ops import logs

PORT = 8088
_ENDS = ("SIGINT", "SIGTERM", "SIGHUP")


@dataclass(frozen=True, slots=True)
class Show:
    """The options of a demo: its folder, the port of its page, whether to open a browser."""

    folder: Path
    port: int = PORT
    browser: bool = True


async def show(environ: Mapping[str, str], wanted: Show) -> int:
    """Run the demo until it is told to end."""
    logs.configure(
        "WARNING", "console", [environ.get("ANTHROPIC_API_KEY", ""), environ.get("MONGODB_URI", "")]
    )
    leave = asyncio.Event()
    for name in _ENDS:
        with suppress(AttributeError, NotImplementedError):  # Windows has fewer
            asyncio.get_running_loop().add_signal_handler(getattr(signal, name), leave.set)
    say(f"Starting MongoDB and the bot; what is said is kept in {wanted.folder}")
    await run_until(leave, _perform(environ, wanted, leave))
    say("The demo has ended; nothing of it is running any more.")
    return 0


async def _perform(environ: Mapping[str, str], wanted: Show, leave: asyncio.Event) -> None:
    async with (
        open_environment(environ, wanted.folder) as environment,
        serving(PageServer(environment).routes(), wanted.port) as address,
    ):
        if wanted.port and f":{wanted.port}/" not in address:
            say(f"Port {wanted.port} is taken, so the page is at another one.")
        for line in _introduction(environment, address):
            say(line)
        if wanted.browser and has_browser(environ):
            # A thread that nobody waits for: some browsers do not return before they are closed.
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
        await leave.wait()  # also where the driver mistook the cancellation for a lost connection


def _introduction(shown: Environment, address: str) -> tuple[str, ...]:
    model = "a small stand-in that answers by rules" if shown.claude else shown.settings.model
    return (
        f"\n  Open {address}\n",
        "  Telegram  a stand-in on this machine; you are Anna and Boris, who also share a group",
        f"  Model     {model}",
        f"  MongoDB   {nameless(shown.uri)} (database {DATABASE}; look in with mongosh or Compass)",
        f"  Bot       the command `bot run` as a process of its own; its log is {shown.folder.log}",
        "\n  Ctrl-C ends all of it.",
    )


def has_browser(environ: Mapping[str, str], platform: str = sys.platform) -> bool:
    """Whether somebody is likely to see a browser that opens."""
    if environ.get("CI"):
        return False
    return platform in {"darwin", "win32"} or any(
        environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY")
    )


def say(line: str) -> None:
    """Print a line for the person who started the demo, at once even if output is piped."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
