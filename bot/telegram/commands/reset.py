"""`/reset`: erases the active Session and its archive."""

from __future__ import annotations

from bot.lifecycle import Lifecycle
from bot.telegram.commands.invocation import Invocation


async def reset(lifecycle: Lifecycle, call: Invocation) -> None:
    await lifecycle.reset(call.lane.owner, call.lane.place)
    await call.reply.notice("reset_done")
