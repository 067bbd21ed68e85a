"""C147: a model that is overloaded or out of reach for longer than the tries last is stood in for by
the next of MODELS, in the same turn; a summary model that is retired by MODEL.
"""

from __future__ import annotations

import json

import pytest

from bot.agent.scripted import illegal
from bot.standins.claude.answers import call
from bot.standins.claude.faults import Fault
from bot.standins.claude.script import is_chat
from bot.texts import text

FIRST, DEPUTY, THIRD = "claude-sonnet-5-5", "claude-haiku-5-5", "claude-opus-5-5"
PARIS = "The capital of France is Paris."
BY_DEPUTY = text("answered_by_deputy", "en", name=DEPUTY)


def asks(model):
    return lambda body: is_chat(body) and body["model"] == model


def models(state):
    return [body["model"] for body in state.requests]


def stored(state, person):
    messages = state.session(person.id)["messages"]
    assert illegal([*messages, {"role": "user", "content": [{"type": "text", "text": "x"}]}]) == ""
    assert "thinking" not in json.dumps(messages, default=str)
    return "".join(message["role"][0] for message in messages)


@pytest.mark.parametrize("fault", [Fault.overloaded(), Fault.bad_gateway(), Fault.dropped(after=1)])
async def test_the_next_model_answers_in_the_same_turn_and_the_first_is_asked_next_time(
    state, anna, fault
):
    state.claude.script(PARIS, "You are welcome.")
    state.claude.faults.next(*[fault] * 4, when=asks(FIRST))
    async with state.bot(MODELS=f"{DEPUTY},{THIRD}"):
        said = await state.ask(anna, "What is the capital of France?", answers=2)
        thanked = await state.ask(anna, "Thank you.")

    assert said.splitlines() == [PARIS, BY_DEPUTY]
    assert thanked == "You are welcome."
    assert models(state) == [FIRST] * 4 + [DEPUTY, FIRST]
    assert stored(state, anna) == "uaua"
    assert state.session(anna.id)["revision"] == 2


async def test_a_deputy_goes_on_after_a_tool_and_the_tool_is_not_run_again(state, anna):
    state.claude.script(call("set_plan", {"goal": "Go to Paris", "steps": ["book"]}), PARIS)
    state.claude.faults.next(
        *[Fault.overloaded()] * 4,
        when=lambda body: asks(FIRST)(body) and len(body["messages"]) > 1,
    )
    async with state.bot(MODELS=DEPUTY, THINKING="adaptive"):
        said = await state.ask(anna, "Plan a journey to Paris.", answers=2)

    assert said.splitlines() == [PARIS, BY_DEPUTY]
    assert models(state) == [FIRST] * 5 + [DEPUTY]
    assert "thinking" not in json.dumps(state.requests[-1]["messages"])
    assert stored(state, anna) == "uaua"


async def test_where_all_are_overloaded_it_is_said_once(state, anna):
    state.claude.faults.next(*[Fault.status(529, x_should_retry="false")] * 2)
    async with state.bot(MODELS=DEPUTY):
        said = await state.ask(anna, "What is the capital of France?")
    assert said == text("error_model_busy", "en")
    assert models(state) == [FIRST, DEPUTY]


@pytest.mark.parametrize("status", [400, 401, 403])
async def test_no_deputy_answers_what_the_first_refuses(state, anna, status, caplog):
    state.claude.faults.next(Fault.status(status))
    async with state.bot(MODELS=DEPUTY):
        said = await state.ask(anna, "What is the capital of France?")
    assert said == text("error_misconfigured", "en")
    assert models(state) == [FIRST]
    assert f"{FIRST} (MODEL, MODELS), try 1: status {status}" in caplog.text


async def test_a_retired_summary_model_is_stood_in_for_by_model(state, anna, caplog):
    def is_summary(body):
        return not is_chat(body)

    state.claude.faults.next(
        *[Fault.status(404, "model: gone")] * 9,
        when=lambda body: is_summary(body) and body["model"] == DEPUTY,
    )
    async with state.bot(
        SUMMARY_MODEL=DEPUTY, CONTEXT_TRIGGER_MESSAGES="6", CONTEXT_KEEP_MESSAGES="2"
    ):
        for words in ("My secret word is heron.", "How are you?", "Tell me about tea.", "Thanks."):
            await state.ask(anna, words)
        await state.eventually(lambda: state.session(anna.id)["summary"])

    assert state.session(anna.id)["summary"]["gaps"] == []
    assert f"SUMMARY_MODEL: the provider has no model {DEPUTY}; MODEL {FIRST}" in caplog.text
