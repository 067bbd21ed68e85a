"""`/new`: closes the active Session; the next message opens another."""

from __future__ import annotations

from bot.lifecycle import Lifecycle
from bot.telegram.commands.invocation import Invocation


async def new(lifecycle: Lifecycle, call: Invocation) -> None:
    await lifecycle.new(call.lane.owner, call.lane.place)
    await call.reply.notice("new_done")
