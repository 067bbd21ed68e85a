"""What was learned of models' token counts, in memory."""

from __future__ import annotations

from bot.ports import TokenRatio


class MemoryTokenRatios:
    """What was learned of models, in a dict."""

    def __init__(self) -> None:
        self._token_ratios: dict[str, TokenRatio] = {}

    async def load(self, model: str) -> TokenRatio | None:
        return self._token_ratios.get(model)

    async def save(self, model: str, token_ratio: TokenRatio) -> None:
        self._token_ratios[model] = token_ratio
