"""`/model` and `/persona`: offer the options as buttons, and keep the one that is pressed.

A button names the person it was made for and carries a hash of its option, since Telegram takes 64
bytes and the name of a model may be longer. For anyone else, and for an option that is no longer
on offer, it has expired.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Literal

from telegram import InlineKeyboardButton, InlineKeyboardMarkup

from bot.agent.preferences import NOBODY, PreferenceOptions
from bot.ports import Preferences
from bot.telegram.commands.invocation import Effect, Invocation, Press
from bot.texts import Language, text

Kind = Literal["model", "persona"]


async def show_menu(kind: Kind, choices: PreferenceOptions, call: Invocation) -> None:
    """Offer a button for each option, the present one ticked; say so where there is no choice."""
    options = _options(choices, kind, call.language)
    if len(options) == 1:
        await call.reply.notice(f"{kind}_only")
        return
    now = getattr(await choices.of(call.lane.owner), kind)
    rows = [
        [
            InlineKeyboardButton(
                f"✓ {name}" if value == now else name,
                callback_data=f"{kind}:{call.lane.owner.id}:{_mark(value)}",
            )
        ]
        for value, name in options.items()
    ]
    await call.reply.say(text(f"{kind}_menu", call.language), InlineKeyboardMarkup(rows))


async def choose(kind: Kind, choices: PreferenceOptions, press: Press) -> Effect | None:
    """Keep the option of the pressed button, if it was made for whoever pressed it."""
    owner_id, _, mark = press.token.partition(":")
    owner, options = press.lane.owner, _options(choices, kind, press.language)
    value = next((value for value in options if _mark(value) == mark), None)
    if value is None or owner_id != str(owner.id):
        return None
    wanted = Preferences(model=value) if kind == "model" else Preferences(persona=value)
    await choices.owners.prefer(owner, wanted)
    return Effect(instead=text(f"{kind}_chosen", press.language, name=options[value]))


def _options(choices: PreferenceOptions, kind: Kind, language: Language) -> Mapping[str, str]:
    """The values that can be chosen, and their names."""
    if kind == "model":
        return {name: name for name in choices.models}
    return {
        NOBODY: text("persona_none", language),
        **{key: one.name for key, one in choices.personas.items()},
    }


def _mark(value: str) -> str:
    return sha256(value.encode()).hexdigest()[:12]
