"""The demo's environment: two people and a group on stand-ins, the bot as a process, MongoDB.

The parts open in the order in which they are needed and close in reverse, so nothing is left
behind. Variables point the bot at the stand-ins, as they would at the real servers. If our own
variables name a model's key or address, the bot gets those and no stand-in for the model runs.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

from pymongo.asynchronous.database import AsyncDatabase

from bot.aio import cancel_and_wait
from bot.demo.bot_process import BotProcess, Line
from bot.demo.change_stream import ChangeStream
from bot.demo.clock import ShiftedClock
from bot.demo.event_log import NOBODY, About, EventLog
from bot.demo.folder import Folder, held
from bot.demo.inspector import Inspector
from bot.demo.requests import Requests
from bot.errors import StartError, StoreUnavailable
from bot.session import Lifetime
from bot.settings import Settings
from bot.standins import mongod
from bot.standins.claude.faults import Fault
from bot.standins.claude.script import is_summary
from bot.standins.claude.server import ClaudeServer
from bot.standins.errors import StandInError
from bot.standins.telegram.chats import Chat
from bot.standins.telegram.people import Person
from bot.standins.telegram.server import TelegramServer
from bot.store.mongo.connection import Connection, open_connection

DATABASE = "bot_demo"
"""Never the database of a real bot, also where MONGODB_URI names the server of one."""
GROUP_ID = -5001
PACE = 0.01
"""Seconds for each few words of the stand-in, so that one can watch it write."""
BAD_LEVELS = frozenset({"warning", "error", "critical"})
DEMO_SETTINGS = {
    "CONTEXT_TRIGGER_MESSAGES": "8",
    "CONTEXT_KEEP_MESSAGES": "4",
    "SILENCE_SECONDS": "30",
    "GRACE_SECONDS": "3",
    "LEASE_SECONDS": "3",
    "HOST": "127.0.0.1",
    "PORT": "0",
    "LOG_LEVEL": "INFO",
    "LOG_FORMAT": "json",
    "MONGODB_DATABASE": DATABASE,
}
MODEL_SETTINGS = ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "MODEL", "SUMMARY_MODEL", "MAX_TOKENS")


@dataclass(slots=True)
class Environment:
    """The running parts, and what the page can make happen."""

    folder: Folder
    uri: str
    settings: Settings
    clock: ShiftedClock
    started: datetime
    telegram: TelegramServer
    claude: ClaudeServer | None
    anna: Person
    boris: Person
    group: Chat
    event_log: EventLog
    bot: BotProcess
    inspector: Inspector
    requests: Requests | None
    summariser_fails: bool = False
    _restarting: asyncio.Lock = field(default_factory=asyncio.Lock)

    def pass_hours(self, hours: float) -> None:
        """Move the clock of the stand-ins and the bot forward."""
        self.clock.advance(timedelta(hours=hours))
        self.event_log.note("hour", hours=hours)
        self.telegram.state.signal.ring()

    async def restart(self) -> float:
        """Kill the bot as a crash would, start it again and return the seconds that took."""
        async with self._restarting:
            before = asyncio.get_running_loop().time()
            await self.bot.kill()
            self.event_log.note("killed")
            await free_leases(self.inspector.database)
            await self.bot.start()
            seconds = round(asyncio.get_running_loop().time() - before, 1)
            self.event_log.note("ready", seconds=seconds)
            return seconds

    def let_summariser_fail(self, *, fails: bool) -> None:
        """Let every summary fail from now on, or none. Raises LookupError with a real model."""
        if self.claude is None:
            raise LookupError("the real model cannot be told to fail")
        self.claude.faults.clear()
        self.claude.faults.slow(PACE)
        if fails:
            self.claude.faults.next(Fault.overloaded(), when=is_summary, times=None)
        self.summariser_fails = fails


@asynccontextmanager
async def open_environment(environ: Mapping[str, str], path: Path) -> AsyncIterator[Environment]:
    """Open everything and yield it once the bot answers people.

    Raises StartError with one sentence if a part cannot start.
    """
    async with AsyncExitStack() as stack:
        folder = stack.enter_context(held(path))
        uri = _mongod(stack, environ, folder)
        clock = ShiftedClock(folder.clock)
        event_log = EventLog(clock)
        telegram = await stack.enter_async_context(TelegramServer(clock=clock))
        # Ids go on where an earlier demo on this folder cannot have got to: the bot knows an update
        # by its id.
        telegram.state.updates.next_id = int(clock.now().timestamp() * 1000)
        claude = None if has_model(environ) else await stack.enter_async_context(_stand_in(clock))
        known = bot_environ(environ, telegram, claude, uri)
        settings = Settings.read(known)
        connection = await _connected(settings)
        stack.push_async_callback(connection.close)
        database = connection.database
        anna, boris = telegram.person(1001, "Anna", "en"), telegram.person(1002, "Boris", "ru")
        group = telegram.group("Anna & Boris", [anna, boris], id=GROUP_ID)
        await _welcome_back(database, anna, boris)
        await free_leases(database)
        bot = BotProcess(
            known, folder.clock, folder.log, _listener(event_log), lambda: event_log.note("stopped")
        )
        stack.push_async_callback(bot.stop)
        await bot.start()
        lifetime = _lifetime(settings)
        key = sha256(telegram.token.encode()).digest()
        requests = Requests(claude.journal, telegram.state, key, event_log) if claude else None
        await stack.enter_async_context(
            _watched(ChangeStream(database, event_log, clock, lifetime.idle))
        )
        if requests:
            stack.push_async_callback(
                cancel_and_wait, asyncio.create_task(requests.run(), name="requests")
            )
        yield Environment(
            folder=folder,
            uri=uri,
            settings=settings,
            clock=clock,
            started=clock.now(),
            telegram=telegram,
            claude=claude,
            anna=anna,
            boris=boris,
            group=group,
            event_log=event_log,
            bot=bot,
            inspector=Inspector(database, clock, lifetime),
            requests=requests,
        )


def _mongod(stack: AsyncExitStack, environ: Mapping[str, str], folder: Folder) -> str:
    """Return the address of the server that MONGODB_URI names, or start one of our own."""
    try:
        return stack.enter_context(mongod.running(environ, folder.mongo))
    except StandInError as fault:
        raise StartError(str(fault)) from None


async def free_leases(database: AsyncDatabase[dict[str, Any]]) -> None:
    """End the leases of a bot that is known to be dead.

    Another replica would have to wait until they run out.
    """
    await database["leases"].delete_many({})
    over = {"$set": {"leaseUntil": datetime.fromtimestamp(0, UTC)}}
    await database["lanes"].update_many({"leaseBy": {"$ne": None}}, over)


async def _welcome_back(database: AsyncDatabase[dict[str, Any]], *people: Person) -> None:
    """Let the bot write to those who talked in an earlier demo: they have pressed Start."""
    known = await database["sessions"].distinct("ownerId")
    for person in people:
        if person.id in known:
            person.chat.standing = "member"


async def _connected(settings: Settings) -> Connection:
    uri = settings.mongodb_uri.get_secret_value()
    try:
        return await open_connection(uri, DATABASE, driver="pymongo")
    except StoreUnavailable as fault:
        raise StartError(str(fault)) from None


def has_model(environ: Mapping[str, str]) -> bool:
    """Whether the variables name a real model."""
    return any(
        environ.get(name, "").strip() for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL")
    )


def bot_environ(
    environ: Mapping[str, str], telegram: TelegramServer, claude: ClaudeServer | None, uri: str
) -> dict[str, str]:
    """Return the bot's variables: ours, with the demo's settings in place of any other bot's."""
    names = {name.upper() for name in Settings.model_fields}
    kept = {name: value for name, value in environ.items() if name not in names}
    model = (
        {"ANTHROPIC_API_KEY": claude.key, "ANTHROPIC_BASE_URL": claude.url, "PROMPT_CACHE": "on"}
        if claude
        else {name: environ[name] for name in MODEL_SETTINGS if name in environ}
    )
    places = {
        "TELEGRAM_BOT_TOKEN": telegram.token,
        "TELEGRAM_API_URL": telegram.url,
        "MONGODB_URI": uri,
    }
    return kept | DEMO_SETTINGS | model | places


@asynccontextmanager
async def _stand_in(clock: ShiftedClock) -> AsyncIterator[ClaudeServer]:
    async with ClaudeServer(clock=clock) as claude:
        claude.faults.slow(PACE)
        yield claude


@asynccontextmanager
async def _watched(watch: ChangeStream) -> AsyncIterator[None]:
    leave = asyncio.Event()
    watching = asyncio.create_task(watch.run(leave), name="watch")
    try:
        yield
    finally:
        leave.set()
        await asyncio.wait({watching})


def _lifetime(settings: Settings) -> Lifetime:
    idle, age = settings.session_ttl_seconds, settings.session_max_age_seconds
    return Lifetime(idle=timedelta(seconds=idle), max_age=timedelta(seconds=age))


def _listener(event_log: EventLog) -> Any:
    """Return what notes the bot's own warnings, except compaction's: the Session shows those."""

    def heard(line: Line) -> None:
        name, is_bad = str(line.get("logger")), line.get("level") in BAD_LEVELS
        if is_bad and name.startswith("bot.") and "compact" not in name:
            event_log.note("trouble", _about(str(line.get("lane", ""))), text=line["message"])

    return heard


def _about(lane: str) -> About:
    """Return whom a lane's id is about."""
    owner, _, place = lane.partition(":")
    chat, _, thread = place.partition(":")
    return (
        About(int(owner), int(chat), int(thread) if thread else None) if owner and chat else NOBODY
    )
