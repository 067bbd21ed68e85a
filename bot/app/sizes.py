"""Whether what stands in every prompt fits the models, by their cards, before anybody is answered.

Counted are the system prompt, the largest persona, the tools, a summary and the longest answer.
What cannot work is a StartError: one sentence with the setting, the model and the numbers.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from bot.agent.prompt import Prompt
from bot.agent.tools import Toolbox
from bot.compaction.summarising import MAX_SUMMARY_TOKENS, MIN_WINDOW
from bot.errors import StartError
from bot.ports import CountTokens, ModelCard
from bot.settings import Settings
from bot.settings.sessions import SUMMARY_TOKENS

Cards = Mapping[str, ModelCard]


@dataclass(frozen=True, slots=True)
class FixedSizes:
    """Tokens of what stands in every prompt, by the setting that is to blame for it."""

    system: int
    persona: int
    tools: int

    @property
    def total(self) -> int:
        """All of it."""
        return self.system + self.persona + self.tools

    @property
    def largest(self) -> str:
        """The setting to begin with where it is too much; empty: none of them made it so."""
        named = {"SYSTEM_PROMPT_FILE": self.system, "PERSONAS_FILE": self.persona}
        setting = max(named, key=lambda name: named[name])
        return setting if named[setting] * 2 > self.total else ""


async def measure_fixed(
    prompt: Prompt, toolbox: Toolbox, personas: Mapping[str, str], count: CountTokens
) -> FixedSizes:
    """Count it, by the bot's own count."""
    roles = [await count(words) for words in personas.values()]
    return FixedSizes(
        system=await count(prompt.system),
        persona=max(roles, default=0),
        tools=await count(json.dumps(list(toolbox.specs), ensure_ascii=False)),
    )


def require_fit(settings: Settings, sizes: FixedSizes, cards: Cards) -> None:
    """Raise StartError for the first thing that cannot work with one of the models."""
    for model in dict.fromkeys((settings.model, *settings.models)):
        _require_answer(settings, model, cards[model])
        _require_window(settings, sizes, model, cards[model])
    _require_trigger(settings, sizes)
    _require_summaries(settings, cards[settings.summary_model])


def _require_answer(settings: Settings, model: str, card: ModelCard) -> None:
    if card.max_tokens and settings.max_tokens > card.max_tokens:
        raise StartError(
            f"MAX_TOKENS: {settings.max_tokens} is more than {model} writes in one answer "
            f"({card.max_tokens})."
        )


def _require_window(settings: Settings, sizes: FixedSizes, model: str, card: ModelCard) -> None:
    needed = sizes.total + MAX_SUMMARY_TOKENS + settings.max_tokens
    if needed >= card.window:
        setting = sizes.largest if sizes.total > settings.max_tokens else "MAX_TOKENS"
        raise StartError(
            f"{setting or 'MODEL'}: what stands in every prompt (about {sizes.total} tokens), a "
            f"summary and the longest answer (MAX_TOKENS, {settings.max_tokens}) do not fit the "
            f"window of {model} ({card.window})."
        )


def _require_trigger(settings: Settings, sizes: FixedSizes) -> None:
    needed = sizes.total + SUMMARY_TOKENS
    if needed >= settings.context_trigger_tokens:
        raise StartError(
            f"{sizes.largest or 'CONTEXT_TRIGGER_TOKENS'}: what stands in every prompt of "
            f"{settings.model} and a summary take about {needed} tokens, so with "
            f"CONTEXT_TRIGGER_TOKENS at {settings.context_trigger_tokens} every turn would compact "
            f"again."
        )


def _require_summaries(settings: Settings, card: ModelCard) -> None:
    if card.window < MIN_WINDOW:
        raise StartError(
            f"SUMMARY_MODEL: the window of {settings.summary_model} ({card.window} tokens) is too "
            f"small to write summaries; it takes {MIN_WINDOW}."
        )
