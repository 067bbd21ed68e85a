"""Bounds the tokens that each Owner may use in a day (UTC), and books what was used.

Where there is a budget, the size of a call is set aside before it is made and settled with what the
provider reported when its turn is over, so that messages which are answered side by side cannot
overrun the day together. An answer is kept as short as what is left. Booking never costs anybody an
answer or a summary that is already made.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta

from bot.errors import BudgetSpent, StoreError
from bot.owner import Owner
from bot.ports import NOTHING_USED, Clock, Reservation, UsageMeter, UsageStore
from bot.usage import Usage

log = logging.getLogger(__name__)

MIN_ANSWER_TOKENS = 512
"""Tokens; with less left than the prompt and so much, no call is worth its price."""


@dataclass(frozen=True, slots=True)
class TokenBudget:
    """The daily budget of every Owner.

    `budget` is in tokens of prompts and answers; None means no limit, 0 means nothing.
    """

    usage_store: UsageStore
    clock: Clock
    budget: int | None = None
    keep: timedelta = timedelta(minutes=3)
    """How long tokens stay set aside for a turn: its deadline, and the time in which its death
    would be noticed.
    """

    @property
    def has_limit(self) -> bool:
        """Whether tokens have to be reserved at all."""
        return self.budget is not None

    async def reserve(self, owner: Owner, turn: int, minimum: int, maximum: int) -> int:
        """Set aside up to `maximum` tokens for a turn, at least `minimum`; raises BudgetSpent."""
        if self.budget is None:
            return maximum
        wanted, left = Reservation(turn, minimum, maximum, self.keep), 0
        if self.budget:
            left = await self.usage_store.reserve(owner, self.clock.now(), wanted, self.budget)
        if left < minimum or not self.budget:
            raise BudgetSpent(self.budget, self.renewed_in(), minimum, left)
        return left

    async def spend(self, owner: Owner, turn: int, tokens: int, *, beside: int = 0) -> None:
        """Book tokens before they are used, so that no crash loses them. Raises BudgetSpent.

        `beside` is what the turn will need at least on top of that; without room for both nothing
        is booked.
        """
        if self.has_limit:
            await self.reserve(owner, turn, tokens + beside, tokens + beside)
            await self.usage_store.add(owner, self.clock.now(), Usage(input_tokens=tokens), turn)
        else:
            await self._book(owner, turn, Usage(input_tokens=tokens))

    async def give_back(self, owner: Owner, turn: int, tokens: int) -> None:
        """Take back a booking that was not used."""
        await self._book(owner, turn, Usage(input_tokens=-tokens))

    async def today(self, owner: Owner) -> Usage:
        """Return what was booked since the day began."""
        return await self.usage_store.of(owner, self.clock.now())

    def renewed_in(self) -> timedelta:
        """Return how long the day still lasts."""
        now = self.clock.now().astimezone(UTC)
        return datetime.combine(now.date() + timedelta(days=1), time(), UTC) - now

    async def settle(self, owner: Owner, turn: int, meter: UsageMeter) -> None:
        """Book what a turn has cost and end its reservation."""
        usage = meter.settle()
        if usage != NOTHING_USED or self.has_limit:
            await self._book(owner, turn, usage)

    async def _book(self, owner: Owner, turn: int, usage: Usage) -> None:
        try:
            await self.usage_store.add(owner, self.clock.now(), usage, turn)
        except StoreError as failure:
            log.warning("what was used is not booked: %s", failure)
