"""Tools that act on the world outside act once for one call, whatever becomes of the process."""

from __future__ import annotations

import pytest

from bot.agent.limits import Limits
from bot.agent.scripted import Scripted, calls, says
from bot.agent.tool_runner import ToolRunner
from bot.agent.tools import MAX_RESULT_CHARS, Toolbox
from bot.content import ToolUse, plain_text
from bot.errors import LaneLost, StoreUnavailable, ToolFailed
from bot.store.memory.inbox import MemoryRecord
from tests.agents import StreamedText, a_run, agent, tool, tool_context
from tests.builders import ANNA, question, session


class KilledError(BaseException):
    """The process ends here."""


class Ledger(MemoryRecord):
    """A record whose order of events a test can read, and that can be lost or out of reach."""

    def __init__(self, *, lost=False, away=False):
        super().__init__()
        self.events = []
        self.lost, self.away = lost, away

    dies = away_later = False

    async def effect_ended(self, turn, name, arguments, result):
        if self.dies:
            self.dies = False
            raise KilledError
        if self.away_later:
            raise StoreUnavailable
        await super().effect_ended(turn, name, arguments, result)

    def require_lease(self):
        self.events.append("lease")
        if self.lost:
            raise LaneLost

    async def effect_begins(self, turn, name, arguments):
        self.events.append(("begins", turn, name))
        if self.away:
            raise StoreUnavailable
        return await super().effect_begins(turn, name, arguments)


def sending(record):
    """A tool that writes to the same record when it acts."""

    async def send(context, given):
        record.events.append(f"sent {given.words}")
        return "Sent."

    return tool("send", send, has_effect=True)


async def use(record, words="tea", turn=1, **more):
    context = tool_context(turn=turn, record=record)
    return await Toolbox([sending(record)]).run(context, "send", {"words": words, **more})


async def test_an_effect_is_recorded_before_it_happens():
    record = Ledger()
    assert await use(record, turn=7) == "Sent."
    assert record.events == ["lease", ("begins", 7, "send"), "sent tea"]


async def test_the_same_call_of_a_later_run_is_refused_since_nobody_knows_what_became_of_the_first():
    """C7: a message, an order, a payment must not happen twice because a process died."""
    record = Ledger()
    record.dies = True
    with pytest.raises(KilledError):
        await use(record)
    with pytest.raises(ToolFailed, match="outcome is unknown"):
        await use(record)
    assert record.events.count("sent tea") == 1


async def test_the_same_call_of_a_later_run_gets_the_result_of_the_first_where_that_is_known():
    """C146: as much of it as is recorded."""
    record = Ledger()
    assert [await use(record), await use(record)] == ["Sent.", "Sent."]
    assert record.events.count("sent tea") == 1
    long = "tea" * MAX_RESULT_CHARS
    box = Toolbox([tool(has_effect=True)])
    context = tool_context(record=record)
    first, second = [await box.run(context, "echo", {"words": long}) for _ in range(2)]
    assert (len(first), len(second)) == (len(f"echo: {long}"), MAX_RESULT_CHARS)


async def test_a_result_that_cannot_be_recorded_is_told_to_the_model_all_the_same():
    record = Ledger()
    record.away_later = True
    assert await use(record) == "Sent."


async def test_other_arguments_and_other_turns_are_other_calls():
    record = Ledger()
    await use(record, "tea")
    await use(record, "milk")
    await use(record, "tea", turn=2)
    assert [
        event for event in record.events if isinstance(event, str) and event.startswith("sent")
    ] == [
        "sent tea",
        "sent milk",
        "sent tea",
    ]


async def test_of_a_tool_without_effect_nothing_is_recorded():
    record = Ledger(lost=True)
    for _ in range(2):
        said = await Toolbox([tool()]).run(tool_context(record=record), "echo", {"words": "tea"})
        assert said == "echo: tea"
    assert record.events == []


async def test_a_call_that_is_refused_for_its_arguments_is_not_recorded():
    """The model may correct itself."""
    record = Ledger()
    with pytest.raises(ToolFailed, match="Invalid arguments"):
        await use(record, owner=1002)
    assert record.events == []


async def test_the_record_names_the_arguments_by_a_hash():
    """They may hold what a person wrote, which belongs in the Session only."""
    kept = []

    class Open(MemoryRecord):
        async def effect_begins(self, turn, name, arguments):
            kept.append(arguments)
            return True

    for order in ({"words": "tea"}, {"words": "milk"}):
        await Toolbox([tool(has_effect=True)]).run(tool_context(record=Open()), "echo", order)
    assert "tea" not in kept[0]
    assert kept[0] != kept[1]


async def test_without_a_lease_nothing_happens_and_the_turn_ends():
    """C24: a process that was frozen past its lease acts no more: another one is at it."""
    record = Ledger(lost=True)
    with pytest.raises(LaneLost):
        await use(record)
    call: ToolUse = {"type": "tool_use", "id": "toolu_1", "name": "send", "input": {"words": "tea"}}
    with pytest.raises(LaneLost):
        await ToolRunner(Toolbox([sending(record)]), tool_context(record=record), Limits()).answer(
            [call]
        )
    assert record.events == ["lease", "lease"]


async def test_an_effect_that_cannot_be_recorded_does_not_happen():
    record = Ledger(away=True)
    with pytest.raises(StoreUnavailable):
        await use(record)
    assert "sent tea" not in record.events


async def test_a_turn_that_runs_again_tells_the_model_what_came_of_the_first():
    """The whole way: the first run died after the tool had acted, the second one has the same
    record.
    """
    record = Ledger()
    heard = []
    for _ in range(2):
        model = Scripted(calls("send", words="tea"), says("Well."))
        await agent(model, sending(record)).run(
            ANNA, session(), question(), StreamedText(), a_run(record)
        )
        heard.append(model.requests[1].messages[-1]["content"][0])
    assert [(plain_text([result]), "is_error" in result) for result in heard] == [
        ("[result Sent.]", False)
    ] * 2
    assert record.events.count("sent tea") == 1
