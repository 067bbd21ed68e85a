"""One Session through five thousand turns with large tool results: it never comes near its cap.

Run by name.
"""

from __future__ import annotations

import asyncio
import sys
from dataclasses import replace
from datetime import timedelta
from itertools import count

import bson
import pytest

from bot.agent.scripted import calls, says
from bot.agent.tools import Toolbox
from bot.compaction import CompactionPolicy
from bot.store.documents import from_session
from tests.agents import tool
from tests.builders import ANNA
from tests.unit.conftest import House

TURNS = 5000
LARGE = "word " * 1600
LOOK_EVERY = 20
CAP = 1_000_000


async def look_up(context, given):
    return LARGE


def model(request):
    is_answered = request.messages[-1]["content"][0]["type"] == "tool_result"
    return says("Found.") if is_answered else calls("look_up", words="it")


def summary(number):
    return f"This is summary {number}. " + " ".join(f"fact{number * fact}" for fact in range(20))


@pytest.mark.load
async def test_the_document_stays_small_however_long_the_talk():
    """C107"""
    made = count(1)
    at = House(
        otherwise=model,
        summarise=lambda request: says(summary(next(made))),
        policy=CompactionPolicy(),
    )
    at.turns = replace(
        at.turns, agent=replace(at.turns.agent, toolbox=Toolbox([tool("look_up", look_up)]))
    )
    sizes = []
    for number in range(1, TURNS + 1):
        assert (await at.ask("Look it up.")).delivered == ["Found."]
        if number % LOOK_EVERY == 0:
            sizes.append(len(bson.encode(from_session(await at.active()))))
        at.clock.advance(timedelta(seconds=40))
        await asyncio.sleep(0)
    await at.compactor.aclose()

    session = await at.active()
    kept = {message.seq for message in (*await at.archive.of(ANNA, session.id), *session.messages)}
    sys.stderr.write(f"largest document {max(sizes):,} bytes, the last one {sizes[-1]:,}\n")
    assert session.revision == TURNS
    assert kept == set(range(session.next_seq))
    assert max(sizes) < CAP / 2
