"""The prompt cache of the Messages stand-in: what is read, what is written, what neither; and
honest token counts.
"""

from __future__ import annotations

from datetime import timedelta

import pytest
from anthropic import AsyncAnthropic

from bot.ops.clock import ManualClock
from bot.standins.claude.models import Offer
from bot.standins.claude.prompt import CLAUDE_RATIO
from bot.standins.claude.server import ClaudeServer

MARK = {"cache_control": {"type": "ephemeral"}}
HOUR = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
SYSTEM = "You are kind. " * 40
LOOK = {"name": "look", "input_schema": {"type": "object"}}


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
async def server(clock):
    offers = {name: Offer(cache_floor=100) for name in ("claude-sonnet-5-5", "claude-haiku-5-5")}
    async with ClaudeServer(clock=clock, offers=offers) as running:
        yield running


@pytest.fixture
async def client(server):
    async with AsyncAnthropic(api_key=server.key, base_url=server.url, max_retries=0) as running:
        yield running


def text(words, mark=None):
    return {"type": "text", "text": words, **(mark or {})}


def user(*blocks):
    return {
        "role": "user",
        "content": [text(block) if isinstance(block, str) else block for block in blocks],
    }


async def usage(client, messages, **fields):
    """(read, written, fresh) of one request."""
    fields = {"model": "claude-sonnet-5-5", "system": [text(SYSTEM, MARK)], **fields}
    used = (await client.messages.create(max_tokens=50, messages=messages, **fields)).usage
    return used.cache_read_input_tokens, used.cache_creation_input_tokens, used.input_tokens


async def test_a_marked_prefix_is_written_once_and_then_read(client):
    read, written, fresh = await usage(client, [user("hi")])
    assert (read, written > 100, fresh < 10) == (0, True, True)
    assert await usage(client, [user("ho")]) == (written, 0, fresh)


async def test_the_three_numbers_are_the_whole_prompt(client):
    first, second = await usage(client, [user("hi")]), await usage(client, [user("hi")])
    counted = await client.messages.count_tokens(
        model="claude-sonnet-5-5", system=[text(SYSTEM)], messages=[user("hi")]
    )
    assert sum(first) == sum(second) == counted.input_tokens


async def test_a_growing_dialogue_reads_what_it_wrote(client):
    """The automatic breakpoint moves along: each request reads all of the one before."""
    messages, before = [], 0
    for turn in range(4):
        messages.append(user(f"turn {turn} " * 30))
        read, written, fresh = await usage(client, messages, **MARK)
        assert (read, fresh) == (before, 0)
        assert written > 0
        before = read + written
        messages.append({"role": "assistant", "content": "ok"})


async def test_one_changed_character_before_the_mark_reads_nothing(client):
    await usage(client, [user("hi")])
    read, written, _ = await usage(client, [user("hi")], system=[text("X" + SYSTEM[1:], MARK)])
    assert (read, written > 100) == (0, True)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"tools": [LOOK]}, id="tools"),
        pytest.param({"model": "claude-haiku-5-5"}, id="model"),
    ],
)
async def test_another_front_reads_nothing(client, change):
    await usage(client, [user("hi")])
    assert (await usage(client, [user("hi")], **change))[0] == 0


async def test_another_tool_choice_keeps_tools_and_system_but_not_messages(client):
    messages = [user(text("a long question " * 30, MARK))]
    _, written, _ = await usage(client, messages, tools=[LOOK])
    read, rewritten, _ = await usage(client, messages, tools=[LOOK], tool_choice={"type": "none"})
    assert 0 < read < written
    assert read + rewritten == written


async def test_a_prefix_below_the_floor_is_silently_not_cached(client):
    short = [text("Be kind.", MARK)]
    for _ in range(2):
        assert (await usage(client, [user("hi")], system=short))[:2] == (0, 0)


async def test_an_entry_lives_five_minutes_from_its_last_use(client, clock):
    _, written, _ = await usage(client, [user("hi")])
    for _ in range(3):
        clock.advance(timedelta(minutes=4))
        assert (await usage(client, [user("hi")]))[0] == written
    clock.advance(timedelta(minutes=5))
    assert (await usage(client, [user("hi")]))[:2] == (0, written)


async def test_an_entry_can_live_an_hour(client, clock):
    request = {"system": [text(SYSTEM, HOUR)]}
    _, written, _ = await usage(client, [user("hi")], **request)
    clock.advance(timedelta(minutes=59))
    assert (await usage(client, [user("hi")], **request))[0] == written
    answer = await client.messages.create(
        model="claude-haiku-5-5", max_tokens=9, messages=[user("hi")], system=request["system"]
    )
    assert answer.usage.cache_creation.ephemeral_1h_input_tokens == written
    assert answer.usage.cache_creation.ephemeral_5m_input_tokens == 0


async def test_reading_an_older_entry_keeps_it_alive(client, clock):
    """A growing dialogue reads the entry of the last request, and by that alone it lives on."""
    first = [user("a long question " * 30)]
    _, written, _ = await usage(client, first, system="", **MARK)
    for number in range(2):
        clock.advance(timedelta(minutes=4))
        read, _, _ = await usage(client, [*first, user(f"branch {number}")], system="", **MARK)
        assert read == written


@pytest.mark.parametrize(("added", "found"), [(19, True), (20, False)])
async def test_the_look_back_reaches_twenty_blocks(client, added, found):
    """The mark's own block is the first of the twenty."""
    question = text("a long question " * 30)
    _, written, _ = await usage(client, [user({**question, **MARK})], system=SYSTEM)
    more = [text(f"block {number}") for number in range(added)]
    read, _, _ = await usage(
        client, [user(question, *more[:-1], {**more[-1], **MARK})], system=SYSTEM
    )
    assert read == (written if found else 0)


async def test_tokens_are_those_of_the_given_counter_and_a_third_more(clock):
    """So that a caller's calibration, which starts from o200k counts, has something to find."""
    counted = []

    def count(words):
        counted.append(words)
        return len(words.split())

    async with (
        ClaudeServer(clock=clock, count=count) as server,
        AsyncAnthropic(api_key=server.key, base_url=server.url, max_retries=0) as client,
    ):
        small, large = [
            sum(await usage(client, [user("word " * size)], system="")) for size in (100, 1100)
        ]
    assert large - small == round(1000 * CLAUDE_RATIO)
    assert len(counted) == len(set(counted)), "each text is counted once"
