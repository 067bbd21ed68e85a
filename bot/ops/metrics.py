"""Declares all metrics of the bot, here and nowhere else, and serves them at `/metrics`.

They describe this process alone and cost no query. However many clients ask, each format is
rendered at most once in FRESH_SECONDS. No label names a person, a Place or a Session. How much
waits in the inbox only the database knows: `deploy/README.md` has the query.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from datetime import datetime

from aiohttp import web
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector
from prometheus_client.exposition import choose_encoder

TURN_SECONDS = (0.5, 1, 2, 4, 8, 15, 30, 60, 120, 240)
FRESH_SECONDS = 1.0
MAX_COPIES = 8
"""Formats that are kept at hand: whoever asks may name any version of one."""


class Metrics:
    """The metrics of one process."""

    def __init__(self, *, fresh: float = FRESH_SECONDS) -> None:
        self._fresh = fresh
        self._copies: dict[str, tuple[float, bytes]] = {}
        self._registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        self.updates = Counter(
            "bot_updates", "Updates taken in from Telegram, by kind", ["kind"], registry=registry
        )
        self.batches = Counter(
            "bot_batches",
            "Batches whose fate was recorded, by that fate",
            ["state"],
            registry=registry,
        )
        self.turn_seconds = Histogram(
            "bot_turn_seconds",
            "From a claimed question to its sent answer",
            buckets=TURN_SECONDS,
            registry=registry,
        )
        self.model_calls = Counter(
            "bot_model_calls",
            "Calls of a model, by how they ended",
            ["model", "end"],
            registry=registry,
        )
        self.tokens = Counter(
            "bot_tokens", "Tokens billed, by model and kind", ["model", "kind"], registry=registry
        )
        self.clock_skew = Gauge(
            "bot_clock_skew_seconds",
            "The host's clock less Telegram's, by fresh updates",
            registry=registry,
        )
        self._lanes = Gauge("bot_lanes_held", "Lanes this process holds now", registry=registry)
        self._last_poll = Gauge(
            "bot_last_poll_timestamp_seconds",
            "When Telegram last answered a poll; 0: never",
            registry=registry,
        )

    def watch_lanes(self, held: Callable[[], int]) -> None:
        """Read the number of running lanes whenever the metrics are read."""
        self._lanes.set_function(held)

    def watch_polls(self, last: Callable[[], datetime | None]) -> None:
        """Read the time of the last good poll whenever the metrics are read."""
        self._last_poll.set_function(lambda: 0.0 if (at := last()) is None else at.timestamp())

    def route(self) -> web.RouteDef:
        """Return the route, which answers in the format that is asked for."""
        return web.get("/metrics", self._tell)

    async def _tell(self, request: web.Request) -> web.Response:
        encode, kind = choose_encoder(request.headers.get("Accept", ""))
        now = asyncio.get_running_loop().time()
        written_at, body = self._copies.get(kind, (-math.inf, b""))
        if now - written_at >= self._fresh:
            body = encode(self._registry)
            if len(self._copies) >= MAX_COPIES:
                self._copies.clear()
            self._copies[kind] = now, body
        return web.Response(body=body, headers={"Content-Type": kind})
