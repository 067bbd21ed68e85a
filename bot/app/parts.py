"""The parts this bot is made of: which store, which model, which tools."""

from __future__ import annotations

import asyncio
import logging
import random
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from hashlib import sha256

from telegram import Bot
from telegram.error import InvalidToken, TelegramError

from bot.agent.attachments import Attachments
from bot.agent.attachments.file_cache import FileCache
from bot.agent.attachments.recordings import Fee
from bot.agent.claude import Claude, Endpoint
from bot.agent.limits import Limits, Pauses
from bot.agent.loop import Agent, fixed_tokens, min_tokens
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
from bot.app.sizes import measure_fixed, require_fit
from bot.budget import TokenBudget
from bot.compaction import CompactionPolicy, Compactor, Summariser
from bot.compaction.prompt_size import PromptSizeEstimator
from bot.errors import StartError, StoreError, StoreUnavailable
from bot.ops.metrics import Metrics
from bot.ports import Clock
from bot.session import Alive, Lifetime
from bot.settings import Settings
from bot.store.mongo.collections import DAY, Retention
from bot.store.mongo.store import Store, connect
from bot.telegram.connection import bot_at
from bot.telegram.inbound.files import TelegramFiles
from bot.tokens import Tokens
from bot.turn import TurnRunner

log = logging.getLogger(__name__)


@asynccontextmanager
async def open_store(settings: Settings) -> AsyncIterator[Store]:
    """The store of MONGODB_URI, once its server has answered."""
    try:
        uri, name = settings.mongodb_uri.get_secret_value(), settings.mongodb_database
        store = await connect(uri, name, driver=settings.mongodb_driver)
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
    for sentence in await store.ensure_needed_schema(retention(settings)):
        log.info("mended: %s", sentence)
    try:
        await store.publish_lifetime(_lifetime(settings))
    except StoreError as fault:
        log.warning("sessions_overview cannot tell which Sessions are over: %s", fault)


def retention(settings: Settings) -> Retention:
    """How long the server keeps what nobody uses any more."""
    return Retention(
        sessions=settings.session_ttl_seconds + settings.session_resume_seconds,
        archive=settings.archive_days * DAY,
    )


@asynccontextmanager
async def connected_bot(settings: Settings) -> AsyncIterator[Bot]:
    """The bot's side of Telegram, once Telegram knows it by its token."""
    bot = bot_at(settings.telegram_api_url, settings.telegram_bot_token.get_secret_value())
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


@dataclass(frozen=True, slots=True)
class Edges:
    """What a bot is built upon: everything that was opened and has to be closed."""

    store: Store
    bot: Bot
    model: Claude
    metrics: Metrics
    clock: Clock


@dataclass(frozen=True, slots=True)
class Parts:
    """What a running bot is made of."""

    edges: Edges
    turns: TurnRunner
    choices: PreferenceOptions
    token_budget: TokenBudget


async def build(settings: Settings, edges: Edges) -> Parts:
    """Make the parts, each from those before it. Raises StartError."""
    store, clock = edges.store, edges.clock
    count = Tokens()
    await count.load()
    model = MeasuredModel(edges.model, edges.metrics)
    lifetime = _lifetime(settings)
    choices = PreferenceOptions(
        store.owners,
        tuple(dict.fromkeys((settings.model, *settings.models))),
        settings.personas_file,
    )
    # A process that died with a turn is noticed when the turn's deadline and lease are over.
    keep = timedelta(seconds=settings.turn_seconds + settings.lease_seconds)
    token_budget = TokenBudget(store.usage_store, clock, settings.daily_token_budget, keep)
    prompt = _prompt(settings)
    toolbox = _toolbox(settings, store, lambda: lifetime.at(clock.now()))
    minimum = min_tokens(prompt, toolbox)
    _require_room_for_one(settings.daily_token_budget, minimum)
    attachments = Attachments(
        FileCache(TelegramFiles(edges.bot), asyncio.get_running_loop().time),
        _transcriber(settings),
        Fee(token_budget, settings.transcribe_tokens_per_minute, minimum),
        count,
    )
    agent = Agent(
        model=model,
        toolbox=toolbox,
        prompt=prompt,
        limits=_limits(settings),
        pauses=Pauses(random.random),
        choices=choices,
        token_budget=token_budget,
        attachments=attachments,
    )
    estimator = PromptSizeEstimator(fixed_tokens(prompt, toolbox))
    await estimator.load(store.token_ratios, choices.models)
    fields = {settings.summary_model: "SUMMARY_MODEL", **dict.fromkeys(choices.models, "MODELS")}
    fields[settings.model] = "MODEL"
    cards = {name: await edges.model.card(name, field) for name, field in fields.items()}
    roles = {name: persona.prompt for name, persona in choices.personas.items()}
    require_fit(settings, await measure_fixed(prompt, toolbox, roles, count), cards)
    compactor = Compactor(
        store.sessions,
        store.archive,
        replace(
            Summariser.of(model, settings.summary_model, count, cards[settings.summary_model]),
            otherwise=settings.model,
        ),
        _policy(settings, min(cards[name].window for name in choices.models)),
        clock,
        token_budget,
        estimator,
    )
    turns = TurnRunner(
        sessions=store.sessions,
        agent=agent,
        compactor=compactor,
        count=count,
        clock=clock,
        new_id=_new_id,
        lifetime=lifetime,
        recalls=settings.topic_after_expiry == "on",
        announces=settings.compaction_notice == "on",
    )
    return Parts(edges, turns, choices, token_budget)


def _require_room_for_one(budget: int | None, minimum: int) -> None:
    """A budget that no message fits into would refuse everybody, day after day, without their
    knowing why.
    """
    if budget and budget < minimum:
        raise StartError(
            f"DAILY_TOKEN_BUDGET: {budget} is less than one request takes (about "
            f"{minimum} tokens with the"
            " system prompt, the tools and the shortest answer); 0 allows nothing, unset means "
            "no limit."
        )


def _transcriber(settings: Settings) -> Transcriber | None:
    key = settings.transcribe_key.get_secret_value() if settings.transcribe_key else ""
    return (
        Transcriber(settings.transcribe_url, settings.transcribe_model, key)
        if settings.transcribe_url
        else None
    )


def _prompt(settings: Settings) -> Prompt:
    file = settings.system_prompt_file
    return Prompt(
        model=settings.model,
        # People get a name for the provider that cannot be turned back into their Telegram id.
        key=sha256(settings.telegram_bot_token.get_secret_value().encode()).digest(),
        system=file.read_text(encoding="utf-8") if file else SYSTEM,
        max_tokens=settings.max_tokens,
        thinking=_unless_auto(settings.thinking),
        effort=_unless_auto(settings.effort),
    )


def _toolbox(settings: Settings, store: Store, alive: Callable[[], Alive]) -> Toolbox:
    own = [
        *notes_tools(store.notes),
        *plan_tools(),
        *search_tools(store.sessions, store.archive, alive),
    ]
    web = WEB_TOOLS if settings.web_search == "on" else ()
    return Toolbox([*own, *installed_tools()], (*web, *mcp_toolsets(settings.mcp_servers)))


def _limits(settings: Settings) -> Limits:
    return Limits(
        model_calls=settings.model_calls,
        tool_calls=settings.tool_calls,
        tool_seconds=settings.tool_seconds,
        turn_seconds=settings.turn_seconds,
    )


def _policy(settings: Settings, window: int) -> CompactionPolicy:
    return CompactionPolicy(
        window=window - settings.max_tokens,
        messages=settings.context_trigger_messages,
        tokens=settings.context_trigger_tokens,
        keep_messages=settings.context_keep_messages,
    )


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
