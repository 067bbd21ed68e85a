"""The running bot: intake, worker and what goes on beside them, until it is told to leave.

Updates come by a webhook where one is set, else by polling, which only one process may do: the
others wait for its lease. Intake ends at once when the bot leaves; running turns get their time;
what still waits is the next process's.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta

from aiohttp import web
from telegram import Bot

from bot.aio import run_until
from bot.app.leader_election import run_while_leader
from bot.app.measured import MeasuredFrontend, Receive, counted
from bot.app.parts import Parts
from bot.errors import StoreError
from bot.lifecycle import Lifecycle
from bot.ops.health import Health, Ping
from bot.ops.http_server import HttpServer
from bot.ops.metrics import Metrics
from bot.owner import Owner
from bot.settings import Settings
from bot.store.mongo.queries import LeaseOwner
from bot.store.mongo.store import Store
from bot.telegram.commands.menu import publish
from bot.telegram.commands.table import CommandDependencies
from bot.telegram.frontend import TelegramFrontend
from bot.telegram.inbound.clock_skew import ClockSkew
from bot.telegram.inbound.incoming_rate import IncomingRate
from bot.telegram.inbound.membership import Membership
from bot.telegram.inbound.parsing import Account
from bot.telegram.inbound.poller import Poller
from bot.telegram.inbound.receiver import Gate, Receiver, reading
from bot.telegram.inbound.webhook import Webhook
from bot.telegram.outbound.messages import Messages
from bot.telegram.outbound.throttled_notices import ThrottledNotices
from bot.telegram.outbound.transport import Transport
from bot.turn import TurnRunner
from bot.worker import Worker

log = logging.getLogger(__name__)

SILENT_TELEGRAM = timedelta(minutes=2)
SWEEP_SECONDS = 3600.0
LEARNING_SECONDS = 60.0
POLLER_LEASE_SECONDS = 8.0
"""Shorter than a lane's: nothing is lost by a false alarm, and somebody has to receive."""


@dataclass(frozen=True, slots=True)
class Intake:
    """How updates come in.

    `begin` is done once, when the port is open; `run` goes on until it is cancelled.
    """

    begin: Callable[[], Awaitable[None]]
    run: Callable[[], Awaitable[object]]
    routes: Sequence[web.RouteDef] = ()
    pings: Mapping[str, Ping] = field(default_factory=dict)


async def serve(settings: Settings, parts: Parts, leave: asyncio.Event) -> None:
    """Receive and answer until `leave` is set."""
    turns, store, bot = parts.turns, parts.edges.store, parts.edges.bot
    metrics = parts.edges.metrics
    allowed = _gate(settings)
    holder = LeaseOwner(secrets.token_hex(8), settings.lease_seconds)
    inbox = store.inbox(turns.clock, holder)
    account = Account(bot.id, bot.username)
    messages = Messages(Transport(bot, moved=store.chats.moved))
    throttled_notices = ThrottledNotices(messages, turns.clock)
    gate = Gate(allowed, IncomingRate(settings.messages_per_minute, turns.clock))
    receiver = Receiver(inbox, account, turns.clock, throttled_notices, gate)
    membership = Membership(store.owners, store.chats, turns.clock, allowed)
    skew = ClockSkew(turns.clock, metrics.clock_skew.set)
    receive = counted(skew.watching(reading(membership.noting(receiver.receive))), metrics)
    intake = _webhook(settings, receive, bot) if settings.webhook_url else _polling(parts, receive)
    needs = CommandDependencies(
        lifecycle=Lifecycle(store.sessions, store.archive, turns.clock, turns.new_id),
        choices=parts.choices,
        lifetime=turns.lifetime,
        try_again=store.dead_letters.try_again,
        compactor=turns.compactor,
        corrections=store.corrections,
        own_dialogues=store.dialogues,
        token_budget=parts.token_budget,
        count=turns.count,
    )
    frontend = TelegramFrontend(turns, needs, messages, throttled_notices, account)
    worker = Worker(
        inbox,
        MeasuredFrontend(frontend, metrics),
        slots=settings.workers,
        owner_lanes=settings.owner_lanes,
        lease_seconds=settings.lease_seconds,
    )
    metrics.watch_lanes(worker.lanes)

    health = Health({"mongodb": store.ping, **intake.pings})
    async with _ports(settings, [*health.routes(), *intake.routes], metrics) as port:
        await intake.begin()
        log.info("@%s is ready; health answers on port %d", bot.username, port)
        async with asyncio.TaskGroup() as group:
            group.create_task(run_until(leave, intake.run()), name="intake")
            group.create_task(
                run_until(leave, publish(bot, hidden=parts.choices.pointless)), name="menu"
            )
            group.create_task(run_until(leave, _sweep_hourly(store)), name="sweep")
            group.create_task(run_until(leave, _keep_learning(turns, store)), name="token ratios")
            group.create_task(
                worker.run(leave, grace_seconds=settings.grace_seconds), name="worker"
            )
    await throttled_notices.close()


@asynccontextmanager
async def _ports(
    settings: Settings, routes: Sequence[web.RouteDef], metrics: Metrics
) -> AsyncIterator[int]:
    """PORT with all routes, and METRICS_PORT with the metrics' where one is set; the number of the
    first.
    """
    shared = routes if settings.metrics_port is not None else (*routes, metrics.route())
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(HttpServer(settings.host, settings.port, shared))
        if settings.metrics_port is not None:
            await stack.enter_async_context(
                HttpServer(
                    settings.metrics_host,
                    settings.metrics_port,
                    [metrics.route()],
                    setting="METRICS_PORT",
                )
            )
        yield server.port


def _polling(parts: Parts, receive: Receive) -> Intake:
    store, clock = parts.edges.store, parts.edges.clock
    poller = Poller(parts.edges.bot, receive, clock)
    parts.edges.metrics.watch_polls(lambda: poller.last_poll)
    lease = store.lease("poller", LeaseOwner(secrets.token_hex(8), POLLER_LEASE_SECONDS))
    leading = asyncio.Event()

    async def heard() -> None:
        if leading.is_set() and (
            poller.last_poll is None or clock.now() - poller.last_poll > SILENT_TELEGRAM
        ):
            raise TimeoutError

    async def begin() -> None:
        """Whoever holds the lease deletes a webhook that may be set."""

    return Intake(
        begin, lambda: run_while_leader(lease, poller.run, leading), pings={"telegram": heard}
    )


def _webhook(settings: Settings, receive: Receive, bot: Bot) -> Intake:
    secret = settings.webhook_secret.get_secret_value() if settings.webhook_secret else ""
    hook = Webhook(settings.webhook_url or "", secret, receive)
    return Intake(lambda: hook.announce(bot), asyncio.Event().wait, hook.routes())


def _gate(settings: Settings) -> Callable[[Owner], bool]:
    """Who may talk."""
    people = settings.allowed_user_ids | settings.admin_user_ids

    def allowed(owner: Owner) -> bool:
        return settings.access == "open" or owner.id in people

    return allowed


async def _keep_learning(turns: TurnRunner, store: Store) -> None:
    """What was learned of token counts is stored now and then, so that no turn has to wait for
    it.
    """
    while True:
        await asyncio.sleep(LEARNING_SECONDS)
        await turns.compactor.estimator.save(store.token_ratios)


async def _sweep_hourly(store: Store) -> None:
    """A crash inside `/reset` may leave the archive of a Session that is gone."""
    while True:
        try:
            if swept := await store.sweep_archive():
                log.info("swept %d archived messages without a Session", swept)
        except StoreError as fault:
            log.warning("the sweep failed and is tried again in an hour: %s", fault)
        await asyncio.sleep(SWEEP_SECONDS)
