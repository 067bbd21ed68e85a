"""One model call of a turn, repeated while waiting helps, as long as there is time and its Owner
can pay for it.

Before a call is repeated, the words it had shown are taken back. What each call costs is owed from
the moment it is sent, also where it fails or is cut short; an answer is kept as short as what is
left of the Owner's day.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, replace

from bot.agent.limits import Limits, Pauses
from bot.agent.streaming import StreamedText
from bot.agent.tools import ToolContext
from bot.budget import MIN_ANSWER_TOKENS, TokenBudget
from bot.errors import ModelBusy, ModelError
from bot.ports import Completion, Model, Request, UsageMeter
from bot.tokens import request_tokens

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ModelCaller:
    """How the model is asked in one turn.

    `watch` hears the name of each tool that the provider runs by itself.
    """

    model: Model
    limits: Limits
    pauses: Pauses
    token_budget: TokenBudget | None
    context: ToolContext
    streamed: StreamedText
    watch: Callable[[str], None]
    meter: UsageMeter
    deadline: float

    async def ask(self, wanted: Request) -> Completion:
        """Ask.

        Raises a ModelError where waiting does not help, or no try, time or money is left.
        """
        attempt = 1
        while True:
            request = await self._limit_answer(wanted)
            self.context.record.require_lease()
            self.meter.send(request_tokens(request))
            try:
                completion = await self.model.complete(
                    request, self._grow, self.meter.begin, self.watch, self.meter.write
                )
            except ModelError as error:
                self.meter.break_off(error.usage)
                log.warning(
                    "turn %d: %s (MODEL, MODELS), try %d: %s",
                    self.context.turn,
                    request.model,
                    attempt,
                    error,
                )
                await self._wait(attempt, error)
            else:
                self.meter.end(completion.usage)
                return completion
            attempt += 1
            self.streamed.take_back()

    def _grow(self, delta: str) -> None:
        self.meter.write(delta)
        self.streamed.grow(delta)

    async def _limit_answer(self, request: Request) -> Request:
        """Shorten the answer to what its Owner can pay for. Raises BudgetSpent."""
        if self.token_budget is None or not self.token_budget.has_limit:
            return request
        spent = self.meter.total.tokens + request_tokens(request)
        minimum = spent + min(MIN_ANSWER_TOKENS, request.max_tokens)
        granted = await self.token_budget.reserve(
            self.context.owner, self.context.turn, minimum, spent + request.max_tokens
        )
        return replace(request, max_tokens=granted - spent)

    async def _wait(self, attempt: int, error: ModelError) -> None:
        """Sleep before the next try, or raise `error` where there is none."""
        if not isinstance(error, ModelBusy) or not error.at_once or attempt >= self.limits.attempts:
            raise error
        pause = self.pauses.before(attempt + 1, error.retry_after)
        if asyncio.get_running_loop().time() + pause >= self.deadline:
            raise error
        await self.pauses.sleep(pause)
