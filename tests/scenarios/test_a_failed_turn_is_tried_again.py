"""A turn that failed leaves a button: it is tried again once, whoever taps it how often, by any process."""

from __future__ import annotations

import pytest

from bot.demo.claude.faults import Fault
from bot.texts import text

BUTTON = "Try again"
EXPIRED = text("button_expired", "en")


def labels(message):
    return [button.text for button in message.buttons]


async def answered(world, query):
    await world.telegram.until(lambda: query.answer is not None, seconds=10)
    return query.answer.get("text", "")


async def tap(world, person, button=BUTTON, **press):
    return await answered(world, person.presses(button, **press))


@pytest.mark.parametrize("driver", ["motor", "pymongo"])
async def test_the_button_has_the_question_answered_also_after_a_restart(world, anna, driver):
    world.claude.faults.next(Fault.refusal())
    async with world.bot(MONGODB_DRIVER=driver):
        assert await world.ask(anna, "My secret word is heron.") == text("error_refused", "en")
    failed = anna.chat.answers[-1]
    assert labels(failed) == [BUTTON]
    async with world.bot(MONGODB_DRIVER=driver):
        assert await tap(world, anna) == ""
        await world.telegram.until(lambda: len(anna.chat.answers) == 2)
        await world.ask(anna, "What is my secret word?")

    assert (anna.chat.answers[0].text, anna.chat.answers[0].buttons) == (text("retrying", "en"), ())
    assert "heron" in anna.chat.answers[-1].text
    assert [message["content"][0]["text"] for message in world.session(anna.id)["messages"][::2]] == [
        "My secret word is heron.",
        "What is my secret word?",
    ]


async def test_two_taps_give_one_turn(world, anna):
    world.claude.faults.next(Fault.refusal())
    async with world.bot():
        await world.ask(anna, "Tell me about herons.")
        shown = anna.chat.answers[-1]
        taps = [anna.presses(BUTTON, on=shown) for _ in range(3)]
        said = [await answered(world, query) for query in taps]
        await world.ask(anna, "Thank you.", answers=1)

    assert sorted(said) == ["", EXPIRED, EXPIRED]
    assert world.session(anna.id)["revision"] == 2
    assert len(world.requests) == 3


async def test_a_turn_may_fail_again_and_leaves_one_button_each_time(world, anna):
    world.claude.faults.next(Fault.refusal(), Fault.wordless())
    async with world.bot():
        await world.ask(anna, "Tell me about herons.")
        await tap(world, anna)
        await world.telegram.until(lambda: len(anna.chat.answers) == 2)
        first, second = anna.chat.answers
        assert (labels(first), labels(second), second.text) == ([], [BUTTON], text("error_empty_answer", "en"))
        await tap(world, anna)
        await world.telegram.until(lambda: len(anna.chat.answers) == 3)
    assert labels(anna.chat.answers[-1]) == []


async def test_what_a_button_of_another_carries_is_no_authority(world, anna, boris):
    world.claude.faults.next(Fault.refusal())
    async with world.bot():
        await world.ask(anna, "My secret word is heron.")
        [button] = anna.chat.answers[-1].buttons
        await world.ask(boris, "Hello there.")
        said = len(boris.chat.answers)
        for forged in (button.data, "retry:", "retry:-1", f"retry:{'9' * 40}"):
            assert await tap(world, boris, on=boris.chat.answers[-1], data=forged) == text("button_expired", "ru")

    assert len(boris.chat.answers) == said
    assert world.database["inbox"].find_one({"ownerId": anna.id})["state"] == "failed"


async def test_a_command_that_overtook_it_does_not_stop_it_from_being_tried(world, anna):
    """The failed question is asked in the Session that is active when it is tried again."""
    world.claude.faults.next(Fault.refusal())
    async with world.bot():
        await world.ask(anna, "My secret word is heron.")
        await world.ask(anna, "/new")
        await tap(world, anna)
        await world.telegram.until(lambda: len(anna.chat.answers) == 3)
    assert len(world.session(anna.id)["messages"]) == 2


@pytest.mark.parametrize(
    ("asked", "english", "russian"),
    [
        (171, "It can answer again in 3 minutes.", "Она снова сможет ответить через 3 минуты."),
        (4000, "It can answer again in 67 minutes.", "Она снова сможет ответить через 67 минут."),
        (86_000, "It can answer again in 1 day.", "Она снова сможет ответить через 1 день."),
    ],
    ids=["minutes", "an hour", "a day"],
)
async def test_a_wait_beyond_the_turns_end_is_told_as_a_time(world, anna, boris, asked, english, russian):
    """Nobody waits for it: the provider is asked once, and the person knows when to come back."""
    world.claude.faults.next(Fault.rate_limited(asked), Fault.rate_limited(asked))
    async with world.bot(TURN_SECONDS="120"):
        assert (await world.ask(anna, "Hello")).endswith(english)
        assert (await world.ask(boris, "Привет")).endswith(russian)
    assert len(world.requests) == 2
