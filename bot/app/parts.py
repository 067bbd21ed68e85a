"""The parts this bot is made of: which store, which model, which tools."""

from __future__ import annotations

import asyncio
import logging
import random
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from hashlib import sha256

from telegram import Bot
from telegram.error import InvalidToken, TelegramError

from bot.agent.attachments import Attachments
from bot.agent.attachments.file_cache import FileCache
from bot.agent.attachments.recordings import Fee
from bot.agent.claude import Claude, Endpoint
from bot.agent.limits import Limits, Pauses
from bot.agent.loop import Agent
from bot.agent.preferences import PreferenceOptions
from bot.agent.prompt import SYSTEM, Prompt
from bot.agent.toolbox.mcp import mcp_toolsets
from bot.agent.toolbox.notes import notes_tools
from bot.agent.toolbox.plan import plan_tools
from bot.agent.toolbox.search import search_tools
from bot.agent.toolbox.web import WEB_TOOLS
from bot.agent.tools import Toolbox
from bot.agent.transcriber import Transcriber
from bot.app.installed import installed_tools
from bot.app.measured import MeasuredModel
from bot.budget import TokenBudget
from bot.compaction import CompactionPolicy, Compactor, Summariser
from bot.errors import StartError, StoreUnavailable
from bot.ops.metrics import Metrics
from bot.ports import Clock, Model
from bot.session import Alive, Lifetime
from bot.settings import Settings
from bot.store.mongo.store import Store, connect
from bot.telegram.connection import application
from bot.telegram.inbound.files import TelegramFiles
from bot.tokens import Tokens
from bot.turn import TurnRunner

log = logging.getLogger(__name__)


@asynccontextmanager
async def open_store(settings: Settings, clock: Clock) -> AsyncIterator[Store]:
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


async def prepare(store: Store, settings: Settings) -> None:
    """Make what is missing, as far as the bot's user may.

    Raises StartError where the bot cannot do without it.
    """
    for sentence in await store.ensure_needed_schema(expire_after(settings)):
        log.info("mended: %s", sentence)


def expire_after(settings: Settings) -> int:
    return settings.session_ttl_seconds + settings.session_resume_seconds


@asynccontextmanager
async def connected_bot(settings: Settings) -> AsyncIterator[Bot]:
    """The bot's side of Telegram, once Telegram knows it by its token."""
    bot = application(settings.telegram_bot_token.get_secret_value(), settings.telegram_api_url).bot
    try:
        try:
            await bot.initialize()
        except InvalidToken:
            raise StartError(
                "TELEGRAM_BOT_TOKEN: Telegram does not know a bot with this token."
            ) from None
        except TelegramError as fault:
            raise StartError(
                f"TELEGRAM_API_URL: Telegram does not answer ({type(fault).__name__})."
            ) from None
        yield bot
    finally:
        await bot.shutdown()


def claude(settings: Settings) -> Claude:
    key = settings.anthropic_api_key.get_secret_value() if settings.anthropic_api_key else ""
    endpoint = Endpoint.at(
        settings.anthropic_base_url,
        key,
        credential=settings.anthropic_credential,
        caching=settings.prompt_cache,
    )
    return Claude(
        replace(endpoint, mcp=settings.mcp_servers), silence_seconds=settings.silence_seconds
    )


async def make_turns(
    settings: Settings, store: Store, model: Claude, metrics: Metrics, clock: Clock
) -> TurnRunner:
    count = Tokens()
    await count.load()
    measured = MeasuredModel(model, metrics)
    summariser = Summariser(
        measured, settings.summary_model, count, window=await model.window(settings.summary_model)
    )
    offered, lifetime = preference_options(settings, store), _lifetime(settings)
    policy = CompactionPolicy(
        window=min([await model.window(name) for name in offered.models]) - settings.max_tokens,
        messages=settings.context_trigger_messages,
        tokens=settings.context_trigger_tokens,
        keep_messages=settings.context_keep_messages,
    )
    compactor = Compactor(store.sessions, store.archive, summariser, policy, clock)
    compactor.token_budget = token_budget(settings, store, clock)
    agent = replace(
        _agent(settings, store, measured, offered, lambda: lifetime.at(clock.now())),
        token_budget=compactor.token_budget,
    )
    compactor.estimator.fixed = agent.fixed_tokens
    _require_room_for_one(settings.daily_token_budget, agent)
    await compactor.estimator.load(store.token_ratios, offered.models)
    return TurnRunner(
        sessions=store.sessions,
        agent=agent,
        compactor=compactor,
        count=count,
        clock=clock,
        new_id=_new_id,
        lifetime=lifetime,
        announces=settings.compaction_notice == "on",
    )


def _require_room_for_one(budget: int | None, agent: Agent) -> None:
    """A budget that no message fits into would refuse everybody, day after day, without their
    knowing why.
    """
    if budget and budget < agent.min_tokens:
        raise StartError(
            f"DAILY_TOKEN_BUDGET: {budget} is less than one request takes (about "
            f"{agent.min_tokens} tokens with the"
            " system prompt, the tools and the shortest answer); 0 allows nothing, unset means "
            "no limit."
        )


def token_budget(settings: Settings, store: Store, clock: Clock) -> TokenBudget:
    """What people may spend; a process that died with a turn is noticed when the turn's deadline
    and lease are over.
    """
    keep = timedelta(seconds=settings.turn_seconds + settings.lease_seconds)
    return TokenBudget(store.usage_store, clock, settings.daily_token_budget, keep)


def with_files(turns: TurnRunner, settings: Settings, bot: Bot) -> TurnRunner:
    """The same turns, with eyes and ears for what people send beside words."""
    file_cache = FileCache(TelegramFiles(bot), asyncio.get_running_loop().time)
    agent = turns.agent
    fee = (
        Fee(agent.token_budget, settings.transcribe_tokens_per_minute, agent.min_tokens)
        if agent.token_budget
        else None
    )
    attachments = Attachments(file_cache, _transcriber(settings), fee, turns.count)
    return replace(turns, agent=replace(agent, attachments=attachments))


def _transcriber(settings: Settings) -> Transcriber | None:
    key = settings.transcribe_key.get_secret_value() if settings.transcribe_key else ""
    return (
        Transcriber(settings.transcribe_url, settings.transcribe_model, key)
        if settings.transcribe_url
        else None
    )


def preference_options(settings: Settings, store: Store) -> PreferenceOptions:
    """What people may choose."""
    return PreferenceOptions(
        store.owners,
        tuple(dict.fromkeys((settings.model, *settings.models))),
        settings.personas_file,
    )


def _agent(
    settings: Settings,
    store: Store,
    model: Model,
    offered: PreferenceOptions,
    alive: Callable[[], Alive],
) -> Agent:
    file = settings.system_prompt_file
    prompt = Prompt(
        model=settings.model,
        # People get a name for the provider that cannot be turned back into their Telegram id.
        key=sha256(settings.telegram_bot_token.get_secret_value().encode()).digest(),
        system=file.read_text(encoding="utf-8") if file else SYSTEM,
        max_tokens=settings.max_tokens,
        thinking=_unless_auto(settings.thinking),
        effort=_unless_auto(settings.effort),
    )
    limits = Limits(
        model_calls=settings.model_calls,
        tool_calls=settings.tool_calls,
        tool_seconds=settings.tool_seconds,
        turn_seconds=settings.turn_seconds,
    )
    own = [
        *notes_tools(store.notes),
        *plan_tools(),
        *search_tools(store.sessions, store.archive, alive),
    ]
    web = WEB_TOOLS if settings.web_search == "on" else ()
    toolbox = Toolbox([*own, *installed_tools()], (*web, *mcp_toolsets(settings.mcp_servers)))
    return Agent(model, toolbox, prompt, limits, Pauses(random.random), offered)


def _unless_auto(value: str) -> str:
    return "" if value == "auto" else value


def _lifetime(settings: Settings) -> Lifetime:
    return Lifetime(
        idle=timedelta(seconds=settings.session_ttl_seconds),
        max_age=timedelta(seconds=settings.session_max_age_seconds),
        resume=timedelta(seconds=settings.session_resume_seconds),
    )


def _new_id() -> str:
    return secrets.token_hex(16)
