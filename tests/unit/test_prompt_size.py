"""How large the next prompt will be: learned from what models report, kept within bounds, about
nobody.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.compaction.prompt_size import PromptSizeEstimator
from bot.errors import StoreUnavailable
from bot.ports import TokenRatio
from bot.session import PromptSize, Step, Summary, Task
from bot.store.memory.token_ratios import MemoryTokenRatios
from tests.builders import NOON, closed_turn, dialogue, message, session

MODEL = "claude-sonnet-5-5"


def turn(of, tokens, reported, model=MODEL):
    """A turn whose two messages have so many estimated tokens each, after which the model reported
    this.
    """
    places = (of.next_seq, of.next_seq + 1)
    messages = (
        message(places[0], 9, "user", "a", tokens),
        message(places[1], 9, "assistant", "b", tokens),
    )
    return closed_turn(of, 9, messages=messages, prompt=PromptSize(reported, of.epoch, model))


def taught(*, ratio=1.6, fixed=2000, turns=30, estimator=None):
    """A gauge, and the Session of a talk with a model that counts like this."""
    estimator, of = estimator or PromptSizeEstimator(), session()
    for _ in range(turns):
        before = sum(one.tokens for one in of.messages)
        closed = turn(of, 100, round(fixed + ratio * (before + 200)))
        estimator.learn(of, closed)
        of.absorb(closed)
    return estimator, of


def test_what_was_reported_last_is_the_anchor():
    of = session(messages=dialogue(3), prompt=PromptSize(5000, 0, MODEL))
    assert PromptSizeEstimator().expected(of) == 5000
    assert PromptSizeEstimator().expected(of, 100) == 5135


def test_ratio_and_fixed_part_are_learned():
    estimator, of = taught()
    assert estimator.expected(of, 1000) == pytest.approx(of.prompt.tokens + 1600, rel=0.01)
    summarised = replace(
        of, summary=Summary("s", of.next_seq - 3, 1, 300, "small", NOON), messages=of.messages[-2:]
    )
    assert estimator.expected(summarised) == pytest.approx(2000 + 1.6 * 500, rel=0.02)


def test_a_new_session_profits_from_earlier_ones():
    estimator, _ = taught()
    fresh = session(prompt=PromptSize(model=MODEL))
    assert estimator.expected(fresh, 100) == pytest.approx(2160, rel=0.02)


def test_the_plan_is_counted_since_it_stands_in_every_prompt():
    """C145: beside what was reported, and where nothing was."""
    plan = Task("Move", tuple(Step("x" * 300) for _ in range(12)))
    estimator, of = taught()
    for before in (of, session(prompt=PromptSize(model=MODEL))):
        grown = estimator.expected(replace(before, task=plan)) - estimator.expected(before)
        assert grown == pytest.approx(1.6 * len(plan.text) / 3, rel=0.02)


def test_the_plan_is_not_taken_for_a_part_of_the_system():
    plain, of = taught()
    plan = Task("Move", (Step("x" * 3000),))
    estimator, same = taught()
    seen = turn(same, 100, of.prompt.tokens + round(1.6 * (200 + len(plan.text) / 3)))
    estimator.learn(replace(same, task=plan, prompt=PromptSize(1, 7, MODEL)), seen)
    fresh = session(prompt=PromptSize(model=MODEL))
    assert estimator.expected(fresh) == pytest.approx(plain.expected(fresh), rel=0.02)


def test_until_a_model_has_reported_anything_the_fixed_part_is_an_estimate():
    estimator = PromptSizeEstimator()
    estimator.fixed = 3000.0
    fresh = session(prompt=PromptSize(model=MODEL))
    assert estimator.expected(fresh, 100) == 3135
    taught(estimator=estimator)
    assert estimator.expected(fresh, 100) == pytest.approx(2160, rel=0.02)


@pytest.mark.parametrize("reported", [0, 10**9], ids=["nothing", "absurdly much"])
def test_one_odd_report_changes_little(reported):
    estimator, of = taught()
    estimator.learn(of, turn(of, 100, reported))
    assert 0.6 <= (estimator.expected(of, 1000) - of.prompt.tokens) / 1600 <= 1.3


@pytest.mark.parametrize(("tokens", "teaches"), [(14, False), (15, True)])
def test_only_a_turn_of_thirty_tokens_teaches_the_ratio(tokens, teaches):
    """What a model adds to each message would be taken for the price of its words."""
    estimator, of = taught()
    known = estimator.ratio(of)
    estimator.learn(of, turn(of, tokens, of.prompt.tokens + 300))
    assert (estimator.ratio(of) != known) is teaches


def test_each_model_has_its_own_scale():
    estimator, of = taught()
    other = replace(of, prompt=PromptSize(5000, 0, "local"))
    assert estimator.expected(other, 1000) == 6350


def test_growth_across_models_or_a_compaction_teaches_no_ratio():
    estimator, of = taught()
    known = estimator.expected(of, 1000) - of.prompt.tokens
    for before in (PromptSize(10, 0, "local"), PromptSize(10, 7, MODEL)):
        estimator.learn(replace(of, prompt=before), turn(of, 100, 90_000))
    assert estimator.expected(of, 1000) - of.prompt.tokens == known


async def test_what_was_learned_outlives_the_process_and_is_saved_once():
    estimator, of = taught()
    stored = MemoryTokenRatios()
    await estimator.save(stored)
    await stored.save("other", TokenRatio(2.0, 1.0))
    await stored.save(MODEL, replace(await stored.load(MODEL) or TokenRatio()))
    later = PromptSizeEstimator()
    await later.load(stored, [MODEL, "never heard of"])
    assert later.expected(of, 500) == estimator.expected(of, 500)

    await stored.save(MODEL, TokenRatio(9.0, 9.0))
    await estimator.save(stored)
    assert await stored.load(MODEL) == TokenRatio(9.0, 9.0)


class Away:
    async def load(self, model):
        raise StoreUnavailable

    async def save(self, model, token_ratio):
        raise StoreUnavailable


async def test_a_store_that_is_away_is_tried_again_another_time():
    estimator, _ = taught()
    await estimator.save(Away())
    stored = MemoryTokenRatios()
    await estimator.save(stored)
    assert await stored.load(MODEL) is not None
