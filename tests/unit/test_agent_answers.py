"""The agent's loop: from a question to words, whatever reason the model gives for stopping."""

from __future__ import annotations

import asyncio

import pytest

from bot.agent.prompt import NOTHING_ADDED
from bot.agent.scripted import Line, Scripted, calls, hangs, says, thinks, writes
from bot.agent.tool_runner import NOT_WHOLE
from bot.errors import EmptyAnswer, ModelRefused
from bot.usage import Usage
from tests.agents import StreamedText, a_run, agent, results, run, tool
from tests.builders import ANNA, BORIS, dialogue, question, session, text

SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}


async def test_words_are_shown_as_they_come_and_are_the_answer():
    streamed = StreamedText()
    answer = await run([says("Good morning, Anna!")], streamed=streamed)
    assert answer.text == streamed.shown == "Good morning, Anna!"
    assert answer.exchange == (("assistant", (text("Good morning, Anna!"),)),)
    assert answer.ending == ""


async def test_a_tool_is_run_and_the_model_answers_with_its_result():
    model = Scripted(calls("echo", words="tea"), says("It said tea."))
    answer = await run(model, tool())
    assert [role for role, _ in answer.exchange] == ["assistant", "user", "assistant"]
    assert results(answer) == [("echo: tea", False)]
    assert answer.text == "It said tea."


async def test_all_calls_of_one_answer_get_their_results_in_one_message_in_order():
    both = calls("echo", words="one").and_(calls("echo", words="two"))
    answer = await run([both, says("Two.")], tool())
    _, (_, content), _ = answer.exchange
    asked = [block["id"] for block in answer.exchange[0][1]]
    assert [block["tool_use_id"] for block in content] == asked
    assert results(answer) == [("echo: one", False), ("echo: two", False)]


async def test_what_was_said_before_a_tool_stays_in_sight():
    """C92"""
    streamed = StreamedText()
    answer = await run(
        [says("Let me look.").and_(calls("echo")), says("Here it is.")], tool(), streamed=streamed
    )
    assert answer.text == streamed.shown == "Let me look.\n\nHere it is."


async def test_while_a_tool_runs_the_person_sees_what_is_being_done():
    streamed, seen = StreamedText(), []

    async def look(context, given):
        seen.append(streamed.statuses[-1])
        return "tea"

    await run([calls("echo"), calls("unknown"), says("Tea.")], tool(run=look), streamed=streamed)
    assert seen == ["status_other"]
    assert streamed.statuses == ["status_other", "", "status_other", ""]


async def test_while_the_provider_searches_the_web_the_person_sees_it_until_words_follow():
    streamed = StreamedText()
    await run([Line((SEARCH, FOUND, text("Tea."))), says("?")], streamed=streamed)
    assert streamed.statuses == ["status_web", ""]


async def test_the_last_report_is_the_size_and_the_sum_of_all_is_the_usage():
    """C78, C81: usage is summed over every call; the size of the prompt is that of the last one
    only.
    """
    first = Usage(input_tokens=100, output_tokens=5, cache_write_tokens=50)
    last = Usage(input_tokens=20, output_tokens=7, cache_read_tokens=150)
    answer = await run(
        [Line(calls("echo").content, "tool_use", first), says("Done.", usage=last)], tool()
    )
    assert answer.usage == first + last
    assert answer.prompt_tokens == 20 + 150 + 7


async def test_inside_the_turn_thinking_goes_back_as_it_came_and_none_of_it_is_kept():
    model = Scripted(thinks("hm").and_(calls("echo")), thinks("aha").and_(says("Yes.")))
    answer = await run(model, tool())
    sent = model.requests[1].messages[-2]["content"]
    assert sent[0] == {"type": "thinking", "thinking": "hm", "signature": "signed"}
    assert {block["type"] for _, content in answer.exchange for block in content} == {
        "tool_use",
        "tool_result",
        "text",
    }


async def test_blank_text_is_never_kept():
    answer = await run([Line((text(" \n"), text("Yes.")), "end_turn")])
    assert answer.exchange == (("assistant", (text("Yes."),)),)


async def test_blank_text_beside_a_call_is_not_even_sent_back():
    """The SDK may return it, and the API refuses to read it."""
    model = Scripted(Line((text(" \n"), *calls("echo").content), "tool_use"), says("Yes."))
    assert (await run(model, tool())).text == "Yes."


async def test_a_providers_result_may_come_after_ours():
    """A search of the provider that was still open when our tool was called is answered in the next
    message.
    """
    model = Scripted(
        Line((SEARCH, *calls("echo").content), "tool_use"),
        Line((FOUND, text("Sunny.")), "end_turn"),
    )
    answer = await run(model, tool())
    assert model.requests[1].messages[-2]["content"][0] == SEARCH
    assert [block["type"] for block in answer.exchange[0][1]] == ["tool_use"]
    assert answer.exchange[2][1] == (text("Sunny."),)


async def test_a_pause_with_an_open_call_of_ours_is_not_resumed():
    paused = Line((text("Hm."), *calls("echo").content), "pause_turn")
    assert (await run([paused], tool())).exchange == (("assistant", (text("Hm."),)),)


@pytest.mark.parametrize("reason", ["end_turn", "stop_sequence", "some_new_reason"])
async def test_the_turn_ends_plainly_at(reason):
    assert (await run([says("Yes.", stop=reason)])).ending == ""


@pytest.mark.parametrize("reason", ["max_tokens", "model_context_window_exceeded"])
async def test_the_answer_is_kept_and_marked_as_cut_at(reason):
    answer = await run([says("Half a", stop=reason)])
    assert (answer.text, answer.ending) == ("Half a", "cut")


@pytest.mark.parametrize(
    "reason", ["max_tokens", "end_turn", "refused_by_gateway", "model_context_window_exceeded"]
)
async def test_a_tool_is_run_for_no_other_reason_than_tool_use(reason):
    """A call cut at max_tokens parses leniently into wrong arguments, so it is dropped and never
    run.
    """
    ran = []

    async def transfer(context, given):
        ran.append(given)
        return "sent"

    cut = says("Sending.").and_(Line(calls("transfer", words="1000").content, reason))
    answer = await run([cut], tool("transfer", transfer))
    assert ran == []
    assert answer.exchange == (("assistant", (text("Sending."),)),)


async def test_a_tool_use_without_a_call_is_an_end():
    assert (await run([says("Well.", stop="tool_use")])).text == "Well."


async def test_a_refusal_takes_back_what_was_shown():
    streamed = StreamedText()
    with pytest.raises(ModelRefused):
        await run([says("Surely, first you", stop="refusal")], streamed=streamed)
    assert streamed.shown == ""


async def test_no_words_at_all_is_an_empty_answer():
    within = a_run()
    with pytest.raises(EmptyAnswer):
        await run([says("")], within=within)
    assert within.meter.total == Usage(input_tokens=100, output_tokens=10)


async def test_thinking_alone_is_an_empty_answer():
    with pytest.raises(EmptyAnswer):
        await run([thinks("hm")])


async def test_an_empty_end_after_words_and_a_tool_closes_the_turn_all_the_same():
    """The model may add nothing to what it said before the tool; the stored turn must still end
    with the assistant.
    """
    answer = await run([says("Saved it.").and_(calls("echo")), says("")], tool())
    assert (answer.text, answer.ending) == ("Saved it.", "nothing")
    assert answer.exchange[-1] == ("assistant", (text(NOTHING_ADDED),))


@pytest.mark.parametrize(
    "last", [says(""), says(" \n"), thinks("hm")], ids=["nothing", "blanks", "thinking"]
)
@pytest.mark.parametrize("preamble", ["", "One moment."], ids=["silently", "with a preamble"])
async def test_silence_after_a_tool_is_told_and_what_the_tool_did_is_kept(preamble, last):
    """C142: neither silence nor a preamble alone; and no failure that would have the tool run
    again.
    """
    asked = (
        says(preamble).and_(calls("echo", words="tea")) if preamble else calls("echo", words="tea")
    )
    answer = await run([asked, last], tool())
    assert (answer.text, answer.ending) == (preamble, "nothing")
    assert results(answer) == [("echo: tea", False)]


@pytest.mark.parametrize("reason", ["max_tokens", "model_context_window_exceeded"])
async def test_an_answer_cut_before_its_first_word_keeps_what_a_tool_did(reason):
    answer = await run([calls("echo"), says("", stop=reason)], tool())
    assert (answer.text, answer.ending) == ("", "cut")


async def test_a_preamble_before_a_search_that_nothing_follows_is_told():
    """C142"""
    assert (await run([Line((text("One moment."), SEARCH, FOUND))])).ending == "nothing"
    assert (await run([Line((text("One moment."), SEARCH, FOUND, text("Sunny.")))])).ending == ""


async def test_arguments_that_are_not_whole_reach_no_tool():
    """C145"""
    ran = []

    async def note(context, given):
        ran.append(given.words)
        return "noted"

    both = writes("note", '{"words": "mi').and_(writes("note", '{"words": "tea"}'))
    answer = await run([both, says("Half of it.")], tool("note", note))
    assert ran == ["tea"]
    assert results(answer) == [(NOT_WHOLE, True), ("noted", False)]


async def test_a_paused_call_is_resumed_with_its_content_unchanged():
    """C66"""
    paused = Line((text("Searching."), SEARCH, FOUND), "pause_turn")
    model, streamed = Scripted(paused, says(" Sunny.")), StreamedText()
    answer = await run(model, tool(), streamed=streamed)
    assert model.requests[1].messages[-1] == {
        "role": "assistant",
        "content": [text("Searching."), SEARCH, FOUND],
    }
    assert answer.exchange == (("assistant", (text("Searching."), text(" Sunny."))),)
    assert answer.text == streamed.shown == "Searching. Sunny."


async def test_a_call_of_the_provider_is_never_answered_by_us():
    """C66: an unfinished server tool is dropped when the turn closes."""
    answer = await run([says("Hm.").and_(Line((SEARCH,), "end_turn"))])
    assert answer.exchange == (("assistant", (text("Hm."),)),)


async def test_resuming_has_an_end():
    paused = Line((text("Searching."), SEARCH, FOUND), "pause_turn")
    answer = await run(Scripted(otherwise=lambda _: paused), resumes=3)
    assert answer.ending == "limit"
    assert answer.exchange[0][1] == (text("Searching."),) * 4


async def test_the_question_follows_what_was_said_and_nothing_else_is_sent():
    """C74: the request is built from our Session alone."""
    model = Scripted(says("Yes."))
    await run(model, tool(), of=session(messages=dialogue(2)), asked="And now?")
    (request,) = model.requests
    assert [message["role"] for message in request.messages] == ["user", "assistant"] * 2 + ["user"]
    assert request.messages[-1]["content"][-1] == text("And now?")
    assert [spec["name"] for spec in request.tools] == ["echo"]


async def test_each_person_has_a_name_that_is_not_the_telegram_id():
    model = Scripted(otherwise=lambda _: says("Yes."))
    for owner in (ANNA, ANNA, BORIS):
        await agent(model).run(owner, session(), question(), StreamedText(), a_run())
    anna, again, boris = (request.end_user for request in model.requests)
    assert anna == again != boris
    assert str(ANNA.id) not in anna


async def test_the_session_is_left_as_it_was():
    """A turn that fails or is stopped must leave nothing behind, so only the commit changes a
    Session.
    """
    before, same = session(messages=dialogue(3)), session(messages=dialogue(3))
    await run([calls("echo"), says("Yes.")], tool(), of=before)
    assert before == same


async def test_stopping_in_mid_answer_ends_the_turn_at_once():
    streamed = StreamedText()
    running = asyncio.ensure_future(run([hangs("Once upon a")], streamed=streamed))
    async with asyncio.timeout(60):
        while streamed.shown != "Once upon a":  # noqa: ASYNC110 - a plain value of a fake
            await asyncio.sleep(0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert streamed.shown == "Once upon a"


async def test_stopping_while_tools_run_ends_all_of_them():
    """C72: nothing of the turn goes on after it was cancelled."""
    started, ended = [], []

    async def endless(context, given):
        started.append(given.words)
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(given.words)

    both = calls("wait", words="one").and_(calls("wait", words="two"))
    running = asyncio.ensure_future(run([both], tool("wait", endless)))
    async with asyncio.timeout(60):
        while len(started) < 2:  # noqa: ASYNC110 - a plain value of a fake
            await asyncio.sleep(0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert sorted(ended) == ["one", "two"]
