"""The prompt cache: splits a prompt into what was read from it, written to it, and uncached.

As the real one: entries are prefixes that ended at a breakpoint of an earlier request with the same
model, found again by looking back at most 20 blocks from a breakpoint of this request; shorter
prefixes than the model's floor are never cached, silently; an entry lives 5 minutes (or an hour)
from its last use. The three numbers add up to the prompt.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import accumulate
from typing import Any

from bot.standins.claude.prompt import Item
from bot.standins.clock import Clock

LOOK_BACK = 20
BREAKPOINTS = 4
LIVES = {"5m": timedelta(minutes=5), "1h": timedelta(hours=1)}
VOID_MESSAGES = ("tool_choice", "thinking")
"""Request parameters that void the cached messages, though not tools and system."""


@dataclass(frozen=True, slots=True)
class PromptUsage:
    """How a prompt was billed."""

    fresh: int
    read: int = 0
    written_5m: int = 0
    written_1h: int = 0

    @property
    def total(self) -> int:
        """The whole prompt."""
        return self.fresh + self.read + self.written_5m + self.written_1h

    def wire(self, output: int) -> dict[str, Any]:
        """The `usage` object of the API."""
        return {
            "input_tokens": self.fresh,
            "cache_read_input_tokens": self.read,
            "cache_creation_input_tokens": self.written_5m + self.written_1h,
            "cache_creation": {
                "ephemeral_5m_input_tokens": self.written_5m,
                "ephemeral_1h_input_tokens": self.written_1h,
            },
            "output_tokens": output,
            "service_tier": "standard",
        }


@dataclass(frozen=True, slots=True)
class _Prefix:
    key: str
    tokens: int
    ttl: str | None


class PromptCache:
    """The cached prefixes of one server."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._entries: dict[str, tuple[datetime, timedelta]] = {}

    def meter(
        self, body: Mapping[str, Any], items: Sequence[Item], total: int, floor: int
    ) -> PromptUsage:
        """Account for one request, and remember its breakpoints."""
        prefixes = _prefixes(body, items, total)
        marks = [
            place for place, prefix in enumerate(prefixes) if prefix.ttl and prefix.tokens >= floor
        ]
        if not marks:
            return PromptUsage(total)
        now = self._clock.now()
        hit = max(
            (found for place in marks if (found := self._find(prefixes, place, now)) is not None),
            default=None,
        )
        read = 0 if hit is None else prefixes[hit].tokens
        for place in marks:
            self._keep(prefixes[place], now)
        if hit is not None:
            self._renew(prefixes[hit].key, now)
        return _usage(prefixes, marks, read, total)

    def _find(self, prefixes: Sequence[_Prefix], mark: int, now: datetime) -> int | None:
        reachable = range(mark, max(mark - LOOK_BACK, -1), -1)
        return next((place for place in reachable if self._lives(prefixes[place].key, now)), None)

    def _lives(self, key: str, now: datetime) -> bool:
        return key in self._entries and self._entries[key][0] > now

    def _keep(self, prefix: _Prefix, now: datetime) -> None:
        self._entries[prefix.key] = (now, LIVES[prefix.ttl or "5m"])
        self._renew(prefix.key, now)

    def _renew(self, key: str, now: datetime) -> None:
        life = self._entries[key][1]
        self._entries[key] = (now + life, life)


def _usage(prefixes: Sequence[_Prefix], marks: Sequence[int], read: int, total: int) -> PromptUsage:
    written = {"5m": 0, "1h": 0}
    done = read
    for place in marks:
        prefix = prefixes[place]
        written[prefix.ttl or "5m"] += max(0, prefix.tokens - done)
        done = max(done, prefix.tokens)
    return PromptUsage(total - done, read, written["5m"], written["1h"])


def _prefixes(body: Mapping[str, Any], items: Sequence[Item], total: int) -> list[_Prefix]:
    """Every prefix of the prompt; the fixed part of the prompt counts as its beginning."""
    fixed = total - sum(item.tokens for item in items)
    sizes = accumulate((item.tokens for item in items), initial=fixed)
    next(sizes)
    digest = hashlib.sha256(body["model"].encode())
    automatic = (
        (body.get("cache_control") or {}).get("ttl", "5m") if body.get("cache_control") else None
    )
    prefixes, section = [], ""
    for place, (item, size) in enumerate(zip(items, sizes, strict=True)):
        if item.section != section and item.section == "messages":
            digest.update(repr([body.get(name) for name in VOID_MESSAGES]).encode())
        section = item.section
        digest.update(item.key.encode() + b"\0")
        ttl = item.ttl or (automatic if place == len(items) - 1 else None)
        prefixes.append(_Prefix(digest.copy().hexdigest(), size, ttl))
    return prefixes


def breakpoints(body: Mapping[str, Any], items: Sequence[Item]) -> int:
    """How many breakpoints a request sets, the automatic one included."""
    explicit = sum(item.ttl is not None for item in items)
    automatic = bool(body.get("cache_control")) and not (items and items[-1].ttl)
    return explicit + automatic
