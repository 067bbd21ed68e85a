"""The composition root: the one place that knows which store, model and toolbox this bot is made of.

Read it as a parts list. `run` opens the parts in the order in which they need each other and closes them in reverse;
what cannot be opened is a StartError, one sentence for the operator.
"""

from __future__ import annotations

import asyncio
import logging
import random
import secrets
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from hashlib import sha256

from telegram import Bot
from telegram.error import InvalidToken, TelegramError

from bot.agent.claude import Claude, Endpoint
from bot.agent.limits import Limits, Pauses
from bot.agent.loop import Agent
from bot.agent.prompt import SYSTEM, Prompt
from bot.agent.toolbox.notes import notes_tools
from bot.agent.toolbox.plan import plan_tools
from bot.agent.tools import Toolbox
from bot.compaction import Compactor, Summariser, Triggers
from bot.errors import StartError, StoreError, StoreUnavailable
from bot.inbox import Inbox
from bot.lifecycle import Lifecycle
from bot.ops.clock import SystemClock
from bot.ops.health import Health
from bot.ops.stopping import unless
from bot.owner import Owner
from bot.ports import Clock, Model
from bot.session import Lifetime
from bot.settings import Settings
from bot.store import schema
from bot.store.admin import sweep_archive
from bot.store.memory_inbox import MemoryInbox
from bot.store.mongo import Store, connect
from bot.telegram import commands
from bot.telegram.gateway import Gateway
from bot.telegram.handlers import TelegramFrontend, application
from bot.telegram.hints import Hints
from bot.telegram.inputs import Account
from bot.telegram.poller import Poller
from bot.telegram.receiver import Receiver
from bot.tokens import Tokens
from bot.turn import Turns
from bot.worker import Worker

log = logging.getLogger(__name__)

STALE_POLL = timedelta(minutes=2)
SWEEP_SECONDS = 3600.0


async def run(settings: Settings, *, leave: asyncio.Event, clock: Clock | None = None) -> None:
    """Answer people until `leave` is set, then finish what runs within GRACE_SECONDS."""
    clock = clock or SystemClock()
    async with AsyncExitStack() as stack:
        store = await stack.enter_async_context(opened(settings, clock))
        bot = await stack.enter_async_context(_connected(settings))
        await _prepare(store, settings)
        model = _claude(settings)
        stack.push_async_callback(model.aclose)
        turns = await _turns(settings, store, model, clock)
        stack.push_async_callback(turns.compactor.aclose)
        await _serve(settings, turns, store, bot, leave)
    log.info("left in good order")


async def check(settings: Settings, *, repair: bool) -> Sequence[str]:
    """What in the database is not as it should be, as sentences; with `repair`, what was mended."""
    async with opened(settings, SystemClock()) as store:
        try:
            deed = schema.ensure if repair else schema.inspect
            return await deed(store.database, _expire_after(settings))
        except StoreError as fault:
            raise StartError(f"The database of MONGODB_URI cannot be checked: {fault}") from None


# --------------------------------------------------------------------------------------------------- parts


@asynccontextmanager
async def opened(settings: Settings, clock: Clock) -> AsyncIterator[Store]:
    """The store of MONGODB_URI, once its server has answered."""
    try:
        store = await connect(
            settings.mongodb_uri.get_secret_value(),
            settings.mongodb_database,
            driver=settings.mongodb_driver,
            clock=clock,
            keep=timedelta(days=settings.archive_days),
        )
    except StoreUnavailable as fault:
        raise StartError(str(fault)) from None
    try:
        yield store
    finally:
        await store.close()


async def _prepare(store: Store, settings: Settings) -> None:
    """Make what is missing. A bot whose role may not do that still works on what `bot check --repair` made."""
    try:
        for sentence in await schema.ensure(store.database, _expire_after(settings)):
            log.info("mended: %s", sentence)
    except StoreError as fault:
        log.warning("indexes and validators could not be checked (%s); run `bot check --repair`", fault)


def _expire_after(settings: Settings) -> int:
    return settings.session_ttl_seconds + settings.session_resume_seconds


@asynccontextmanager
async def _connected(settings: Settings) -> AsyncIterator[Bot]:
    """The bot's side of Telegram, once Telegram knows it by its token."""
    bot = application(settings.telegram_bot_token.get_secret_value(), settings.telegram_api_url).bot
    try:
        try:
            await bot.initialize()
        except InvalidToken:
            raise StartError("TELEGRAM_BOT_TOKEN: Telegram does not know a bot with this token.") from None
        except TelegramError as fault:
            raise StartError(f"TELEGRAM_API_URL: Telegram does not answer ({type(fault).__name__}).") from None
        yield bot
    finally:
        await bot.shutdown()


def _claude(settings: Settings) -> Claude:
    key = settings.anthropic_api_key.get_secret_value() if settings.anthropic_api_key else ""
    endpoint = Endpoint.at(settings.anthropic_base_url, key)
    return Claude(endpoint, silence_seconds=settings.silence_seconds)


async def _turns(settings: Settings, store: Store, model: Model, clock: Clock) -> Turns:
    count = Tokens()
    await count.load()
    summariser = Summariser(model, settings.summary_model, count)
    triggers = Triggers(
        messages=settings.context_trigger_messages,
        tokens=settings.context_trigger_tokens,
        keep_messages=settings.context_keep_messages,
    )
    return Turns(
        sessions=store.sessions,
        agent=_agent(settings, store, model),
        compactor=Compactor(store.sessions, store.archive, summariser, triggers, clock),
        count=count,
        clock=clock,
        new_id=_new_id,
        lifetime=_lifetime(settings),
    )


def _agent(settings: Settings, store: Store, model: Model) -> Agent:
    file = settings.system_prompt_file
    prompt = Prompt(
        model=settings.model,
        # People get a name for the provider that cannot be turned back into their Telegram id.
        key=sha256(settings.telegram_bot_token.get_secret_value().encode()).digest(),
        system=file.read_text(encoding="utf-8") if file else SYSTEM,
        max_tokens=settings.max_tokens,
    )
    limits = Limits(
        model_calls=settings.model_calls,
        tool_calls=settings.tool_calls,
        tool_seconds=settings.tool_seconds,
        turn_seconds=settings.turn_seconds,
    )
    toolbox = Toolbox([*notes_tools(store.notes), *plan_tools()])
    return Agent(model, toolbox, prompt, limits, Pauses(random.random))


def _lifetime(settings: Settings) -> Lifetime:
    return Lifetime(
        idle=timedelta(seconds=settings.session_ttl_seconds),
        max_age=timedelta(seconds=settings.session_max_age_seconds),
    )


def _new_id() -> str:
    return secrets.token_hex(16)


# -------------------------------------------------------------------------------------------------- running


async def _serve(settings: Settings, turns: Turns, store: Store, bot: Bot, leave: asyncio.Event) -> None:
    account = Account(bot.id, bot.username)
    inbox: Inbox = MemoryInbox(turns.clock)
    gateway = Gateway(bot)
    hints = Hints(gateway)
    poller = Poller(bot, Receiver(inbox, account, turns.clock, hints, _gate(settings)).receive, turns.clock)
    desk = commands.Desk(Lifecycle(store.sessions, store.archive, turns.clock, turns.new_id), turns.lifetime)
    worker = Worker(
        inbox, TelegramFrontend(turns, desk, gateway, hints, account), slots=settings.workers, lease_seconds=15
    )

    async def polled() -> None:
        if poller.last_poll is None or turns.clock.now() - poller.last_poll > STALE_POLL:
            raise TimeoutError

    async with Health(settings.port, {"mongodb": store.ping, "telegram": polled}) as health:
        log.info("@%s is ready; health answers on port %d", bot.username, health.port)
        async with asyncio.TaskGroup() as group:
            group.create_task(unless(leave, poller.run()), name="intake")
            group.create_task(unless(leave, commands.publish(bot)), name="menu")
            group.create_task(unless(leave, _sweep_hourly(store)), name="sweep")
            group.create_task(worker.run(leave, grace_seconds=settings.grace_seconds), name="worker")
    await hints.close()


def _gate(settings: Settings) -> Callable[[Owner], bool]:
    """Who may talk."""
    people = settings.allowed_user_ids | settings.admin_user_ids

    def allowed(owner: Owner) -> bool:
        return settings.access == "open" or owner.id in people

    return allowed


async def _sweep_hourly(store: Store) -> None:
    """A crash inside `/reset` may leave the archive of a Session that is gone."""
    while True:
        try:
            if swept := await sweep_archive(store.database, store.calls):
                log.info("swept %d archived messages without a Session", swept)
        except StoreError as fault:
            log.warning("the sweep failed and is tried again in an hour: %s", fault)
        await asyncio.sleep(SWEEP_SECONDS)
