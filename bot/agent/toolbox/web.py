"""The web, as the model's provider searches and reads it: tools it runs by itself, inside a call of
the model.

Nothing of ours is run, so our limits do not hold; each has its own. What they cost is billed by the
provider.
"""

from __future__ import annotations

from bot.ports import Json

MAX_USES = 5
"""Of each of them, in one call of the model."""
WEB_TOOLS: tuple[Json, ...] = (
    {"type": "web_search_20250305", "name": "web_search", "max_uses": MAX_USES},
    {"type": "web_fetch_20250910", "name": "web_fetch", "max_uses": MAX_USES},
)
