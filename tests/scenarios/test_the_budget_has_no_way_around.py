"""DAILY_TOKEN_BUDGET as somebody tries to get around it: what is sent is booked, and the refusal tells the truth."""

from __future__ import annotations

import asyncio
import re

import pytest

from bot.demo.claude.answers import call, think
from bot.demo.claude.faults import Fault
from bot.demo.transcribing import TranscribeServer
from bot.errors import StartError
from bot.texts import text
from tests.scenarios.test_a_daily_budget import used

PLENTY = "1000000"
MINUTE = 1_000
"""Tokens of a begun minute of a recording."""
FLOOR = 0.98


@pytest.fixture
async def ears(world):
    async with TranscribeServer() as server:
        world.environ |= {"TRANSCRIBE_URL": server.url, "TRANSCRIBE_KEY": server.key}
        server.words = "Echo: I was heard."
        yield server


def billed(world):
    return sum(world.claude.billed(exchange) for exchange in world.claude.journal.exchanges)


def states(world):
    return [entry["state"] for entry in world.database["inbox"].find({"kind": "content"}).sort("_id", 1)]


def has_spent(world, person, tokens):
    """Somebody has used so many tokens today."""
    day = world.clock.now().replace(hour=0, minute=0, second=0, microsecond=0)
    counters = {"outputTokens": 0, "cacheReadTokens": 0, "cacheWriteTokens": 0, "turns": 1}
    row = {"ownerId": person.id, "day": day, "inputTokens": tokens, **counters}
    world.database["usage"].insert_one(row)


def figures(sentence):
    return [int(re.sub(r"\D", "", word)) for word in re.findall(r"\d[\d\u202f\u00a0,]*", sentence)]


async def heard_of(world, person, answers):
    await world.telegram.until(lambda: len(person.chat.answers) >= answers, seconds=20)
    return person.chat.answers[-1]


# ------------------------------------------------------------------------------------------- the truth is told


async def test_a_budget_that_no_message_fits_into_is_refused_at_start(world):
    """C149: 2,500 is less than system prompt, tools and an answer."""
    with pytest.raises(StartError, match=r"^DAILY_TOKEN_BUDGET: 2500 is less than one request takes \(about \d+ tok"):
        async with world.bot(DAILY_TOKEN_BUDGET="2500"):
            pass
    assert world.claude.journal.exchanges == () or billed(world) == 0


async def test_who_has_too_little_left_learns_what_is_needed_and_what_there_is(world, anna):
    """C149: 12,000 a day, 2,000 left."""
    has_spent(world, anna, 10_000)
    async with world.bot(DAILY_TOKEN_BUDGET="12000"):
        sentence = await world.ask(anna, "Tell me about herons.")
        await world.eventually(lambda: states(world) == ["budget"])
    needed, left, budget, hours, *_ = figures(sentence)
    assert (left, budget, hours) == (2_000, 12_000, 12)
    assert 2_000 < needed < 12_000
    assert world.requests == []
    assert used(world, anna) == 10_000


async def test_the_refused_message_is_answered_by_its_button_once_a_new_day_has_begun(world, anna):
    """C149: before midnight the same sentence comes again; nothing set aside stands in the way after it."""
    has_spent(world, anna, 10_000)
    async with world.bot(DAILY_TOKEN_BUDGET="12000"):
        await world.ask(anna, "Echo: herons")
        anna.presses("Try again")
        assert figures((await heard_of(world, anna, 2)).text)[1:3] == [2_000, 12_000]
        await world.eventually(lambda: states(world) == ["budget"])
        world.passes(hours=12, minutes=1)
        anna.presses("Try again")
        assert "herons" in (await heard_of(world, anna, 3)).text
        await world.eventually(lambda: states(world) == ["done"])


async def test_what_no_day_has_room_for_has_no_button_to_try_it_again(world, anna):
    async with world.bot(DAILY_TOKEN_BUDGET="12000"):
        anna.sends_document(b"What is there to say of herons? " * 2_000, "herons.txt", "text/plain", "What is it?")
        refused = await heard_of(world, anna, 1)
        await world.eventually(lambda: states(world) == ["budget"])
    needed, budget, *_ = figures(refused.text)
    assert needed > budget == 12_000
    assert "whole day" in refused.text
    assert list(refused.buttons) == []


async def test_a_group_hears_one_neutral_sentence_without_figures(world, anna, boris):
    """C144."""
    group = world.telegram.supergroup(members=[anna, boris])
    has_spent(world, boris, 11_000)
    async with world.bot(DAILY_TOKEN_BUDGET="12000"):
        said = await world.ask(boris, "@emulated_bot Tell me about herons.", chat=group)
    assert said == text("error_budget_group", "ru")
    assert figures(said) == []


# ---------------------------------------------------------------------------------------- what was sent is booked


async def test_six_stops_before_the_first_byte_are_six_prompts(world, anna):
    """C149."""
    async with world.bot(DAILY_TOKEN_BUDGET=PLENTY):
        for number in range(6):
            world.claude.faults.next(Fault.silence())
            anna.says(f"Tell me about heron number {number}.")
            await world.claude.until(lambda _, asked=number + 1: len(world.requests) == asked)
            await world.ask(anna, "/stop", answers=2)
        await world.eventually(lambda: not world.database["usage"].find_one({"ownerId": anna.id})["holds"])
    assert FLOOR * billed(world) <= used(world, anna) <= 1.5 * billed(world)


async def test_what_was_thought_before_a_stop_is_booked(world, anna):
    """C149: nothing of it was shown, and no usage reported."""
    world.claude.script(think("What is there to say of herons? " * 100, "Nothing."))
    world.claude.faults.slow(0.1)
    async with world.bot(DAILY_TOKEN_BUDGET=PLENTY):
        anna.says("Tell me about herons.")
        await world.claude.until(lambda exchanges: any(len(one.written) > 200 for one in exchanges), seconds=20)
        await world.ask(anna, "/stop", answers=2)
        await world.eventually(lambda: not world.database["usage"].find_one({"ownerId": anna.id})["holds"])
    assert FLOOR * billed(world) <= used(world, anna) <= 1.5 * billed(world)


async def test_arguments_that_broke_off_are_booked(world, anna):
    long = {"text": "The heron stands in shallow water. " * 40}
    world.claude.script(call("remember", long), "Noted.")
    world.claude.faults.next(Fault.dropped(after=200, inside="input_json_delta"))
    async with world.bot(DAILY_TOKEN_BUDGET=PLENTY):
        await world.ask(anna, "Remember all I said of herons.")
        await world.eventually(lambda: states(world) == ["done"])
        await world.eventually(lambda: not world.database["usage"].find_one({"ownerId": anna.id})["holds"])
    assert FLOOR * billed(world) <= used(world, anna) <= 1.5 * billed(world)


async def test_a_call_that_was_refused_is_not_booked_as_if_it_had_run(world, anna):
    world.claude.faults.next(*[Fault.overloaded()] * 4, Fault.status(401))
    async with world.bot(DAILY_TOKEN_BUDGET=PLENTY):
        for _ in range(2):
            await world.ask(anna, "Hello")
        await world.eventually(lambda: not world.database["usage"].find_one({"ownerId": anna.id})["holds"])
    assert used(world, anna) == billed(world) == 0


async def test_two_processes_do_not_promise_the_same_tokens(world, anna, boris):
    chats = [world.telegram.supergroup(members=[anna, boris]) for _ in range(4)]
    has_spent(world, anna, 14_000)
    budget = {"DAILY_TOKEN_BUDGET": "20000"}
    world.claude.faults.slow(0.02)
    async with world.bot(**budget), world.bot(**budget):
        await asyncio.gather(*(world.ask(anna, "@emulated_bot Tell me about herons.", chat=chat) for chat in chats))
        await world.eventually(lambda: not world.database["usage"].find_one({"ownerId": anna.id})["holds"])
    assert sorted(states(world)) == ["budget", "budget", "budget", "done"]
    assert used(world, anna) <= 20_000


# -------------------------------------------------------------------------------------------- what is spoken


async def test_nothing_is_written_down_for_somebody_with_nothing_left(world, anna, ears):
    """C149: neither where a recording would fit and its answer would not."""
    has_spent(world, anna, 10_000)
    async with world.bot(DAILY_TOKEN_BUDGET="12000"):
        anna.sends_voice(b"OggS")
        needed, left, *_ = figures((await heard_of(world, anna, 1)).text)
        await world.eventually(lambda: states(world) == ["budget"])
    assert needed > left == 2_000
    assert ears.heard == []
    assert used(world, anna) == 10_000


async def test_a_recording_is_written_down_once_however_often_it_is_tried_again(world, anna, ears):
    """C149: six times; its words wait with the message."""
    world.claude.faults.next(Fault.status(401), times=7)
    async with world.bot(DAILY_TOKEN_BUDGET=PLENTY):
        anna.sends_voice(b"OggS", seconds=61)
        for tried in range(1, 7):
            await heard_of(world, anna, tried)
            await world.eventually(lambda: states(world) == ["failed"])
            anna.presses("Try again")
        await heard_of(world, anna, 7)
        await world.eventually(lambda: states(world) == ["failed"])
        assert len(ears.heard) == 1
        assert used(world, anna) == 2 * MINUTE
        anna.presses("Try again")
        assert (await heard_of(world, anna, 8)).text == "I was heard."
        await world.eventually(lambda: states(world) == ["done"])
    assert len(ears.heard) == 1
    assert "transcripts" not in world.database["inbox"].find_one({"kind": "content"})
    assert used(world, anna) == 2 * MINUTE + billed(world)


async def test_a_recording_that_the_server_refused_costs_nothing(world, anna, ears):
    ears.fails = 503
    async with world.bot(DAILY_TOKEN_BUDGET=PLENTY):
        anna.sends_voice(b"OggS")
        await heard_of(world, anna, 1)
        await world.eventually(lambda: states(world) == ["failed"])
    assert used(world, anna) == 0


@pytest.mark.parametrize("seconds", [0, 1, 60], ids=lambda seconds: f"{seconds} seconds claimed")
async def test_a_recording_costs_no_less_than_its_own_bytes_tell(world, anna, ears, seconds):
    """Its sender's client may claim anything: the last page says that it lasts two minutes and a bit."""
    last_page = b"OggS\0\0" + (125 * 48_000).to_bytes(8, "little")
    async with world.bot(TRANSCRIBE_TOKENS_PER_MINUTE="7"):
        anna.sends_voice(b"OggS" + bytes(2_000) + last_page, seconds=seconds)
        await heard_of(world, anna, 1)
        await world.eventually(lambda: states(world) == ["done"])
    assert used(world, anna) == 3 * 7 + billed(world)
