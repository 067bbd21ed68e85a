"""Every row of the failure table and of the stop-reason table, through the real SDK and the whole
bot.

For each: what the person reads, how often the model was asked, what the Session holds; and that it
holds nothing by which the provider would refuse the next message, which is answered (the stand-in
refuses what the real one refuses).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from bot.agent.scripted import illegal
from bot.standins.claude.answers import call
from bot.standins.claude.faults import Fault, Reply
from bot.standins.claude.script import is_chat
from bot.texts import text

PARIS = "The capital of France is Paris."
BUTTON = "Try again"
SECRET = "sk-ant-planted-secret"


def said(*keys):
    return [text(key, "en") for key in keys]


@dataclass(frozen=True)
class Row:
    """What happens to the first calls of a turn, and what comes of it."""

    faults: tuple[Fault, ...] = ()
    shown: tuple[str, ...] = (PARIS,)
    calls: int = 1
    roles: str = "ua"
    """Of the messages stored: user, assistant; empty where nothing of the turn stays."""
    script: tuple[Any, ...] = (PARIS,)
    settings: Mapping[str, str] = field(default_factory=dict)


def passing(*faults):
    """Repeated; the person sees one answer."""
    return Row(faults, calls=len(faults) + 1)


def silent(fault):
    """As `passing`, and the bot does not wait long for a word."""
    return replace(passing(fault), settings={"SILENCE_SECONDS": "1"})


def failing(key, *faults, calls=1):
    """Told in words, and nothing is stored."""
    return Row(faults, (text(key, "en"),), calls, "")


def ended(fault, *notices):
    """An answer, perhaps with a notice."""
    return Row((fault,), (PARIS, *said(*notices)))


def coded(status, kind, code=None):
    error = {"type": kind, "message": f"do not quote {SECRET}", "details": {"error_code": code}}
    return Fault(kind, Reply(status, json.dumps({"type": "error", "error": error})))


FAILURES = {
    "429": passing(Fault.rate_limited()),
    "429 with a short wait": passing(Fault.rate_limited(1)),
    "529": passing(Fault.overloaded()),
    "529 three times": passing(Fault.overloaded(), Fault.overloaded(), Fault.overloaded()),
    "529 for ever": failing("error_model_busy", *[Fault.overloaded()] * 4, calls=4),
    "500": passing(Fault.server_error()),
    "502 with a web page": passing(Fault.bad_gateway()),
    "503 while a local model loads": passing(Fault.local_loading()),
    "503 that will not pass": failing(
        "error_model_busy", Fault.status(503, x_should_retry="false")
    ),
    "408": passing(Fault.status(408)),
    "409": passing(Fault.status(409)),
    "a 400 that may be repeated": passing(Fault.status(400, x_should_retry="true")),
    "an error as the first event": passing(Fault.error_event()),
    "an error in mid-stream": passing(Fault.error_event(after=2)),
    "another error in mid-stream": passing(Fault.error_event("api_error", after=1)),
    "an unknown error in mid-stream": passing(Fault.error_event("mystery_error", after=1)),
    "no headers": silent(Fault.silence()),
    "a dropped connection": passing(Fault.dropped()),
    "a stall": silent(Fault.stalled()),
    "pings and nothing else": silent(Fault.pinging()),
    "an early end": passing(Fault.ends_early()),
    "an empty stream": passing(Fault.empty()),
    "a captive portal": passing(Fault.portal()),
    "a captive portal for ever": failing("error_model_busy", *[Fault.portal()] * 4, calls=4),
    "broken JSON in an event": passing(Fault.bad_event_json()),
    "a wrong block index": passing(Fault.wrong_index()),
    "a prompt too long in a stream": failing(
        "error_too_long", Fault.error_event("request_too_large")
    ),
    "a prompt too long": failing("error_too_long", Fault.too_long()),
    "a body too large": failing("error_too_long", Fault.too_large()),
    "a local model's overflow": failing("error_too_long", Fault.local_overflow()),
    "an invalid request": failing(
        "error_misconfigured", Fault.status(400, f"messages.0: {SECRET}")
    ),
    "an invalid request in a stream": failing(
        "error_misconfigured", Fault.error_event("invalid_request_error")
    ),
    "422": failing("error_misconfigured", coded(422, "invalid_request_error")),
    "a wrong key": failing("error_misconfigured", Fault.status(401, SECRET)),
    "an unpaid bill": failing("error_misconfigured", Fault.status(402)),
    "no permission": failing("error_misconfigured", Fault.status(403)),
    "an unknown model": failing("error_misconfigured", Fault.status(404, "model: nosuch")),
    "a spent limit": failing("error_misconfigured", Fault.spent()),
    "a spent contract": failing("error_misconfigured", Fault.spent("contract_spend_limit_reached")),
    "a spent ramp": failing(
        "error_misconfigured", coded(429, "rate_limit_error", "ramp_limit_exceeded")
    ),
}

PLAN = call("set_plan", {"goal": "Go to Paris", "steps": ["book", "pack"]})


def called(*faults):
    """One tool is run, once."""
    return Row(faults, calls=len(faults) + 2, roles="uaua", script=(PLAN, PARIS))


def paused(times, *notices):
    """Resumed a few times; each call has said the same."""
    said_so_far = PARIS * (times + (not notices))
    return Row(
        (Fault.paused(),) * times,
        (said_so_far, *said(*notices)),
        times + (not notices),
        script=(PARIS,) * (times + 1),
    )


STOPS = {
    "end_turn": Row(),
    "stop_sequence": ended(Fault.stopping("stop_sequence")),
    "tool_use": called(),
    "tool_use without a call": ended(Fault.stopping("tool_use")),
    "tool_use in broken JSON": replace(
        called(), faults=(Fault.garbled('{"goal": "Go to Paris", "steps": ["bo'),)
    ),
    "tool_use that ends early": called(Fault.ends_in_call()),
    "max_tokens": ended(Fault.stopping("max_tokens"), "ending_cut"),
    "max_tokens in a call": ended(Fault.cut_in_call(), "ending_cut"),
    "pause_turn": paused(1),
    "pause_turn for ever": paused(4, "ending_limit"),
    "refusal": failing("error_refused", Fault.refusal()),
    "the window exceeded": ended(Fault.window_exceeded(), "ending_cut"),
    "compaction": ended(Fault.stopping("compaction")),
    "an unknown reason": ended(Fault.stopping("contemplation")),
    "an unknown block": ended(Fault.unknown_block()),
    "no message_stop": ended(Fault.no_message_stop()),
    "no words at all": failing("error_empty_answer", Fault.wordless()),
}
ROWS = FAILURES | STOPS


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
async def test_a_call_ends(state, anna, row, caplog):
    """C18, C64, C65, C66, C67, C68, C69, C73, C75, C122.

    C82: nor does any turn depend on the provider's count of tokens, which may fail: it is never
    asked for.
    """
    state.claude.script(*row.script)
    state.claude.faults.next(*row.faults)
    async with state.bot(**row.settings):
        shown = await state.ask(anna, "What is the capital of France?", answers=len(row.shown))
        [*_, last] = anna.chat.answers
        asked = len(state.requests)
        messages = [
            message for session in state.sessions(anna.id) for message in session["messages"]
        ]
        await state.ask(anna, "My secret word is heron.")
        said_next = len(state.requests) - asked

    assert shown == "\n".join(row.shown)
    assert asked == row.calls
    assert said_next >= 1
    assert "".join(message["role"][0] for message in messages) == row.roles
    assert (
        illegal([*messages, *({"role": "user", "content": [{"type": "text", "text": "next"}]},)])
        == ""
    )
    assert [button.text for button in last.buttons] == ([] if row.roles else [BUTTON])
    assert SECRET not in caplog.text
    assert [
        one.path for one in state.claude.journal.exchanges if one.path.endswith("/count_tokens")
    ] == []


@pytest.mark.parametrize(
    "fault", [Fault.too_long(), Fault.too_large(), Fault.local_overflow()], ids=lambda one: one.name
)
async def test_what_grew_too_long_is_summarised_and_asked_once_more(state, anna, fault):
    async with state.bot():
        for words in ("My secret word is heron.", "How are you?", "Tell me about tea."):
            await state.ask(anna, words)
        asked = len(state.requests)
        state.claude.faults.next(fault, when=is_chat)
        shown = await state.ask(anna, "What is my secret word?")
        calls = len(state.requests) - asked

    held = state.session(anna.id)
    assert "heron" in shown
    assert calls == 2
    assert (held["summary"]["epoch"], held["summary"]["gaps"], len(held["messages"])) == (1, [], 2)
