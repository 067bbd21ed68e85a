"""The service remembers, the process does not: any process can answer the next message."""

from __future__ import annotations

import pytest

DRIVERS = ["motor", "pymongo"]


@pytest.mark.parametrize("driver", DRIVERS)
async def test_a_new_process_for_every_message_sees_the_whole_talk(state, anna, driver):
    words = [
        "My name is Anna.",
        "My secret word is heron.",
        "What is my name?",
        "What is my secret word?",
    ]
    answers = []
    for line in words:
        async with state.bot(MONGODB_DRIVER=driver):
            answers.append(await state.ask(anna, line))

    assert "Anna" in answers[2]
    assert "heron" in answers[3]
    [session] = state.sessions(anna.id)
    assert session["revision"] == len(words)
    assert [message["seq"] for message in session["messages"]] == list(range(2 * len(words)))


async def test_notes_and_plan_outlive_the_process(state, anna):
    """C9: the next process knows nothing but what is in the database, and goes on at the right
    step.
    """
    async with state.bot():
        await state.ask(anna, "Remember that my sister lives in Riga.")
        await state.ask(anna, "Plan a trip: book a flight, find a hotel, pack.")
        await state.ask(anna, "Step 1 is done.")
    async with state.bot():
        answer = await state.ask(anna, "What do you remember?")
        await state.ask(anna, "Step 2 is done.")

    assert "Riga" in answer
    task = state.session(anna.id)["task"]
    assert [step["status"] for step in task["steps"]] == ["done", "done", "open"]


async def test_new_is_remembered_across_a_restart(state, anna):
    """C6: after /new and a restart, nothing of the old talk is in the request."""
    async with state.bot():
        await state.ask(anna, "My secret word is heron.")
        await state.ask(anna, "/new")
    async with state.bot():
        answer = await state.ask(anna, "What is my secret word?")

    assert "heron" not in answer
    assert "heron" not in str(state.requests[-1])


async def test_restarts_answer_nothing_twice(state, anna):
    """C3"""
    async with state.bot():
        await state.ask(anna, "Hello there")
    for _ in range(3):
        async with state.bot():
            pass

    assert len(anna.chat.answers) == 1
    assert state.session(anna.id)["revision"] == 1
