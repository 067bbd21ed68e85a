"""The tool calls of one turn: how many, how long, and what the model learns of them.

Every call gets exactly one result, whatever happens: what goes wrong inside a tool becomes a short
sentence for the model, and the log gets the place where it happened. Neither gets the text of a
foreign exception, for that may quote a password or an argument. Cancellation always passes through.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections import Counter
from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from bot.agent.limits import Limits
from bot.agent.tools import Toolbox, ToolContext
from bot.content import ToolResult, ToolUse, cap
from bot.errors import LaneLost, ToolFailed
from bot.ops.logs import whereabouts
from bot.own_tags import escape_tags

log = logging.getLogger(__name__)

NO_CALLS_LEFT = "No further tool calls are possible in this answer. Answer with what you have."
REPEATED_CALL = "This call was made before with the same arguments. Stop calling it."
NOT_WHOLE = (
    "The arguments were not one whole JSON object, so nothing was done. Call the tool "
    "again with all of them."
)


class ToolRunner:
    """The tool calls of one turn: bounded in number and time, side by side, each id answered
    exactly once.
    """

    def __init__(self, toolbox: Toolbox, context: ToolContext, limits: Limits) -> None:
        self._toolbox = toolbox
        self._context = context
        self._limits = limits
        self._left = limits.tool_calls
        self._seen: Counter[str] = Counter()
        self._gate = asyncio.Semaphore(limits.parallel_tools)

    @property
    def are_spent(self) -> bool:
        """Whether no further call would be run."""
        return self._left <= 0

    async def answer(
        self, calls: Sequence[ToolUse], malformed: AbstractSet[str] = frozenset()
    ) -> tuple[ToolResult, ...]:
        """Return one result for each call, in their order; `malformed` ones are not run."""
        outcomes = await asyncio.gather(
            *(self._run(call, malformed) for call in calls), return_exceptions=True
        )
        return tuple(
            self._result(call, outcome) for call, outcome in zip(calls, outcomes, strict=True)
        )

    async def _run(self, call: ToolUse, malformed: AbstractSet[str]) -> str:
        name, arguments = call["name"], call["input"]
        self._left -= 1
        if self._left < 0:
            raise ToolFailed(NO_CALLS_LEFT)
        if call["id"] in malformed:
            raise ToolFailed(NOT_WHOLE)
        key = f"{name} {json.dumps(arguments, sort_keys=True)}"
        self._seen[key] += 1
        if self._seen[key] > self._limits.identical_calls:
            raise ToolFailed(REPEATED_CALL)
        async with self._gate, asyncio.timeout(self._limits.tool_seconds):
            return await self._toolbox.run(self._context, name, arguments)

    def _result(self, call: ToolUse, outcome: str | BaseException) -> ToolResult:
        limit = self._limits.tool_output_chars
        if isinstance(outcome, str):
            said = self._toolbox.escaped(call["name"], outcome)
            return {"type": "tool_result", "tool_use_id": call["id"], "content": cap(said, limit)}
        if not isinstance(outcome, Exception) or isinstance(outcome, LaneLost):
            raise outcome
        level = logging.INFO if isinstance(outcome, ToolFailed) else logging.WARNING
        log.log(
            level, "turn %d: tool %.64s: %s", self._context.turn, call["name"], whereabouts(outcome)
        )
        return {
            "type": "tool_result",
            "tool_use_id": call["id"],
            "content": cap(escape_tags(_excuse(outcome)), limit),
            "is_error": True,
        }


def _excuse(error: Exception) -> str:
    """What the model is told.

    Only ToolFailed was written for it; any other text may hold what it must not see.
    """
    match error:
        case ToolFailed():
            return str(error)
        case TimeoutError():
            return "The tool took too long and was stopped."
    return "The tool failed."
