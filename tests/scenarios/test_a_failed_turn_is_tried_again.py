"""A turn that failed leaves a button: it is tried again once, whoever taps it how often, by any
process.
"""

from __future__ import annotations

import pytest

from bot.standins.claude.faults import Fault
from bot.texts import text

BUTTON = "Try again"
EXPIRED = text("button_expired", "en")


def labels(message):
    return [button.text for button in message.buttons]


async def answered(state, query):
    await state.telegram.until(lambda: query.answer is not None)
    return query.answer.get("text", "")


async def tap(state, person, button=BUTTON, **press):
    return await answered(state, person.presses(button, **press))


@pytest.mark.parametrize("driver", ["motor", "pymongo"])
async def test_the_button_has_the_question_answered_also_after_a_restart(state, anna, driver):
    state.claude.faults.next(Fault.refusal())
    async with state.bot(MONGODB_DRIVER=driver):
        assert await state.ask(anna, "My secret word is heron.") == text("error_refused", "en")
    failed = anna.chat.answers[-1]
    assert labels(failed) == [BUTTON]
    async with state.bot(MONGODB_DRIVER=driver):
        assert await tap(state, anna) == ""
        await state.telegram.until(lambda: len(anna.chat.answers) == 2)
        await state.ask(anna, "What is my secret word?")

    assert (anna.chat.answers[0].text, anna.chat.answers[0].buttons) == (text("retrying", "en"), ())
    assert "heron" in anna.chat.answers[-1].text
    assert [
        message["content"][0]["text"] for message in state.session(anna.id)["messages"][::2]
    ] == [
        "My secret word is heron.",
        "What is my secret word?",
    ]


async def test_two_taps_give_one_turn(state, anna):
    state.claude.faults.next(Fault.refusal())
    async with state.bot():
        await state.ask(anna, "Tell me about herons.")
        shown = anna.chat.answers[-1]
        taps = [anna.presses(BUTTON, on=shown) for _ in range(3)]
        said = [await answered(state, query) for query in taps]
        await state.ask(anna, "Thank you.", answers=1)

    assert sorted(said) == ["", EXPIRED, EXPIRED]
    assert state.session(anna.id)["revision"] == 2
    assert len(state.requests) == 3


async def test_a_turn_may_fail_again_and_leaves_one_button_each_time(state, anna):
    state.claude.faults.next(Fault.refusal(), Fault.wordless())
    async with state.bot():
        await state.ask(anna, "Tell me about herons.")
        await tap(state, anna)
        await state.telegram.until(lambda: len(anna.chat.answers) == 2)
        first, second = anna.chat.answers
        assert (labels(first), labels(second), second.text) == (
            [],
            [BUTTON],
            text("error_empty_answer", "en"),
        )
        await tap(state, anna)
        await state.telegram.until(lambda: len(anna.chat.answers) == 3)
    assert labels(anna.chat.answers[-1]) == []


async def test_what_a_button_of_another_carries_is_no_authority(state, anna, boris):
    state.claude.faults.next(Fault.refusal())
    async with state.bot():
        await state.ask(anna, "My secret word is heron.")
        [button] = anna.chat.answers[-1].buttons
        await state.ask(boris, "Hello there.")
        said = len(boris.chat.answers)
        for forged in (button.data, "retry:", "retry:-1", f"retry:{'9' * 40}"):
            assert await tap(state, boris, on=boris.chat.answers[-1], data=forged) == text(
                "button_expired", "ru"
            )

    assert len(boris.chat.answers) == said
    assert state.database["inbox"].find_one({"ownerId": anna.id})["state"] == "failed"


async def test_a_command_that_overtook_it_does_not_stop_it_from_being_tried(state, anna):
    """The failed question is asked in the Session that is active when it is tried again."""
    state.claude.faults.next(Fault.refusal())
    async with state.bot():
        await state.ask(anna, "My secret word is heron.")
        await state.ask(anna, "/new")
        await tap(state, anna)
        await state.telegram.until(lambda: len(anna.chat.answers) == 3)
    assert len(state.session(anna.id)["messages"]) == 2


@pytest.mark.parametrize(
    ("asked", "english", "russian"),
    [
        (171, "It can answer again in 3 minutes.", "Она снова сможет ответить через 3 минуты."),
        (3500, "It can answer again in 59 minutes.", "Она снова сможет ответить через 59 минут."),
    ],
    ids=["minutes", "an hour"],
)
async def test_a_wait_beyond_the_turns_end_is_told_as_a_time(
    state, anna, boris, asked, english, russian
):
    """Nobody waits for it: the provider is asked once, and the person knows when to come back."""
    state.claude.faults.next(Fault.rate_limited(asked), Fault.rate_limited(asked))
    async with state.bot(TURN_SECONDS="120"):
        assert (await state.ask(anna, "Hello")).endswith(english)
        assert (await state.ask(boris, "Привет")).endswith(russian)
    assert len(state.requests) == 2


@pytest.mark.parametrize("asked", [3601, 86_000, 1e300, -5])
async def test_a_wait_that_nobody_can_mean_is_replaced_by_a_pause_of_our_own(state, anna, asked):
    """C150."""
    state.claude.faults.next(Fault.rate_limited(asked))
    async with state.bot(TURN_SECONDS="120"):
        assert "listening" in await state.ask(anna, "Hello")
    assert len(state.requests) == 2
