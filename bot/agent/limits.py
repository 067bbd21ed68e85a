"""What one turn may cost: calls, tools and time.

What an operator may want to weigh is a setting, the rest has its value here. Reaching a limit ends
the turn in words, never in an exception, as long as there is anything to say; a turn in which the
model never answered at all is a ModelBusy, so that the person can try again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """The bounds of one turn."""

    model_calls: int = 8
    """Retries of a failed call are not counted."""
    tool_calls: int = 16
    parallel_tools: int = 4
    identical_calls: int = 3
    """The same tool with the same arguments; one more is answered with an error."""
    tool_seconds: float = 20.0
    turn_seconds: float = 120.0
    tool_output_chars: int = 8_000
    attempts: int = 4
    """Tries of one model call, the first included."""
    resumes: int = 3
    """How often a call that the provider paused is taken up again."""


@dataclass(frozen=True, slots=True)
class Pauses:
    """How long to wait before a failed call is repeated: doubling, jittered so that replicas do not
    march in step.
    """

    random: Callable[[], float]
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    first: float = 0.5
    longest: float = 8.0

    def before(self, attempt: int, retry_after: float | None) -> float:
        """Seconds to wait before try number `attempt` (2 and up), at least what the provider asked
        for.
        """
        own = min(self.longest, self.first * 2.0 ** (attempt - 2)) * (0.5 + self.random() / 2)
        return max(own, retry_after or 0.0)
