"""DAILY_TOKEN_BUDGET as somebody tries to get around it: what is sent is booked, and the refusal
tells the truth.
"""

from __future__ import annotations

import asyncio
import re

import pytest

from bot.errors import StartError
from bot.standins.claude.answers import call, think
from bot.standins.claude.faults import Fault
from bot.standins.transcriber import TranscribeServer
from bot.texts import text
from tests.scenarios.test_a_daily_budget import used

PLENTY = "1000000"
MINUTE = 1_000
"""Tokens of a begun minute of a recording."""
FLOOR = 0.98


@pytest.fixture
async def ears(state):
    async with TranscribeServer() as server:
        state.environ |= {"TRANSCRIBE_URL": server.url, "TRANSCRIBE_KEY": server.key}
        server.words = "Echo: I was heard."
        yield server


def billed(state):
    return sum(state.claude.billed(exchange) for exchange in state.claude.journal.exchanges)


def states(state):
    return [
        entry["state"] for entry in state.database["inbox"].find({"kind": "content"}).sort("_id", 1)
    ]


def has_spent(state, person, tokens):
    """Somebody has used so many tokens today."""
    day = state.clock.now().replace(hour=0, minute=0, second=0, microsecond=0)
    counters = {"outputTokens": 0, "cacheReadTokens": 0, "cacheWriteTokens": 0, "turns": 1}
    row = {"ownerId": person.id, "day": day, "inputTokens": tokens, **counters}
    state.database["usage"].insert_one(row)


def figures(sentence):
    return [int(re.sub(r"\D", "", word)) for word in re.findall(r"\d[\d\u202f\u00a0,]*", sentence)]


async def heard_of(state, person, answers):
    await state.telegram.until(lambda: len(person.chat.answers) >= answers)
    return person.chat.answers[-1]


# -------------------------------------------------------------------------------- the truth is told


async def test_a_budget_that_no_message_fits_into_is_refused_at_start(state):
    """C149: 2,500 is less than system prompt, tools and an answer."""
    with pytest.raises(
        StartError,
        match=r"^DAILY_TOKEN_BUDGET: 2500 is less than one request takes \(about \d+ tok",
    ):
        async with state.bot(DAILY_TOKEN_BUDGET="2500"):
            pass
    assert state.claude.journal.exchanges == () or billed(state) == 0


async def test_who_has_too_little_left_learns_what_is_needed_and_what_there_is(state, anna):
    """C149: 12,000 a day, 2,000 left."""
    has_spent(state, anna, 10_000)
    async with state.bot(DAILY_TOKEN_BUDGET="12000"):
        sentence = await state.ask(anna, "Tell me about herons.")
        await state.eventually(lambda: states(state) == ["budget"])
    needed, left, budget, hours, *_ = figures(sentence)
    assert (left, budget, hours) == (2_000, 12_000, 12)
    assert 2_000 < needed < 12_000
    assert state.requests == []
    assert used(state, anna) == 10_000


async def test_the_refused_message_is_answered_by_its_button_once_a_new_day_has_begun(state, anna):
    """C149: before midnight the same sentence comes again; nothing set aside stands in the way
    after it.
    """
    has_spent(state, anna, 10_000)
    async with state.bot(DAILY_TOKEN_BUDGET="12000"):
        await state.ask(anna, "Echo: herons")
        anna.presses("Try again")
        assert figures((await heard_of(state, anna, 2)).text)[1:3] == [2_000, 12_000]
        await state.eventually(lambda: states(state) == ["budget"])
        state.passes(hours=12, minutes=1)
        anna.presses("Try again")
        assert "herons" in (await heard_of(state, anna, 3)).text
        await state.eventually(lambda: states(state) == ["done"])


async def test_the_button_answers_the_next_day_in_the_session_it_was_asked_in(state, anna):
    """C149: the question was sent before the Session was over by the clock."""
    async with state.bot():
        await state.ask(anna, "My name is Anna.")
    await state.eventually(lambda: used(state, anna))
    async with state.bot(DAILY_TOKEN_BUDGET=str(used(state, anna) + 2_000)):
        await state.ask(anna, "Echo: herons")
        await state.eventually(lambda: states(state) == ["done", "budget"])
        state.passes(hours=12, minutes=1)
        anna.presses("Try again")
        assert (await heard_of(state, anna, 3)).text == "herons"
        await state.eventually(lambda: states(state) == ["done", "done"])
    assert len(state.sessions(anna.id)) == 1
    assert len(state.session(anna.id)["messages"]) == 4


async def test_what_no_day_has_room_for_has_no_button_to_try_it_again(state, anna):
    async with state.bot(DAILY_TOKEN_BUDGET="12000"):
        anna.sends_document(
            b"What is there to say of herons? " * 2_000, "herons.txt", "text/plain", "What is it?"
        )
        refused = await heard_of(state, anna, 1)
        await state.eventually(lambda: states(state) == ["budget"])
    needed, budget, *_ = figures(refused.text)
    assert needed > budget == 12_000
    assert "whole day" in refused.text
    assert list(refused.buttons) == []


async def test_a_group_hears_one_neutral_sentence_without_figures(state, anna, boris):
    """C144."""
    group = state.telegram.supergroup(members=[anna, boris])
    has_spent(state, boris, 11_000)
    async with state.bot(DAILY_TOKEN_BUDGET="12000"):
        said = await state.ask(boris, "@emulated_bot Tell me about herons.", chat=group)
    assert said == text("error_budget_group", "ru")
    assert figures(said) == []


# -------------------------------------------------------------------------- what was sent is booked


async def test_six_stops_before_the_first_byte_are_six_prompts(state, anna):
    """C149."""
    async with state.bot(DAILY_TOKEN_BUDGET=PLENTY):
        for number in range(6):
            state.claude.faults.next(Fault.silence())
            anna.says(f"Tell me about heron number {number}.")
            await state.claude.until(lambda _, asked=number + 1: len(state.requests) == asked)
            await state.ask(anna, "/stop", answers=2)
        await state.eventually(
            lambda: not state.database["usage"].find_one({"ownerId": anna.id})["holds"]
        )
    assert FLOOR * billed(state) <= used(state, anna) <= 1.5 * billed(state)


async def test_what_was_thought_before_a_stop_is_booked(state, anna):
    """C149: nothing of it was shown, and no usage reported."""
    state.claude.script(think("What is there to say of herons? " * 100, "Nothing."))
    state.claude.faults.slow(0.1)
    async with state.bot(DAILY_TOKEN_BUDGET=PLENTY):
        anna.says("Tell me about herons.")
        await state.claude.until(lambda exchanges: any(len(one.written) > 200 for one in exchanges))
        await state.ask(anna, "/stop", answers=2)
        await state.eventually(
            lambda: not state.database["usage"].find_one({"ownerId": anna.id})["holds"]
        )
    assert FLOOR * billed(state) <= used(state, anna) <= 1.5 * billed(state)


async def test_arguments_that_broke_off_are_booked(state, anna):
    long = {"text": "The heron stands in shallow water. " * 40}
    state.claude.script(call("remember", long), "Noted.")
    state.claude.faults.next(Fault.dropped(after=200, inside="input_json_delta"))
    async with state.bot(DAILY_TOKEN_BUDGET=PLENTY):
        await state.ask(anna, "Remember all I said of herons.")
        await state.eventually(lambda: states(state) == ["done"])
        await state.eventually(
            lambda: not state.database["usage"].find_one({"ownerId": anna.id})["holds"]
        )
    assert FLOOR * billed(state) <= used(state, anna) <= 1.5 * billed(state)


async def test_a_call_that_was_refused_is_not_booked_as_if_it_had_run(state, anna):
    state.claude.faults.next(*[Fault.overloaded()] * 4, Fault.status(401))
    async with state.bot(DAILY_TOKEN_BUDGET=PLENTY):
        for _ in range(2):
            await state.ask(anna, "Hello")
        await state.eventually(
            lambda: not state.database["usage"].find_one({"ownerId": anna.id})["holds"]
        )
    assert used(state, anna) == billed(state) == 0


async def test_two_processes_do_not_promise_the_same_tokens(state, anna, boris):
    chats = [state.telegram.supergroup(members=[anna, boris]) for _ in range(4)]
    has_spent(state, anna, 14_000)
    budget = {"DAILY_TOKEN_BUDGET": "20000"}
    state.claude.faults.slow(0.02)
    async with state.bot(**budget), state.bot(**budget):
        await asyncio.gather(
            *(state.ask(anna, "@emulated_bot Tell me about herons.", chat=chat) for chat in chats)
        )
        await state.eventually(
            lambda: not state.database["usage"].find_one({"ownerId": anna.id})["holds"]
        )
    assert sorted(states(state)) == ["budget", "budget", "budget", "done"]
    assert used(state, anna) <= 20_000


# ----------------------------------------------------------------------------------- what is spoken


async def test_nothing_is_written_down_for_somebody_with_nothing_left(state, anna, ears):
    """C149: neither where a recording would fit and its answer would not."""
    has_spent(state, anna, 10_000)
    async with state.bot(DAILY_TOKEN_BUDGET="12000"):
        anna.sends_voice(b"OggS")
        needed, left, *_ = figures((await heard_of(state, anna, 1)).text)
        await state.eventually(lambda: states(state) == ["budget"])
    assert needed > left == 2_000
    assert ears.heard == []
    assert used(state, anna) == 10_000


async def test_a_recording_is_written_down_once_however_often_it_is_tried_again(state, anna, ears):
    """C149: six times; its words wait with the message."""
    state.claude.faults.next(Fault.status(401), times=7)
    async with state.bot(DAILY_TOKEN_BUDGET=PLENTY):
        anna.sends_voice(b"OggS", seconds=61)
        for tried in range(1, 7):
            await heard_of(state, anna, tried)
            await state.eventually(lambda: states(state) == ["failed"])
            anna.presses("Try again")
        await heard_of(state, anna, 7)
        await state.eventually(lambda: states(state) == ["failed"])
        assert len(ears.heard) == 1
        assert used(state, anna) == 2 * MINUTE
        anna.presses("Try again")
        assert (await heard_of(state, anna, 8)).text == "I was heard."
        await state.eventually(lambda: states(state) == ["done"])
    assert len(ears.heard) == 1
    assert "transcripts" not in state.database["inbox"].find_one({"kind": "content"})
    assert used(state, anna) == 2 * MINUTE + billed(state)


async def test_a_recording_that_the_server_refused_costs_nothing(state, anna, ears):
    ears.fails = 503
    async with state.bot(DAILY_TOKEN_BUDGET=PLENTY):
        anna.sends_voice(b"OggS")
        await heard_of(state, anna, 1)
        await state.eventually(lambda: states(state) == ["failed"])
    assert used(state, anna) == 0


@pytest.mark.parametrize("seconds", [0, 1, 60], ids=lambda seconds: f"{seconds} seconds claimed")
async def test_a_recording_costs_no_less_than_its_own_bytes_tell(state, anna, ears, seconds):
    """Its sender's client may claim anything: the last page says that it lasts two minutes and a
    bit.
    """
    last_page = b"OggS\0\0" + (125 * 48_000).to_bytes(8, "little")
    async with state.bot(TRANSCRIBE_TOKENS_PER_MINUTE="7"):
        anna.sends_voice(b"OggS" + bytes(2_000) + last_page, seconds=seconds)
        await heard_of(state, anna, 1)
        await state.eventually(lambda: states(state) == ["done"])
    assert used(state, anna) == 3 * 7 + billed(state)


async def test_a_damaged_recording_costs_what_its_sender_says(state, anna, ears):
    """Its last page speaks of six million years: nobody's day has room for that."""
    async with state.bot(DAILY_TOKEN_BUDGET=PLENTY):
        anna.sends_voice(b"OggS" + bytes(2_000) + b"OggS\0\0" + b"\xee" * 7 + b"\x7e", seconds=61)
        await heard_of(state, anna, 1)
        await state.eventually(lambda: states(state) == ["done"])
    assert used(state, anna) == 2 * MINUTE + billed(state)


async def test_a_page_in_the_providers_place_costs_nothing(state, anna):
    """A captive portal, or a wrong address: the call never arrived."""
    state.claude.faults.next(*[Fault.portal()] * 4)
    async with state.bot(DAILY_TOKEN_BUDGET=PLENTY):
        assert await state.ask(anna, "Hello") == text("error_model_busy", "en")
        await state.eventually(lambda: states(state) == ["failed"])
    assert len(state.requests) == 4
    assert used(state, anna) == 0
