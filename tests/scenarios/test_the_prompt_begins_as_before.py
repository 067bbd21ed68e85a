"""Between two compactions nothing before the newest question changes by a byte, so the provider's
cache answers.
"""

from __future__ import annotations

import json
from itertools import pairwise

from bot.standins.claude.answers import call, calls, say, think

TURNS = 9
COMPACTING = {"CONTEXT_TRIGGER_MESSAGES": "14", "CONTEXT_KEEP_MESSAGES": "4"}


def question(number):
    return f"Question number {number}, please."


async def converse(state, anna):
    """Turns with tools, thinking and a plan that is made, changed and closed again."""
    step = {"steps": [{"number": 1, "status": "done"}]}
    scripts = {
        1: [
            think("Hm.", call("set_plan", {"goal": "a trip", "steps": ["book", "pack"]})),
            say("Planned."),
        ],
        2: [
            calls(call("recall", {"words": "tea"}), call("remember", {"text": "Tea."})),
            say("Noted."),
        ],
        4: [call("update_plan", step), call("search", {"words": "trip"}), say("Going on.")],
        6: [call("close_plan", {}), say("Done.")],
    }
    for number in range(TURNS):
        state.claude.script(*scripts.get(number, [say(f"Answer {number}.")]))
        await state.ask(anna, question(number))
        state.passes(seconds=30)
        if number == TURNS - 3:
            await state.eventually(lambda: state.session(anna.id)["summary"])


def openings(state):
    """The first request of each turn."""
    asked = [exchange for exchange in state.claude.journal.exchanges if exchange.body.get("tools")]
    return [
        next(exchange for exchange in asked if question(number) in exchange.raw.decode())
        for number in range(TURNS)
    ]


def piece(exchange, key):
    """The raw text of one field of a request."""
    raw = exchange.raw.decode()
    start = raw.index(f'"{key}":') + len(key) + 3
    return raw[start : json.JSONDecoder().raw_decode(raw, start)[1]]


def epoch(exchange):
    return piece(exchange, "messages").partition("epoch=")[2][:4]


async def test_system_tools_summary_and_all_earlier_messages_stay_byte_for_byte(state, anna):
    """C53: with tools and with a Task, which stands behind everything that is sent again."""
    async with state.bot(**COMPACTING):
        await converse(state, anna)

    asked = openings(state)
    assert len({(piece(one, "system"), piece(one, "tools")) for one in asked}) == 1
    kept = 0
    for number, (earlier, later) in enumerate(pairwise(asked)):
        if epoch(earlier) != epoch(later):
            continue
        kept += 1
        before, after = piece(earlier, "messages"), piece(later, "messages")
        stable = before[: before.index(question(number)) + len(question(number))]
        assert after.startswith(stable)
    assert kept == TURNS - 2


async def test_so_the_cache_answers_for_all_that_was_said_before(state, anna):
    async with state.bot(PROMPT_CACHE="on", **COMPACTING):
        await converse(state, anna)

    bills = [(epoch(one), one.prompt) for one in openings(state)]
    for (old, earlier), (new, later) in pairwise(bills):
        assert later.read > 0
        if old == new:
            assert later.read >= earlier.read + earlier.written_5m
