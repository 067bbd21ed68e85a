"""The TokenRatioStore port: what was learned of models, by name."""

from __future__ import annotations

import pytest

from bot.errors import StoreError
from bot.ports import TokenRatio


async def test_of_a_new_model_nothing_is_known(stores):
    assert await stores.token_ratios.load("claude") is None


async def test_the_last_word_about_a_model_counts(stores):
    await stores.token_ratios.save("claude", TokenRatio(1.3, 2000.0))
    await stores.token_ratios.save("claude", TokenRatio(2, 3))
    await stores.token_ratios.save("org/local.gguf", TokenRatio(0.9, 1.0))
    assert await stores.token_ratios.load("claude") == TokenRatio(2.0, 3.0)


async def test_the_server_takes_numbers_only(store):
    with pytest.raises(StoreError):
        async with store.calls:
            await store.database["models"].insert_one(
                {"_id": "x", "tokenRatio": "much", "fixedTokens": 1.0}
            )
