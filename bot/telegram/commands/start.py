"""`/start`: greets, and says how long a Session lasts."""

from __future__ import annotations

from bot.session import Lifetime
from bot.telegram.commands.invocation import Invocation
from bot.texts import duration


async def start(lifetime: Lifetime, call: Invocation) -> None:
    idle, age = (duration(span, call.language) for span in (lifetime.idle, lifetime.max_age))
    await call.reply.notice("start", idle=idle, age=age)
