"""The demo's town: two people and a group on stand-ins, the bot as a process of its own, its
Sessions in MongoDB.

Everything is opened in the order in which it is needed and closed in reverse, so that nothing is
left behind. The bot is told of the stand-ins by its environment, as any bot is told of the real
ones; a key or an address of a model in ours is handed on to it, and the model's stand-in stays at
home.
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
    """All that is running, and what one can make happen."""

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
        """Let time go by, for the stand-ins and the bot alike."""
        self.clock.advance(timedelta(hours=hours))
        self.event_log.note("hour", hours=hours)
        self.telegram.state.signal.ring()

    async def restart(self) -> float:
        """Kill the bot as a crash would and start it again; how many seconds that took."""
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
        """From now on every summary fails, or none. Only the stand-in can be told so."""
        if self.claude is None:
            raise LookupError("the real model cannot be told to fail")
        self.claude.faults.clear()
        self.claude.faults.slow(PACE)
        if fails:
            self.claude.faults.next(Fault.overloaded(), when=is_summary, times=None)
        self.summariser_fails = fails


@asynccontextmanager
async def open_environment(environ: Mapping[str, str], path: Path) -> AsyncIterator[Environment]:
    """The town, once its bot answers people.

    Raises StartError, in a sentence, where something cannot be had.
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
    """The address of a server of the demo's own, or of the one MONGODB_URI names."""
    try:
        return stack.enter_context(mongod.running(environ, folder.mongo))
    except StandInError as fault:
        raise StartError(str(fault)) from None


async def free_leases(database: AsyncDatabase[dict[str, Any]]) -> None:
    """Take from a dead bot what it still seems to hold.

    We know that it is dead; replicas would wait some seconds.
    """
    await database["leases"].delete_many({})
    over = {"$set": {"leaseUntil": datetime.fromtimestamp(0, UTC)}}
    await database["lanes"].update_many({"leaseBy": {"$ne": None}}, over)


async def _welcome_back(database: AsyncDatabase[dict[str, Any]], *people: Person) -> None:
    """Whoever talked in an earlier demo has pressed Start before: the bot may write to them."""
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
    """Whether a real model is at hand."""
    return any(
        environ.get(name, "").strip() for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL")
    )


def bot_environ(
    environ: Mapping[str, str], telegram: TelegramServer, claude: ClaudeServer | None, uri: str
) -> dict[str, str]:
    """The bot's environment: ours, with the demo's settings in place of any bot's."""
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
    """Notes the bot's own warnings; what compaction warns of is seen in the Session."""

    def heard(line: Line) -> None:
        name = str(line.get("logger"))
        if (
            line.get("level") in {"warning", "error", "critical"}
            and name.startswith("bot.")
            and "compact" not in name
        ):
            event_log.note("trouble", _about(str(line.get("lane", ""))), text=line["message"])

    return heard


def _about(lane: str) -> About:
    """Whom a lane's id names."""
    owner, _, place = lane.partition(":")
    chat, _, thread = place.partition(":")
    return (
        About(int(owner), int(chat), int(thread) if thread else None) if owner and chat else NOBODY
    )
