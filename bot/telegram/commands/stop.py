"""`/stop`: confirms that the running turn has ended, or says that none was running.

The receiver ends it when the command arrives; the command itself keeps its place in the lane.
"""

from __future__ import annotations

from bot.telegram.commands.invocation import Invocation


async def stop(call: Invocation) -> None:
    await call.reply.notice("stop_done" if call.has_stopped_turn else "stop_nothing")
