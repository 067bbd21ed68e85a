"""What a person has used and may still use, in words for that person: `/usage`, and the refusal
without room.

Figures are told in private only: in a group they would tell others how much somebody talks
elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from bot.budget import TokenBudget
from bot.errors import BudgetSpent
from bot.owner import Lane, Place
from bot.ports import SessionStore
from bot.session import Alive, Usage
from bot.texts import Language, duration, figure, rounded, text


async def usage_text(
    token_budget: TokenBudget, sessions: SessionStore, lane: Lane, alive: Alive, language: Language
) -> str:
    """Today's tokens, those of the Session that goes on here, and what is left."""
    if not lane.place.is_private:
        return text("usage_private", language)
    today = await token_budget.today(lane.owner)
    session = await sessions.inspect(lane.owner, lane.place, unless_over=alive)
    lines = [_counted("usage_day", today, language)]
    if session is not None:
        lines.append(_counted("usage_session", session.usage, language))
    return "\n".join([*lines, _left(token_budget, today, language)])


def _counted(key: str, usage: Usage, language: Language) -> str:
    return text(key, language, tokens=figure(usage.tokens), turns=figure(usage.turns))


def _left(token_budget: TokenBudget, today: Usage, language: Language) -> str:
    if token_budget.budget is None:
        return text("usage_free", language)
    if token_budget.budget == 0:
        return text("usage_none", language)
    left = max(token_budget.budget - today.tokens, 0)
    return text(
        "usage_left",
        language,
        left=figure(left),
        **renewal(token_budget.budget, token_budget.renewed_in(), language),
    )


def refusal(spent: BudgetSpent, place: Place, language: Language) -> tuple[str, Mapping[str, str]]:
    """The sentence for what there was no room for, by its key, and what stands in it."""
    if not place.is_private:
        return "error_budget_group", {}
    if not spent.budget:
        return "error_budget_none", {}
    needed = {"needed": figure(spent.needed), "budget": figure(spent.budget)}
    if not spent.passes:
        return "error_budget_never", needed
    return "error_budget", {
        **needed,
        "left": figure(spent.left),
        **renewal(spent.budget, spent.renewed_in, language),
    }


def renewal(budget: int, renewed_in: timedelta, language: Language) -> Mapping[str, str]:
    """How much a day allows, and in what time the next one begins."""
    return {"budget": figure(budget), "wait": duration(rounded(renewed_in), language)}
