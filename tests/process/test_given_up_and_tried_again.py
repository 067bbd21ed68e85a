"""An admin names the messages that were given up, and has one tried again by the bot that runs."""

from __future__ import annotations

from bot.standins.claude.faults import Fault
from tests.process.conftest import start


async def dead(town, *arguments):
    """`bot dead`; its exit code and what it printed."""
    process = await start(town.environ, "dead", *arguments)
    return await process.ends(), process.text


async def test_a_message_that_failed_is_named_and_tried_again(town):
    anna = town.telegram.person(1001, "Anna")
    town.claude.faults.next(Fault.refusal())
    async with town.bot():
        refused = await town.ask(anna, "My planted word is heron.")
        code, told = await dead(town)
        update_id = told.split()[0]
        assert (code, told.split()[3:]) == (0, ["failed", "content", "1001:1001:"])
        assert "planted" not in told

        before = len(anna.chat.answers)
        assert await dead(town, "--requeue", update_id, "7") == (
            1,
            f"{update_id} waits to be handled again.\n7 is none that was given up.\n",
        )
        await town.telegram.until(lambda: len(anna.chat.answers) > before)

    assert anna.chat.answers[-1].text != refused
    assert await dead(town) == (0, "")
