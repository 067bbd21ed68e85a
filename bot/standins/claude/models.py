"""The models the emulated API offers: limits, kinds of thinking, and what `GET /v1/models/{id}`
says of each.

The 5.5 models think by themselves when a request does not mention thinking, and each accepts other
ways to say no.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bot.standins.claude.prompt import family

CAPABILITIES = (
    "batch",
    "citations",
    "code_execution",
    "image_input",
    "pdf_input",
    "structured_outputs",
)
EFFORTS = ("low", "medium", "high", "xhigh", "max")
THINKING = ("adaptive", "between_tools", "disabled", "enabled")


@dataclass(frozen=True, slots=True)
class Offer:
    """One model: window and longest answer in tokens, the smallest prefix its cache takes, its ways
    and its end.

    `thinking`: the types it accepts; the first one is what it does when a request says nothing.
    """

    window: int = 1_000_000
    max_answer_tokens: int = 128_000
    cache_floor: int = 512
    thinking: tuple[str, ...] = ("adaptive",)
    forced_calls: bool = True
    retires_at: str | None = None


def standard_offers() -> Mapping[str, Offer]:
    """The current models, and a deprecated one."""
    return {
        "claude-sonnet-5-5": Offer(thinking=("adaptive", "between_tools"), forced_calls=False),
        "claude-haiku-5-5": Offer(thinking=("adaptive", "disabled")),
        "claude-opus-5-5": Offer(),
        "claude-fable-5-2": Offer(),
        "claude-opus-4-5": Offer(
            200_000, 64_000, 4096, ("disabled", "enabled"), retires_at="2027-01-22T00:00:00Z"
        ),
    }


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
        "max_tokens": offer.max_answer_tokens,
        "capabilities": _capabilities(offer),
    }


def _capabilities(offer: Offer) -> dict[str, Any]:
    yes = {"supported": True}
    return {
        **dict.fromkeys(CAPABILITIES, yes),
        "context_management": {
            **yes,
            "clear_thinking_20251015": yes,
            "clear_tool_uses_20250919": yes,
        },
        "effort": {**yes, **dict.fromkeys(EFFORTS, yes)},
        "server_tools": {**yes, "code_execution": yes, "web_search": yes},
        "thinking": {
            **yes,
            "types": {kind: {"supported": kind in offer.thinking} for kind in THINKING},
        },
    }
