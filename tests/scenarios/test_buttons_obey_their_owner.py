"""Whoever else presses a button in a group is answered at once, and nothing changes; its Owner's press works."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

import pytest

from bot.demo.claude.faults import Fault
from bot.demo.telegram.faults import Fault as TelegramFault
from bot.telegram.presses import DEEDS
from bot.texts import text

PERSONAS = '[pirate]\nname = "Pirate"\nprompt = "Answer as a pirate would."\n'
SETTINGS = {"MODEL": "claude-sonnet-5-5", "MODELS": "claude-opus-5-5", "CONTEXT_KEEP_MESSAGES": "4"}
ME = "@emulated_bot"


async def menu(world, anna, group, kind):
    await world.ask(anna, f"/{kind}{ME}", chat=group)


async def failed(world, anna, group):
    world.claude.faults.next(Fault.refusal())
    await world.ask(anna, f"{ME} something terrible", chat=group)


async def perhaps_lost(world, anna, group):
    world.telegram.faults.next("sendMessage", TelegramFault.dropped("after"))
    await world.ask(anna, f"{ME} one?", chat=group)
    await world.ask(anna, f"{ME} two?", chat=group)


async def corrected(world, anna, group):
    await world.ask(anna, f"{ME} tell me about herrings", chat=group)
    asked = next(message for message in reversed(group.shown) if not message.from_bot)
    before = len(group.answers)
    anna.edits(asked, f"{ME} tell me about herons")
    await world.telegram.until(lambda: len(group.answers) > before, seconds=20)


async def long_talk(world, anna, group):
    for number in range(4):
        await world.ask(anna, f"{ME} tell me something about number {number}", chat=group)
    await menu(world, anna, group, kind="context")


MADE: dict[str, Callable[..., Awaitable[None]]] = {
    "model": partial(menu, kind="model"),
    "persona": partial(menu, kind="persona"),
    "retry": failed,
    "repeat": perhaps_lost,
    "again": corrected,
    "compact": long_talk,
}


def stored(world):
    """All that a press could change; not the presses themselves."""
    kept = {name: list(world.database[name].find()) for name in ("sessions", "owners", "notes", "archive")}
    return kept, list(world.database["inbox"].find({"kind": {"$ne": "press"}}))


async def answered(world, query):
    await world.telegram.until(lambda: query.answer is not None, seconds=20)
    return query.answer.get("text", "")


def test_no_button_is_left_out():
    assert MADE.keys() == DEEDS.keys()


@pytest.fixture
def personas(tmp_path):
    file = tmp_path / "personas.toml"
    file.write_text(PERSONAS, encoding="utf-8")
    return {"PERSONAS_FILE": str(file)}


async def test_every_button_obeys_only_whom_it_was_made_for(world, anna, boris, personas):
    """C55, C61: also where Boris has a talk of his own in that group."""
    group = world.telegram.supergroup(members=[anna, boris])
    async with world.bot(**SETTINGS, **personas):
        await world.ask(boris, f"{ME} привет", chat=group)
        for kind, make in MADE.items():
            await make(world, anna, group)
            shown = group.answers[-1]
            button = shown.buttons[-1]
            assert button.data.startswith(f"{kind}:")
            await world.eventually(lambda: world.database["lanes"].count_documents({"ready": True}) == 0)
            before, said = stored(world), [message.text for message in group.answers]

            foreign = await answered(world, boris.presses("", on=shown, data=button.data))
            assert (kind, foreign) == (kind, text("button_expired", "ru"))
            assert (stored(world), [message.text for message in group.answers]) == (before, said)

            own = await answered(world, anna.presses("", on=shown, data=button.data))
            assert (kind, own) == (kind, "")
            await world.eventually(lambda: world.database["lanes"].count_documents({"ready": True}) == 0)
            assert [message.text for message in group.answers] != said
