"""The command line: `bot run`, `bot demo`, `bot check`, `bot dead`, `bot --version`.

An operator's mistake is one sentence on standard error and a non-zero exit code, never a traceback:
whatever goes wrong before the bot works is a StartError. A vendor package is imported only once the
settings are known to be sound.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Sequence
from importlib import metadata
from pathlib import Path

from bot.errors import StartError
from bot.ops import logs
from bot.settings import Settings

FAULT = 2
"""The exit code of a start that failed."""
INTERRUPTED = 130
"""The exit code of a start that Ctrl-C cut short, as a shell expects it."""
MAX_PORT = 65_535

NO_DEMO = (
    "The demo is not part of the installed package: get the source repository of this bot"
    " and run `uv run bot demo` in it."
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command that `arguments` (the process's own, by default) name, and exit."""
    options = _parser().parse_args(arguments)
    try:
        sys.exit(asyncio.run(options.command(options)))
    except StartError as fault:
        sys.stderr.write(f"{fault}\n")
        sys.exit(FAULT)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


async def run(_options: argparse.Namespace) -> int:
    """Answer people until SIGTERM or SIGINT."""
    settings = _settings()
    from bot import app  # noqa: PLC0415 - a wrong setting should not cost two seconds of imports

    leave = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, leave.set)
    await app.run(settings, leave=leave)
    return 0


async def demo(options: argparse.Namespace) -> int:
    """Show the whole bot in a browser, on stand-ins, until it is told to stop."""
    try:
        from bot.demo import demo, folder  # noqa: PLC0415 - only the demo needs the stand-ins
    except ModuleNotFoundError as missing:
        if not (missing.name or "").startswith(("bot.demo", "bot.standins")):
            raise
        raise StartError(NO_DEMO) from None

    path = options.folder or folder.default_folder(os.environ)
    return await demo.show(
        os.environ, demo.Show(path.absolute(), options.port, browser=options.browser)
    )


async def check(options: argparse.Namespace) -> int:
    """Report each difference between the database and its schema; with --repair, remove it."""
    settings = _settings()
    from bot import app  # noqa: PLC0415 - as above

    differences = await app.check(settings, repair=options.repair)
    for sentence in differences:
        sys.stdout.write(f"Mended: {sentence}\n" if options.repair else f"{sentence}\n")
    if options.repair:
        sys.stdout.write("Indexes, validators and expiry are as they should be.\n")
        return 0
    if differences:
        sys.stdout.write("Run `bot check --repair` to mend this.\n")
        return 1
    sys.stdout.write("All is as it should be.\n")
    return 0


async def dead(options: argparse.Namespace) -> int:
    """List the messages that were given up, without their words, or queue some of them again."""
    settings = _settings()
    from bot import app  # noqa: PLC0415 - as above

    if not options.requeue:
        for one in await app.given_up(settings):
            sys.stdout.write(
                f"{one.id}  {one.at:%Y-%m-%d %H:%M:%S}  {one.state:<6}  {one.kind:<7}  {one.lane}\n"
            )
        return 0
    waits = await app.requeue(settings, options.requeue)
    for update_id, does_wait in waits.items():
        sys.stdout.write(
            f"{update_id} "
            f"{'waits to be handled again' if does_wait else 'is none that was given up'}.\n"
        )
    return 0 if all(waits.values()) else 1


Command = Callable[[argparse.Namespace], Awaitable[int]]


def _settings() -> Settings:
    """Read the settings from the environment and set up logs that hide the secrets in them."""
    settings = Settings.read(os.environ)
    logs.configure(settings.log_level, settings.log_format, settings.secrets)
    return settings


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="bot", description="A Telegram AI chatbot whose Sessions live in MongoDB."
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {_version()}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add(commands, "run", run, "answer people until told to stop")
    showing = _add(
        commands,
        "demo",
        demo,
        "show the whole bot in a browser, without a token, a key or a database",
    )
    showing.add_argument(
        "--folder", type=Path, metavar="PATH", help="where what is said is kept (default: your own)"
    )
    showing.add_argument(
        "--port", type=_port, default=8088, help="port of the page; the next ones where it is taken"
    )
    showing.add_argument(
        "--no-browser", dest="browser", action="store_false", help="do not open a browser"
    )
    checking = _add(
        commands,
        "check",
        check,
        "compare the database's indexes and validators with what they should be",
    )
    checking.add_argument("--repair", action="store_true", help="create and mend them")
    given_up = _add(
        commands,
        "dead",
        dead,
        "name the messages that were given up: id, when, how, kind, owner:chat:topic",
    )
    given_up.add_argument(
        "--requeue",
        type=int,
        nargs="+",
        metavar="ID",
        help="have these tried again by a running bot",
    )
    return parser


def _version() -> str:
    """The version of the installed package; "unknown" where a bare folder is run."""
    try:
        return metadata.version("bot")
    except metadata.PackageNotFoundError:
        return "unknown"


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > MAX_PORT:
        raise argparse.ArgumentTypeError(
            f"must be a whole number, 0 to {MAX_PORT} (0 = any free one)"
        )
    return int(text)


def _add(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    command: Command,
    meaning: str,
) -> argparse.ArgumentParser:
    parser = commands.add_parser(name, help=meaning, description=meaning)
    parser.set_defaults(command=command)
    return parser
