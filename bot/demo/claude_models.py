"""The models the emulated API offers, and what `GET /v1/models/{id}` says of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from bot.demo.claude_prompt import family

ACTIVE = ("claude-sonnet-5-5", "claude-haiku-5-5", "claude-opus-5-5", "claude-fable-5-2")
DEPRECATED = "claude-opus-4-5"
YES = MappingProxyType({"supported": True})
CAPABILITIES = ("batch", "citations", "code_execution", "image_input", "pdf_input", "structured_outputs")


@dataclass(frozen=True, slots=True)
class Offer:
    """One model: window and longest answer in tokens, the smallest prefix its cache takes, and its end of life."""

    window: int = 200_000
    longest_answer: int = 64_000
    cache_floor: int = 1024
    retires_at: str | None = None


def standard_offers() -> Mapping[str, Offer]:
    """The current models, and a deprecated one."""
    return {**{name: Offer() for name in ACTIVE}, DEPRECATED: Offer(retires_at="2027-01-22T00:00:00Z")}


def card(name: str, offer: Offer) -> dict[str, Any]:
    """The model object of the API."""
    return {
        "type": "model",
        "id": name,
        "display_name": name.replace("-", " ").title(),
        "created_at": "2026-09-01T00:00:00Z",
        "line": family(name),
        "lifecycle": "deprecated" if offer.retires_at else "active",
        "deprecated_at": "2026-10-01T00:00:00Z" if offer.retires_at else None,
        "retires_at": offer.retires_at,
        "max_input_tokens": offer.window,
        "max_tokens": offer.longest_answer,
        "capabilities": _capabilities(),
    }


def _capabilities() -> dict[str, Any]:
    yes = dict(YES)
    return {
        **dict.fromkeys(CAPABILITIES, yes),
        "context_management": {**yes, "clear_thinking_20251015": yes, "clear_tool_uses_20250919": yes},
        "effort": {**yes, **dict.fromkeys(("low", "medium", "high", "xhigh", "max"), yes)},
        "server_tools": {**yes, "code_execution": yes, "web_search": yes},
        "thinking": {**yes, "types": {"adaptive": yes, "enabled": yes}},
    }
