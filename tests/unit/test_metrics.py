"""The numbers the bot tells of itself: declared in one place, told at /metrics, about nobody in
particular.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace

import aiohttp
import pytest
from prometheus_client.parser import text_string_to_metric_families

from bot.agent.scripted import Scripted, fails, says
from bot.app.measured import MeasuredFrontend, MeasuredModel, counted
from bot.errors import ModelBusy, StoreUnavailable
from bot.ops.http_server import HttpServer
from bot.ops.metrics import Metrics
from bot.ports import Batch, Claim, Entry, Request, Run
from bot.store.memory.inbox import MemoryRecord
from bot.usage import Usage
from tests.builders import NOON, lane

USED = Usage(input_tokens=100, output_tokens=20, cache_read_tokens=7, cache_write_tokens=3)
BATCH = Batch(Claim(lane().id, 1), (Entry(1, lane(), "content", {}, NOON),))


@pytest.fixture
def metrics():
    """Each question writes them out anew."""
    return Metrics(fresh=0)


@pytest.fixture
async def tell(metrics):
    """What `/metrics` says of one metric, by its labels in the order of their names."""
    async with (
        HttpServer("127.0.0.1", 0, [metrics.route()]) as health,
        aiohttp.ClientSession(f"http://127.0.0.1:{health.port}") as client,
    ):

        async def told(name, accept=""):
            async with client.get("/metrics", headers={"Accept": accept}) as answer:
                assert answer.status == 200
                assert answer.content_type in accept or not accept
                families = list(text_string_to_metric_families(await answer.text()))
            samples = [
                sample for family in families for sample in family.samples if sample.name == name
            ]
            return {
                tuple(value for _, value in sorted(sample.labels.items())): sample.value
                for sample in samples
            }

        yield told


async def nothing(*_):
    """Take it, and do nothing."""


async def test_two_processes_in_one_count_apart():
    """There is no registry that all share, so a test, or a demo, can run several bots."""
    one, other = Metrics(), Metrics()
    one.updates.labels("message").inc()
    assert other.updates.labels("message")._value.get() == 0


async def test_updates_are_counted_by_kind(metrics, tell):
    receive = counted(nothing, metrics)
    await receive({"update_id": 1, "message": {}}, {"update_id": 2, "message": {}})
    await receive({"update_id": 3, "callback_query": {}})
    await receive({"update_id": 4, "something_new": {}})
    assert await tell("bot_updates_total") == {
        ("message",): 2,
        ("callback_query",): 1,
        ("other",): 1,
    }


async def test_an_update_that_could_not_be_stored_is_not_counted(metrics, tell):
    async def away(*_):
        raise StoreUnavailable

    with pytest.raises(StoreUnavailable):
        await counted(away, metrics)({"update_id": 1, "message": {}})
    assert await tell("bot_updates_total") == {}


class CommandDependencies:
    """A Frontend with one answer for each kind of batch."""

    async def answer(self, batch, run):
        if batch.claim.tries > 1:
            raise StoreUnavailable
        return "done"

    async def run_command(self, batch, run):
        return "failed"

    async def skip_superseded(self, batch, run):
        return "cancelled"

    async def give_up(self, batch, run):
        return "dead"


async def test_batches_are_counted_by_their_fate_and_turns_are_timed(metrics, tell):
    frontend = MeasuredFrontend(CommandDependencies(), metrics)
    run = Run(MemoryRecord(), asyncio.Event())
    ended = [
        await frontend.answer(BATCH, run),
        await frontend.answer(BATCH, run),
        await frontend.run_command(BATCH, run),
        await frontend.skip_superseded(BATCH, run),
        await frontend.give_up(BATCH, run),
    ]
    assert ended == ["done", "done", "failed", "cancelled", "dead"]
    counts = {("done",): 2, ("failed",): 1, ("cancelled",): 1, ("dead",): 1}
    assert await tell("bot_batches_total") == counts
    assert await tell("bot_turn_seconds_count") == {(): 2}


async def test_what_a_batch_raises_passes_and_is_no_fate(metrics, tell):
    frontend = MeasuredFrontend(CommandDependencies(), metrics)
    with pytest.raises(StoreUnavailable):
        await frontend.answer(
            replace(BATCH, claim=replace(BATCH.claim, tries=2)),
            Run(MemoryRecord(), asyncio.Event()),
        )
    assert await tell("bot_batches_total") == {}


async def test_model_calls_are_counted_by_how_they_ended_and_tokens_by_kind(metrics, tell):
    model = MeasuredModel(
        Scripted(
            replace(says("hello"), usage=USED), fails(ModelBusy, usage=USED), fails(ModelBusy)
        ),
        metrics,
    )
    request = Request(
        "big", "You are a bot.", ({"role": "user", "content": [{"type": "text", "text": "hello"}]},)
    )
    assert (await model.complete(request, lambda _text: None)).text == "hello"
    for _ in range(2):
        with pytest.raises(ModelBusy):
            await model.complete(request, lambda _text: None)

    assert await tell("bot_model_calls_total") == {("end_turn", "big"): 1, ("ModelBusy", "big"): 2}
    tokens = {
        ("input", "big"): 200,
        ("output", "big"): 40,
        ("cache_read", "big"): 14,
        ("cache_write", "big"): 6,
    }
    assert await tell("bot_tokens_total") == tokens


async def test_lanes_and_polls_are_asked_when_they_are_told(metrics, tell):
    held, polled = 0, None
    metrics.watch_lanes(lambda: held)
    metrics.watch_polls(lambda: polled)
    assert [await tell("bot_lanes_held"), await tell("bot_last_poll_timestamp_seconds")] == [
        {(): 0}
    ] * 2
    held, polled = 1, NOON
    assert await tell("bot_lanes_held") == {(): 1}
    assert await tell("bot_last_poll_timestamp_seconds") == {(): NOON.timestamp()}


async def test_whoever_asks_for_another_format_gets_it(metrics, tell):
    metrics.updates.labels("message").inc()
    assert await tell("bot_updates_total", "application/openmetrics-text") == {("message",): 1}


async def test_many_who_ask_get_one_copy():
    """C167: within a second the numbers are written out once for each format, however many ask."""
    metrics = Metrics(fresh=3600)
    asked = 0

    def held():
        nonlocal asked
        asked += 1
        return 7

    metrics.watch_lanes(held)
    async with (
        HttpServer("127.0.0.1", 0, [metrics.route()]) as server,
        aiohttp.ClientSession(f"http://127.0.0.1:{server.port}") as client,
    ):

        async def ask(accept):
            async with client.get("/metrics", headers={"Accept": accept}) as answer:
                return await answer.text()

        formats = ("text/plain", "application/openmetrics-text")
        told = await asyncio.gather(*(ask(accept) for accept in formats for _ in range(20)))
    assert asked == len(formats)
    assert all("bot_lanes_held 7.0" in text for text in told)
