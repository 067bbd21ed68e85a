"""How large a Session's next prompt will be, by what the model has reported of earlier ones.

    anchored    what was reported last + ratio × the estimate of what has come since, and of the
    plan
    adrift      the fixed part (tools, system) + ratio × the estimate of all messages, the summary
    and the plan

What was reported may have held the plan as it was then: it is counted twice at worst, and it is
bounded.

A Session is adrift until its first answer, and again from a compaction to the next answer. Ratio
and fixed part are learned per model, from how the report grows against how our estimate does; they
move slowly, within bounds, so that one odd turn changes little. They are of no person and lose
nothing when a process dies: the next turns teach them again.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import replace

from bot.errors import StoreError
from bot.ports import TokenRatio, TokenRatioStore
from bot.ports.model import rough
from bot.session import ClosedTurn, Message, Session

log = logging.getLogger(__name__)

SHARE = 0.3
"""What one turn counts for."""
MIN_GROWTH = 30
"""Tokens; the growth of a smaller turn is mostly overhead."""
BOUNDS = (0.7, 3.0)


class PromptSizeEstimator:
    """What this process knows of models; one for all Owners."""

    def __init__(self, fixed: float = 0.0) -> None:
        self.fixed = fixed
        """The fixed part of a prompt, estimated: it counts until a model has reported one."""
        self._token_ratios: dict[str, TokenRatio] = {}
        self._moved: set[str] = set()

    async def load(self, token_ratios: TokenRatioStore, models: Iterable[str]) -> None:
        """Begin with what was learned before."""
        for model in models:
            if (known := await token_ratios.load(model)) is not None:
                self._token_ratios[model] = known

    async def save(self, token_ratios: TokenRatioStore) -> None:
        """Keep what was learned since; where the store is away, it is tried again another time."""
        try:
            for model in sorted(self._moved):
                await token_ratios.save(model, self._token_ratios[model])
                self._moved.discard(model)
        except StoreError as failure:
            log.warning("what was learned of token counts is not stored: %s", failure)

    def expected(self, session: Session, coming: int = 0) -> int:
        """The size of the Session's next prompt, with a question whose estimate is `coming`."""
        learned = self._token_ratio(session)
        if _is_anchored(session):
            return session.prompt.tokens + round(learned.ratio * (_plan(session) + coming))
        return round(learned.fixed + learned.ratio * (_estimate(session) + coming))

    def ratio(self, session: Session) -> float:
        """What an estimate is to be multiplied by, to be one in the tokens of the Session's
        model.
        """
        return self._token_ratio(session).ratio

    def _token_ratio(self, session: Session) -> TokenRatio:
        return self._token_ratios.get(session.prompt.model, TokenRatio(fixed=self.fixed))

    def learn(self, session: Session, turn: ClosedTurn) -> None:
        """Take in what the model reported of this turn; `session` is as it was before."""
        model, grown = turn.prompt.model, _sum(turn.messages)
        learned = self._token_ratios.get(model, TokenRatio())
        if _is_anchored(session) and session.prompt.model == model and grown >= MIN_GROWTH:
            seen = (turn.prompt.tokens - session.prompt.tokens) / grown
            learned = replace(
                learned, ratio=_nearer(learned.ratio, min(max(seen, BOUNDS[0]), BOUNDS[1]))
            )
        fixed = max(turn.prompt.tokens - learned.ratio * (_estimate(session) + grown), 0.0)
        self._token_ratios[model] = replace(learned, fixed=_nearer(learned.fixed or fixed, fixed))
        self._moved.add(model)


def _is_anchored(session: Session) -> bool:
    return bool(session.prompt.tokens) and session.prompt.epoch == session.epoch


def _estimate(session: Session) -> int:
    return (
        _sum(session.messages) + (session.summary.tokens if session.summary else 0) + _plan(session)
    )


def _plan(session: Session) -> int:
    return rough(session.task.text) if session.task else 0


def _sum(messages: Iterable[Message]) -> int:
    return sum(message.tokens for message in messages)


def _nearer(value: float, seen: float) -> float:
    return value + SHARE * (seen - value)
