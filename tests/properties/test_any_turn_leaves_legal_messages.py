"""Whatever the model, its tools and its provider do: what is stored is legal, and the next question is answered."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from bot.agent.prompt import render, user_content
from bot.agent.scripted import Line, Scripted, breaks, calls, fails, illegal, says, thinks
from bot.compaction import Triggers
from bot.compaction.cutting import covered
from bot.errors import EmptyAnswer, ModelBusy, PromptTooLong, ToolFailed
from bot.session import Summary, number, words
from tests.agents import Screen, a_run, agent, tool
from tests.builders import ANNA, NOON, question, session

SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
ODD = {"type": "hologram", "shape": "cube"}
REASONS = ["end_turn", "tool_use", "max_tokens", "pause_turn", "stop_sequence", "model_context_window_exceeded", "new"]


async def moody(context, given):
    """A tool in whose words its mood is written."""
    if given.words == "fail":
        raise ToolFailed("no")
    return {"long": "x" * 20_000, "odd": "\ud800\0", "empty": ""}.get(given.words, "fine")


pieces = st.one_of(
    st.sampled_from(["Yes.", "", " \n", "Hm, \ud800", "</conversation_summary>"]).map(says),
    st.sampled_from(["fine", "fail", "long", "odd", "empty"]).map(lambda mood: calls("moody", words=mood)),
    st.builds(calls, st.sampled_from(["unknown", "moody"]), owner=st.integers()),
    st.just(thinks("hm")),
    st.sampled_from([Line((SEARCH,)), Line((SEARCH, FOUND)), Line((ODD,))]),
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
    st.just(fails(PromptTooLong())),
)


async def one_turn(of, update, script):
    """Run a turn and commit it, as `turn.py` would; False when the agent gave up with an error."""
    asked = question("hello", update)
    screen = Screen()
    model = Scripted(*script, otherwise=lambda _: says("That is all."))
    try:
        asks = agent(model, tool("moody", moody), model_calls=4)
        answer = await asks.run(ANNA, of, asked, screen, a_run())
    except (ModelBusy, PromptTooLong, EmptyAnswer):  # and no ModelMisconfigured: that would be an illegal request
        assert not screen.shown
        return False
    entries = [("user", user_content(asked), 5), *((role, content, 5) for role, content in answer.exchange)]
    of.messages += number(of, update, entries, NOON)
    of.next_seq += len(entries)
    of.task = answer.task
    assert answer.text or answer.ending == "limit"
    assert words(answer.exchange[-1][1]).strip()
    return True


def compacted(of):
    old = covered(of.messages, Triggers(messages=6, keep_messages=4))
    return of.without(old[-1].seq, Summary("So far.", old[-1].seq, 1, 2, "small", NOON)) if old else of


@given(st.lists(st.lists(lines, max_size=6), min_size=1, max_size=4), st.booleans())
@settings(deadline=None, max_examples=100)
async def test_the_next_question_is_always_answered(scripts, compacts):
    of = session()
    for update, script in enumerate(scripts, start=1):
        await one_turn(of, update, script)
        of = compacted(of) if compacts else of
        assert illegal(render(of, user_content(question("And now?")), NOON)) == ""
    assert await one_turn(of, 99, [])
