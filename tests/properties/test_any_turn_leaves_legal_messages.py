"""Whatever the model, its tools and its provider do: what is stored is legal, and the next question
is answered.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace
from itertools import count

from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import SecretStr

from bot.agent.claude import Endpoint, body
from bot.agent.limits import Limits
from bot.agent.prompt import Prompt, render
from bot.agent.scripted import Line, Scripted, breaks, calls, fails, hangs, says, thinks
from bot.agent.toolbox.mcp import mcp_toolsets
from bot.agent.tools import Toolbox
from bot.aio import cancel_and_wait
from bot.budget import TokenBudget
from bot.compaction import CompactionPolicy
from bot.compaction.cutting import removable_messages
from bot.content import text_block, words
from bot.errors import EmptyAnswer, ModelBusy, PromptTooLong, SessionGone, ToolFailed
from bot.session import Summary, number
from bot.settings.mcp import McpServer
from bot.standins.claude.connector import check_connector
from bot.standins.claude.models import standard_offers
from bot.standins.claude.refusals import Refused
from bot.standins.claude.requests import MessagesRequest, shaped
from bot.standins.claude.rules import check
from bot.store.memory.usage import MemoryUsage
from tests.agents import MODEL, StreamedText, a_run, agent, tool
from tests.builders import ANNA, ANNAS_CHAT, NOON, question, session
from tests.unit.conftest import House

SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
ODD = {"type": "hologram", "shape": "cube"}
WIKI = McpServer("wiki", SecretStr("https://mcp.example.org"))
PROMPT = Prompt(MODEL, b"key")
REASONS = [
    "end_turn",
    "tool_use",
    "max_tokens",
    "pause_turn",
    "stop_sequence",
    "model_context_window_exceeded",
    "new",
]


numbers = count(1)


def of_mcp_server(number, *, is_answered):
    """A call that the provider had a server answer; the provider may stop before it did."""
    call = {
        "type": "mcp_tool_use",
        "id": f"mcptoolu_{number}",
        "name": "look",
        "server_name": "wiki",
        "input": {},
    }
    said = {
        "type": "mcp_tool_result",
        "tool_use_id": call["id"],
        "is_error": False,
        "content": [text_block("seen")],
    }
    return Line((call, said) if is_answered else (call,))


def refusal(messages):
    """Why the strict stand-in would refuse these messages, sent as we send them; empty where it
    would not.
    """
    request = PROMPT.request(
        ANNA, messages, [tool("moody", moody).spec, *mcp_toolsets([WIKI])], "auto"
    )
    sent = body(request, Endpoint("http://localhost", "key", mcp=(WIKI,)))
    beta = ",".join(sent.pop("betas"))
    try:
        shaped(MessagesRequest, sent)
        check(sent, standard_offers()[MODEL])
        check_connector(sent, beta)
    except Refused as refused:
        return refused.message
    return ""


async def moody(context, given):
    """A tool in whose words its mood is written."""
    if given.words == "fail":
        raise ToolFailed("no")
    for _ in range(10 if given.words == "slow" else 0):
        await asyncio.sleep(0)
    return {"long": "x" * 20_000, "odd": "\ud800\0", "empty": ""}.get(given.words, "fine")


pieces = st.one_of(
    st.sampled_from(["Yes.", "", " \n", "Hm, \ud800", "</conversation_summary>"]).map(says),
    st.sampled_from(["fine", "fail", "long", "odd", "empty", "slow"]).map(
        lambda mood: calls("moody", words=mood)
    ),
    st.builds(calls, st.sampled_from(["unknown", "moody"]), owner=st.integers()),
    st.just(thinks("hm")),
    st.sampled_from([Line((SEARCH,)), Line((SEARCH, FOUND)), Line((ODD,))]),
    st.sampled_from(["asked", "answered"]).map(
        lambda how: of_mcp_server(next(numbers), is_answered=how == "answered")
    ),
)
answers = st.builds(
    lambda parts, reason: Line(tuple(block for part in parts for block in part.content), reason),
    st.lists(pieces, max_size=4),
    st.sampled_from(REASONS),
)
lines = st.one_of(
    answers,
    answers.filter(lambda line: any(block["type"] == "tool_use" for block in line.content)).map(
        lambda line: Line(line.content, "tool_use")
    ),
    st.just(breaks("half a", ModelBusy())),
    st.just(fails(PromptTooLong)),
)


async def one_turn(of, update, model, script):
    """Run a turn and commit it, as `turn.py` would; False when the agent gave up with an error."""
    asked = question("hello", update)
    streamed = StreamedText()
    model.script = list(script)
    try:
        asks = agent(model, tool("moody", moody), model_calls=4)
        answer = await asks.run(ANNA, of, asked, streamed, a_run())
    except (
        ModelBusy,
        PromptTooLong,
        EmptyAnswer,
    ):  # and no ModelMisconfigured: that would be an illegal request
        assert not streamed.shown
        return False
    entries = [
        ("user", asked.content, 5),
        *((role, content, 5) for role, content in answer.exchange),
    ]
    of.messages += number(of, update, entries, NOON)
    of.next_seq += len(entries)
    of.task = answer.task
    assert answer.text or answer.ending
    assert words(answer.exchange[-1][1]).strip()
    return True


def compacted(of):
    old = removable_messages(of.messages, CompactionPolicy(messages=6, keep_messages=4))
    return (
        of.without(old[-1].seq, Summary("So far.", old[-1].seq, 1, 2, "small", NOON)) if old else of
    )


@given(st.lists(st.lists(lines, max_size=6), min_size=1, max_size=4), st.booleans())
@settings(deadline=None, max_examples=60)
async def test_the_next_question_is_always_answered(scripts, compacts):
    of, model = session(), Scripted(otherwise=lambda _: says("That is all."))
    for update, script in enumerate(scripts, start=1):
        await one_turn(of, update, model, script)
        of = compacted(of) if compacts else of
        assert refusal(render(of, question("And now?").content, NOON)) == ""
    assert await one_turn(of, 99, model, [])


# ------------------------------------------------------------------------- cut short, and compacted


class Busy(House):
    """A process whose tools have moods, in which room is made often, and where everything is paid
    for.
    """

    def __init__(self, **options):
        self.usage_store = MemoryUsage()
        super().__init__(**options)

    def open(self):
        super().open()
        self.compactor.token_budget = TokenBudget(self.usage_store, self.clock, budget=10**9)
        here = replace(
            self.turns.agent,
            toolbox=Toolbox([tool("moody", moody)]),
            limits=Limits(model_calls=4),
            token_budget=self.compactor.token_budget,
        )
        self.turns = replace(self.turns, agent=here)
        self.compactor._summariser = replace(self.compactor._summariser, seconds=0.01)


SUMMARY = "So far they have talked of this and that, and " + "of much more " * 10
moods = st.sampled_from(
    [says(SUMMARY), says("short"), fails(ModelBusy), says(SUMMARY, stop="max_tokens"), hangs()]
)
cuts = st.none() | st.tuples(
    st.sampled_from(["stop", "cancel", "new", "leave"]), st.integers(0, 30)
)
"""What comes in between, and after how many awaits."""
turns = st.tuples(st.lists(lines, max_size=5), cuts, moods)


async def one_life(at, script, cut, mood):
    """A turn, perhaps cut short at one of its awaits; and the compaction that may go on after
    it.
    """
    at.model.script, at.summary_model.script = list(script), [mood]
    stop = asyncio.Event()
    running = asyncio.create_task(at.ask("hello", stop=stop))
    how, after = cut or ("", 0)
    for _ in range(after):
        await asyncio.sleep(0)
    match how:
        case "stop":
            stop.set()
        case "cancel":
            running.cancel()
        case "new":
            await at.lifecycle.new(ANNA, ANNAS_CHAT)
        case "leave":
            await cancel_and_wait(running)
            await at.compactor.aclose()
            at.open()
    with suppress(asyncio.CancelledError, ModelBusy, PromptTooLong, EmptyAnswer, SessionGone):
        await asyncio.wait_for(running, 5)


@given(st.lists(turns, min_size=1, max_size=5))
@settings(deadline=None, max_examples=150)
async def test_whatever_is_cut_short_or_compacted_the_next_question_is_answered(lives):
    """C72. No other error than those a person is told of, and no ModelMisconfigured: that were an
    illegal request.

    Nor does anything stay set aside for what has ended, however it has.
    """
    at = Busy(policy=CompactionPolicy(4, keep_messages=2), otherwise=lambda _: says("That is all."))
    at.summary_model.otherwise = lambda _: says(SUMMARY)
    for script, cut, mood in lives:
        await one_life(at, script, cut, mood)
        held = await at.active() or session()
        assert refusal(render(held, question("And now?").content, NOON)) == ""
    at.model.script = []
    await at.compactor.aclose()
    assert (await at.ask("And now?")).delivered == ["That is all."]
    await at.compactor.aclose()
    assert not any(at.usage_store._holds.values())
