"""Whoever else presses a button in a group is answered at once, and nothing changes; its Owner's
press works.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

import pytest

from bot.standins.claude.faults import Fault
from bot.standins.telegram.faults import Fault as TelegramFault
from bot.telegram.callbacks import CALLBACKS
from bot.texts import text

PERSONAS = '[pirate]\nname = "Pirate"\nprompt = "Answer as a pirate would."\n'
SETTINGS = {"MODEL": "claude-sonnet-5-5", "MODELS": "claude-opus-5-5", "CONTEXT_KEEP_MESSAGES": "4"}
ME = "@emulated_bot"


async def menu(state, anna, group, kind):
    await state.ask(anna, f"/{kind}{ME}", chat=group)


async def listed(state, anna, group):
    for number in range(10):
        await state.ask(anna, f"{ME} about number {number}", chat=group)
        await state.ask(anna, f"/new{ME}", chat=group)
    await state.ask(anna, f"/sessions{ME}", chat=group)


async def started_afresh(state, anna, group):
    await state.ask(anna, f"{ME} tell me about herons", chat=group)
    await state.ask(anna, f"/new{ME}", chat=group)


async def asked_to_delete(state, anna, group):
    await state.ask(anna, f"/sessions{ME}", chat=group)
    list_shown = group.answers[-1]
    anna.presses(text("button_delete", "en"), on=list_shown)
    await state.telegram.until(
        lambda: group.answers[-1].buttons[0].text == text("button_erase", "en")
    )


async def failed(state, anna, group):
    state.claude.faults.next(Fault.refusal())
    await state.ask(anna, f"{ME} something terrible", chat=group)


async def perhaps_lost(state, anna, group):
    state.telegram.faults.next("sendMessage", TelegramFault.dropped("after"))
    await state.ask(anna, f"{ME} one?", chat=group)
    await state.ask(anna, f"{ME} two?", chat=group)


async def corrected(state, anna, group):
    await state.ask(anna, f"{ME} tell me about herrings", chat=group)
    asked = next(message for message in reversed(group.shown) if not message.from_bot)
    before = len(group.answers)
    anna.edits(asked, f"{ME} tell me about herons")
    await state.telegram.until(lambda: len(group.answers) > before)


async def long_talk(state, anna, group):
    for number in range(4):
        await state.ask(anna, f"{ME} tell me something about number {number}", chat=group)
    await menu(state, anna, group, kind="context")


MADE: dict[str, Callable[..., Awaitable[None]]] = {
    "model": partial(menu, kind="model"),
    "persona": partial(menu, kind="persona"),
    "retry": failed,
    "repeat": perhaps_lost,
    "again": corrected,
    "compact": long_talk,
    "page": listed,
    "rename": partial(menu, kind="sessions"),
    "delete": partial(menu, kind="sessions"),
    "erase": asked_to_delete,
    "open": partial(menu, kind="sessions"),
    "take": started_afresh,
}


def stored(state):
    """All that a press could change; not the presses themselves."""
    kept = {
        name: list(state.database[name].find())
        for name in ("sessions", "owners", "notes", "archive")
    }
    return kept, list(state.database["inbox"].find({"kind": {"$ne": "press"}}))


async def answered(state, query):
    await state.telegram.until(lambda: query.answer is not None)
    return query.answer.get("text", "")


def test_no_button_is_left_out():
    assert MADE.keys() == CALLBACKS.keys()


@pytest.fixture
def personas(tmp_path):
    file = tmp_path / "personas.toml"
    file.write_text(PERSONAS, encoding="utf-8")
    return {"PERSONAS_FILE": str(file)}


async def test_every_button_obeys_only_whom_it_was_made_for(state, anna, boris, personas):
    """C55, C61: also where Boris has a talk of his own in that group."""
    group = state.telegram.supergroup(members=[anna, boris])
    async with state.bot(**SETTINGS, **personas):
        await state.ask(boris, f"{ME} привет", chat=group)
        for kind, make in MADE.items():
            await make(state, anna, group)
            shown = group.answers[-1]
            button = next(one for one in shown.buttons[::-1] if one.data.startswith(f"{kind}:"))
            await state.eventually(
                lambda: state.database["lanes"].count_documents({"ready": True}) == 0
            )
            before, said = stored(state), [message.text for message in group.answers]

            foreign = await answered(state, boris.presses("", on=shown, data=button.data))
            assert (kind, foreign) == (kind, text("button_expired", "ru"))
            assert (stored(state), [message.text for message in group.answers]) == (before, said)

            own = await answered(state, anna.presses("", on=shown, data=button.data))
            assert (kind, own) == (kind, "")
            await state.eventually(
                lambda: state.database["lanes"].count_documents({"ready": True}) == 0
            )
            assert [message.text for message in group.answers] != said
