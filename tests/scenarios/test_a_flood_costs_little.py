"""C167: a flood of one person costs a bounded number of calls, whatever it is made of.

Counted, not timed: what reaches MongoDB, the model and Telegram beyond a person's share is nothing.
"""

from __future__ import annotations

import pytest

from bot.texts import text

FLOOD = 2_000
PER_MINUTE = 2
"""Twice that may come at once: four messages, or sixteen commands."""
COMMANDS = 16
MAX_COMMANDS_PER_ENTRY = 40
"""To MongoDB: a command takes about eight, a turn twenty; the rest is what idle workers ask."""
RESERVE = 2
"""Stops beyond those: a quarter of a minute's worth, at a quarter each."""


def helps(flooder, _):
    flooder.says("/help")


def stops(flooder, _):
    flooder.says("/stop")


def words(flooder, number):
    flooder.says(f"and {number}")


def presses(flooder, number):
    flooder.presses("", on=flooder.chat.answers[0], data=f"retry:{number}")


def calls(state, *methods):
    return sum(len(state.telegram.journal.of(method)) for method in methods)


@pytest.mark.parametrize(
    ("flood", "entries", "asked"),
    [(helps, COMMANDS, 0), (stops, COMMANDS + RESERVE, 0), (words, 4, 4), (presses, COMMANDS, 0)],
)
async def test_a_flood_costs_no_more_than_a_persons_share(
    state, anna, boris, commands, flood, entries, asked
):
    async with state.bot(MESSAGES_PER_MINUTE=str(PER_MINUTE)):
        await state.ask(anna, "/help")
        state.passes(minutes=10)
        commands.forget()
        before = state.database["inbox"].count_documents({"ownerId": anna.id})
        said, models = calls(state, "sendMessage", "answerCallbackQuery"), len(state.requests)
        for number in range(FLOOD):
            flood(anna, number)
        assert await state.ask(boris, "hello")
        await state.telegram.until(lambda: not state.telegram.state.updates.pending)
        stored = state.database["inbox"].count_documents({"ownerId": anna.id}) - before

        assert stored <= entries
        assert len(commands.sent) <= MAX_COMMANDS_PER_ENTRY * (entries + 2)
        assert len(state.requests) - models <= asked + 1
        assert calls(state, "sendMessage", "answerCallbackQuery") - said <= 2 * entries + 10


async def test_a_press_beyond_ones_share_is_answered_above_its_button(state, anna):
    """A button that nobody answers seems to work for ever."""
    async with state.bot(MESSAGES_PER_MINUTE="1"):
        await state.ask(anna, "/help")
        state.passes(minutes=10)
        for number in range(40):
            anna.presses("", on=anna.chat.answers[0], data=f"retry:{number}")
        toasts = lambda: [  # noqa: E731 - read again and again
            call.params.get("text") for call in state.telegram.journal.of("answerCallbackQuery")
        ]
        await state.telegram.until(lambda: text("too_fast", "en") in toasts(), seconds=20)


async def test_blocking_and_unblocking_at_once_is_written_once(state, anna, commands):
    async with state.bot():
        await state.ask(anna, "/help")
        commands.forget()
        for _ in range(50):
            anna.blocks()
            anna.unblocks()
        await state.telegram.until(lambda: not state.telegram.state.updates.pending)
        await state.ask(anna, "/help")
        assert len(commands.on(state.database.name, "owners")) <= 10
