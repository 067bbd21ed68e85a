"""A long talk is compacted whatever script it is in, by summaries as short or as long as that
language makes them.
"""

from __future__ import annotations

import pytest

from bot.compaction.summarising import MAX_SUMMARY_TOKENS, MIN_SUMMARY_TOKENS
from bot.standins.claude.answers import Text
from bot.standins.claude.rule_model import summarising
from bot.standins.claude.summaries import WORDINGS, Style
from bot.tokens import Tokens

TRIGGER, KEEP = 24, 8
LIMITS = {"CONTEXT_TRIGGER_MESSAGES": str(TRIGGER), "CONTEXT_KEEP_MESSAGES": str(KEEP)}
SAID = {
    "en": (
        "tell me something about number {}",
        "fact: the {} is called {}",
        ("dog", "cat", "boat"),
    ),
    "ru": ("расскажи что-нибудь про номер {}", "факт: {} зовут {}", ("собаку", "кошку", "лодку")),
    "zh": ("请告诉我关于第{}号的事情", "事实：{}的名字是{}", ("狗", "猫", "船")),
    "ja": ("{}番について何か教えてください", "事実：{}の名前は{}です", ("犬", "猫", "船")),
    "th": ("เล่าเรื่องหมายเลข{}ให้ฟังหน่อย", "ข้อเท็จจริง:{}ชื่อ{}", ("หมา", "แมว", "เรือ")),
    "fi": (
        "kerropa jotakin numerosta {} kaikessa rauhassa",
        "fakta: {} nimi on {}",
        ("koiran", "kissan", "veneen"),
    ),
    "ar": ("أخبرني شيئا عن الرقم {}", "حقيقة: اسم {} هو {}", ("الكلب", "القطة", "القارب")),
}
NAMES = ("Lumi", "Nube", "Onda")
STYLES = {"short": 0, "long": 1_800}


async def talk(state, person, language, turns, planted):
    """So many turns; the facts are told at the planted ones, and returned as they were said."""
    small, fact, things = SAID[language]
    told = {
        turn: fact.format(thing, name)
        for turn, thing, name in zip(planted, things, NAMES, strict=True)
    }
    for number in range(1, turns + 1):
        await state.ask(person, told.get(number) or small.format(number))
        state.passes(seconds=40)
    return list(told.values())


def check(state, person, facts):
    """Every request was bounded, the facts are in the last one, and no gap is open.

    Where nothing worth a word was said, a summary repeats the one before, which costs a second try.
    """
    requests = [request["messages"] for request in state.requests]
    summary = state.session(person.id)["summary"]
    assert max(map(len, requests)) <= TRIGGER + KEEP
    assert [fact for fact in facts if fact not in str(requests[-1])] == []
    assert (summary["gaps"], bool(summary["text"])) == ([], True)
    return summary


@pytest.mark.parametrize(("language", "style"), [("zh", "short"), ("th", "short"), ("fi", "long")])
async def test_sixty_turns_are_compacted_at_each_trigger(state, anna, language, style):
    """C151"""
    state.claude.model = summarising(Style(language, STYLES[style]))
    async with state.bot(**LIMITS):
        facts = await talk(state, anna, language, 60, (2, 20, 40))
    summary = check(state, anna, facts)
    assert summary["epoch"] >= 2 * 60 // (TRIGGER + KEEP)


@pytest.mark.chaos
@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("language", SAID)
async def test_two_hundred_turns_are_remembered(state, anna, language, style):
    state.claude.model = summarising(Style(language, STYLES[style]))
    async with state.bot(**LIMITS):
        facts = await talk(state, anna, language, 200, (2, 60, 133))
    check(state, anna, facts)


async def test_a_summariser_that_repeats_itself_is_believed_the_second_time(state, anna):
    """Else a talk in which nothing was worth a word would never be compacted again."""
    state.claude.model = summarising(Style("ja", repeats=True))
    async with state.bot(**LIMITS):
        await talk(state, anna, "ja", 40, (2, 3, 4))
        requests = [request["messages"] for request in state.requests]
    assert max(map(len, requests)) <= TRIGGER + KEEP
    assert state.session(anna.id)["summary"]["gaps"] == []


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("language", WORDINGS)
async def test_the_summaries_of_the_stand_in_are_as_long_as_summaries_may_be(language, style):
    """A short one lies near the least that is accepted, a long one near the most, by the bot's own
    count.
    """
    written = summarising(Style(language, STYLES[style]))
    body = {
        "messages": [
            {
                "role": "user",
                "content": "<transcript seq='0..1'>\nuser: 1\nassistant: 2\n</transcript>",
            }
        ]
    }
    [said] = [block for block in written(body).blocks if isinstance(block, Text)]
    tokens = await Tokens()(said.text)
    assert MIN_SUMMARY_TOKENS < tokens <= MAX_SUMMARY_TOKENS
    assert tokens < 60 if style == "short" else tokens > 250
