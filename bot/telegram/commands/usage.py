"""`/usage`: shows what a person has used and may still use; also the sentences for a spent budget.

Figures are shown in private only: in a group they would tell others how much somebody talks
elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from bot.budget import TokenBudget
from bot.errors import BudgetSpent
from bot.owner import Place
from bot.telegram.commands.invocation import Invocation
from bot.telegram.commands.visible_sessions import VisibleSessions
from bot.texts import Language, duration, figure, rounded, text
from bot.usage import Usage


async def show_usage(
    sessions: VisibleSessions, token_budget: TokenBudget, call: Invocation
) -> None:
    """Say today's tokens, those of the active Session, and what is left."""
    language = call.language
    if not call.lane.place.is_private:
        await call.reply.notice("usage_private")
        return
    today = await token_budget.today(call.lane.owner)
    lines = [_counted("usage_day", today, language)]
    if (session := await sessions.active(call.lane)) is not None:
        lines.append(_counted("usage_session", session.usage, language))
    await call.reply.say("\n".join([*lines, _left(token_budget, today, language)]))


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
    """The key of the sentence that refuses a turn for want of tokens, and its values."""
    if not place.is_private:
        return "error_budget_group", {}
    if not spent.budget:
        return "error_budget_none", {}
    needed = {"needed": figure(spent.needed), "budget": figure(spent.budget)}
    if not spent.passes:
        return "error_budget_never", needed
    renewed = renewal(spent.budget, spent.renewed_in, language)
    return "error_budget", {**needed, "left": figure(spent.left), **renewed}


def renewal(budget: int, renewed_in: timedelta, language: Language) -> Mapping[str, str]:
    """How many tokens a day allows, and how long until the next one begins."""
    return {"budget": figure(budget), "wait": duration(rounded(renewed_in), language)}
