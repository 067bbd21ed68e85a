"""Thinking: what a request may ask for, and whether the blocks it sends back are unchanged.

A block is bound to its prefix (tools, system, all messages and blocks before it) by its signature.
Thinking of another family of models is ignored, as the real API drops what the model cannot read; a
changed prefix is an error, as it is for accounts made since September 2026.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from bot.standins.claude.models import Offer
from bot.standins.claude.prompt import blocks_of, family, sign
from bot.standins.claude.refusals import Refused

Json = Mapping[str, Any]

SIGNATURE = re.compile(r"([a-z]+)\.[0-9a-f]{64}")
FORCED = {"any", "tool"}
THINKS = {"adaptive", "enabled"}
INSTEAD = {
    "enabled": ' Use "thinking.type.adaptive" and "output_config.effort" to control thinking '
    "behavior."
}
MISPLACED = (
    "The block is bound to a different conversation. Remove the block, or set "
    '`thinking.block_binding.prefix_mismatch_behavior` to "drop_block". This setting requires '
    "the value "
    "`thinking-binding-controls-2026-08-01` in the `anthropic-beta` header."
)


def kind_of_thinking(body: Json, offer: Offer) -> str:
    """What the request asks for, or what the model does by itself."""
    return str((body.get("thinking") or {}).get("type") or offer.thinking[0])


def may_think(body: Json, offer: Offer) -> bool:
    """Whether this answer may hold thinking."""
    kind = kind_of_thinking(body, offer)
    after_results = any(
        block["type"] == "tool_result" for block in blocks_of(body["messages"][-1]["content"])
    )
    return kind in THINKS or (kind == "between_tools" and after_results)


def check_thinking(body: Json, offer: Offer) -> None:
    """Raise Refused for thinking the model does not do, and for thinking that was moved or
    changed.
    """
    kind = kind_of_thinking(body, offer)
    if kind not in offer.thinking:
        raise Refused(
            f'"thinking.type.{kind}" is not supported for this model.{INSTEAD.get(kind, "")}'
        )
    if (body.get("tool_choice") or {}).get("type") in FORCED:
        if not offer.forced_calls:
            raise Refused(f"tool_choice: forced tool use is not supported for {body['model']}")
        if body.get("thinking") and kind in THINKS:
            raise Refused("Thinking may not be enabled when tool_choice forces tool use.")
    if (
        kind == "enabled"
        and body.get("max_tokens", body["thinking"]["budget_tokens"] + 1)
        <= body["thinking"]["budget_tokens"]
    ):
        raise Refused("`max_tokens` must be greater than `thinking.budget_tokens`.")
    _check_signatures(body)


def _check_signatures(body: Json) -> None:
    for place, message in enumerate(body["messages"]):
        blocks = blocks_of(message["content"])
        for index, block in enumerate(blocks):
            if block["type"] != "thinking" or _foreign(block["signature"], body["model"]):
                continue
            if block["signature"] != sign(body, place, blocks[:index], block["thinking"]):
                where = f"messages.{place}.content.{index}: Invalid `signature` in `thinking` block"
                raise Refused(
                    f"{where}. {MISPLACED}" if SIGNATURE.fullmatch(block["signature"]) else where
                )


def _foreign(signature: str, model: str) -> bool:
    signed = SIGNATURE.fullmatch(signature)
    return signed is not None and signed[1] != family(model)
