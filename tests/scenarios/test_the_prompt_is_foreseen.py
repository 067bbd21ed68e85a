"""The estimate of the next prompt against what is billed, by a server with another vocabulary and a
fixed overhead.

Within 5 % from the fifth turn on, in English and in Russian, through compactions: the whole core,
the real SDK and the real encoder; only Telegram and MongoDB are left out.
"""

from __future__ import annotations

import asyncio
import re
from itertools import count

import pytest

from bot.agent.claude import Claude, Endpoint
from bot.agent.limits import Limits, Pauses
from bot.agent.loop import Agent
from bot.agent.prompt import Prompt
from bot.agent.toolbox.plan import plan_tools
from bot.agent.tools import Toolbox
from bot.compaction import CompactionPolicy, Compactor, Summariser
from bot.ops.clock import ManualClock
from bot.ports import Run
from bot.standins.claude.server import ClaudeServer
from bot.store.memory.archive import MemoryArchive
from bot.store.memory.inbox import MemoryRecord
from bot.store.memory.sessions import MemorySessions
from bot.tokens import Tokens, message_tokens
from bot.turn import TurnRunner
from tests.builders import ANNA, ANNAS_CHAT, LIFETIME, question

MODEL = "claude-sonnet-5-5"
SENTENCES = {
    "English": (
        "The heron stood at the edge of the lake and waited for the fog to lift.",
        "What would you take along on a week in the mountains with two small children?",
        "I have read that tea was once pressed into bricks and used as money on the road.",
        "Remind me why the days get longer after the end of December, please.",
    ),
    "Russian": (
        "Цапля стояла у края озера и ждала, пока рассеется утренний туман.",
        "Что бы вы взяли с собой на неделю в горы с двумя маленькими детьми?",
        "Я читала, что чай когда-то прессовали в плитки и расплачивались ими в дороге.",
        "Напомните, пожалуйста, почему после конца декабря дни становятся длиннее.",
    ),
}


FACTS = {"English": "My word number {} is heron.", "Russian": "Моё слово номер {} — цапля."}
"""What a summary has to tell; without news it would be refused."""


def another_vocabulary(words):
    """Short pieces of words, shorter in Cyrillic: nothing like the encoder the estimates are made
    with.
    """
    pieces = (
        2 if re.search("[а-яё]", word) else 5 for word in re.findall(r"\w+|[^\w\s]", words.lower())
    )
    lengths = map(len, re.findall(r"\w+|[^\w\s]", words.lower()))
    return sum(-(-length // piece) for length, piece in zip(lengths, pieces, strict=True))


class Listener:
    """A Reply that wants an answer and no notice."""

    shown = ""

    def grow(self, delta):
        """Nobody looks."""

    def restart(self):
        raise AssertionError("nothing fails here")

    def status(self, key):
        pass

    async def notice(self, key, **values):
        raise AssertionError(key)

    async def deliver(self, markdown, *, turn):
        assert markdown


async def talk(server, language, turns):
    """For each turn what was expected, and what the server counted; and how many compactions there
    were.
    """
    clock, ids, sessions, counted = ManualClock(), count(1), MemorySessions(), Tokens()
    claude = Claude(Endpoint(server.url, server.key))
    agent = Agent(
        claude, Toolbox(plan_tools()), Prompt(MODEL, b"key"), Limits(), Pauses(lambda: 0.0)
    )
    summariser = Summariser(claude, "claude-haiku-5-5", counted)
    policy = CompactionPolicy(messages=24, keep_messages=8)
    compactor = Compactor(sessions, MemoryArchive(), summariser, policy, clock)
    core = TurnRunner(
        sessions, agent, compactor, counted, clock, lambda: f"{next(ids):032x}", LIFETIME
    )
    seen = []
    for number in range(turns):
        words = " ".join(SENTENCES[language][(number + at) % 4] for at in range(1 + number % 4))
        words = f"{FACTS[language].format(number)} {words}"
        asked = question(words, 100 + number, clock.now())
        before = await sessions.inspect(ANNA, ANNAS_CHAT)
        coming = await message_tokens(counted, asked.content)
        expected = compactor.estimator.expected(before, coming) if before else 0
        server.script(f"{SENTENCES[language][number % 4]} {words}")
        await core.answer(ANNA, ANNAS_CHAT, asked, Listener(), Run(MemoryRecord(), asyncio.Event()))
        [*_, asked_last] = [one for one in server.journal.exchanges if one.body.get("tools")]
        seen.append((expected, asked_last.prompt.total))
        await until_idle()
    await compactor.aclose()
    await claude.aclose()
    held = await sessions.inspect(ANNA, ANNAS_CHAT)
    return seen, held.epoch if held else 0


async def until_idle():
    """Let a compaction that was begun come to its end."""
    await asyncio.gather(
        *(task for task in asyncio.all_tasks() if task.get_name().startswith("compaction"))
    )


@pytest.mark.parametrize("language", SENTENCES)
async def test_it_is_within_five_percent_from_the_fifth_turn_on(language):
    async with ClaudeServer(count=another_vocabulary) as server:
        seen, compactions = await talk(server, language, 40)
    off = [round(100 * (expected - billed) / billed, 1) for expected, billed in seen]
    assert compactions >= 2
    assert max(map(abs, off[4:])) <= 5, off


async def test_what_a_process_has_learned_is_kept_for_the_next(state, anna):
    for _ in range(2):
        async with state.bot():
            await state.ask(anna, "Tell me about herons.")
        learned = state.database["models"].find_one({"_id": MODEL})
        assert 0.7 <= learned["tokenRatio"] <= 3
        assert learned["fixedTokens"] > 300
    assert state.session(anna.id)["context"]["model"] == MODEL
