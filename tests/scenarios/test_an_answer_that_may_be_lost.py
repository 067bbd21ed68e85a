"""C143: Telegram took the answer, perhaps: it is not sent twice unasked, and whoever it was for is
told at once, and may have it repeated.
"""

from __future__ import annotations

import pytest

from bot.standins.telegram.faults import Fault
from bot.texts import text

BUTTON = "Repeat the previous answer"
EXPIRED = "This button no longer works."


def labels(message):
    return [button.text for button in message.buttons]


async def pressed(state, person, **press):
    """Press, and wait until the press is answered; the sentence that pops up."""
    query = person.presses(BUTTON, **press)
    await state.telegram.until(lambda: query.answer is not None)
    return query.answer.get("text", "")


async def lose_an_answer(state, person, **where):
    """The answer to a question, which arrived, though the bot cannot know: it offers to repeat it."""
    state.telegram.faults.next("sendMessage", Fault.dropped("after"))
    said = await state.ask(person, "@emulated_bot My secret word is heron.", answers=2, **where)
    lost, offer = said.split("\n")
    assert offer == text("delivery_uncertain", "en")
    return lost


@pytest.mark.parametrize("driver", ["motor", "pymongo"])
async def test_the_next_answer_offers_to_repeat_it_also_from_another_process(state, anna, driver):
    async with state.bot(MONGODB_DRIVER=driver):
        state.telegram.faults.next("sendMessage", *[Fault.dropped("after")] * 2)
        lost = (await state.ask(anna, "My secret word is heron.", answers=2)).split("\n")[0]
    async with state.bot(MONGODB_DRIVER=driver):
        await state.ask(anna, "What else?")
        offering = anna.chat.answers[-1]
        assert labels(offering) == [BUTTON]
        assert await pressed(state, anna) == ""
        await state.telegram.until(lambda: anna.chat.answers[-1].text == lost)
        await state.ask(anna, "Thank you.")

    assert labels(anna.chat.answers[-1]) == []
    assert len(state.requests) == 3
    assert "uncertain" not in state.database["lanes"].find_one({})


async def test_it_can_be_repeated_after_new_and_not_after_reset(state, anna):
    """/new puts the dialogue aside, /reset erases it, and with it what could be repeated."""
    async with state.bot():
        lost = await lose_an_answer(state, anna)
        await state.ask(anna, "/new")
        assert await pressed(state, anna) == ""
        await state.telegram.until(lambda: anna.chat.answers[-1].text == lost)
    async with state.bot():
        await lose_an_answer(state, anna)
        await state.ask(anna, "/reset")
        offering = next(message for message in reversed(anna.chat.answers) if message.buttons)
        assert await pressed(state, anna, on=offering) == EXPIRED


async def test_nobody_elses_press_has_it_repeated(state, anna, boris):
    """In a group everybody sees the button."""
    group = state.telegram.supergroup(members=[anna, boris])
    async with state.bot():
        await lose_an_answer(state, anna, chat=group)
        said = len(group.answers)
        answered = await pressed(state, boris, chat=group)

        assert answered == "Эта кнопка больше не работает."
        assert len(group.answers) == said
        assert await pressed(state, anna, chat=group) == ""
        await state.telegram.until(lambda: len(group.answers) == said + 1)
    assert "heron" not in str([message.text for message in boris.chat.answers])


async def test_what_a_forged_press_names_is_no_authority(state, anna, boris):
    """Boris sends what Anna's button carries, from his own chat; Anna hers from a group, where
    others read along.
    """
    group = state.telegram.supergroup(members=[anna, boris])
    async with state.bot():
        await lose_an_answer(state, anna)
        [button] = anna.chat.answers[-1].buttons
        await state.ask(boris, "Hello there.")
        await state.ask(anna, "@emulated_bot Hello there.", chat=group)
        said = len(boris.chat.answers), len(group.answers)
        for forged in (
            button.data,
            "repeat:",
            "repeat:-1",
            "repeat:٣",
            f"repeat:{'9' * 40}",
            "repeat:{}",
            "help:1",
            "x",
        ):
            await pressed(state, boris, on=boris.chat.answers[-1], data=forged)
        assert await pressed(state, anna, on=group.answers[-1], data=button.data) == EXPIRED

    assert (len(boris.chat.answers), len(group.answers)) == said
