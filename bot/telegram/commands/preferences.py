"""`/model` and `/persona`: what is on offer, as buttons, and what a press of one of them
chooses.

A button names the person it was made for and carries a mark of its option, since Telegram takes 64
bytes and the name of a model may be longer. Whoever else presses it, or asks for what is no longer
on offer, finds it expired.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Literal

from telegram import InlineKeyboardButton, InlineKeyboardMarkup

from bot.agent.preferences import NOBODY, PreferenceOptions
from bot.owner import Owner
from bot.ports import Preferences
from bot.texts import Language, text

Kind = Literal["model", "persona"]


def offered(choices: PreferenceOptions, kind: Kind, language: Language) -> Mapping[str, str]:
    """What can be chosen, and what it is called."""
    if kind == "model":
        return {name: name for name in choices.models}
    return {
        NOBODY: text("persona_none", language),
        **{key: one.name for key, one in choices.personas.items()},
    }


async def menu(
    choices: PreferenceOptions, kind: Kind, owner: Owner, language: Language
) -> tuple[str, InlineKeyboardMarkup | None]:
    """The question, and a button for each option, the present one ticked; a sentence where there is
    no choice.
    """
    options = offered(choices, kind, language)
    if len(options) == 1:
        return text(f"{kind}_only", language), None
    now = getattr(await choices.of(owner), kind)
    rows = [
        [
            InlineKeyboardButton(
                f"✓ {name}" if value == now else name,
                callback_data=f"{kind}:{owner.id}:{_mark(value)}",
            )
        ]
        for value, name in options.items()
    ]
    return text(f"{kind}_menu", language), InlineKeyboardMarkup(rows)


async def choose(
    choices: PreferenceOptions, kind: Kind, owner: Owner, token: str, language: Language
) -> str | None:
    """Keep what the pressed button stands for; what to say then, or None where it has expired for
    this person.
    """
    whose, _, mark = token.partition(":")
    options = offered(choices, kind, language)
    value = next((value for value in options if _mark(value) == mark), None)
    if value is None or whose != str(owner.id):
        return None
    wanted = Preferences(model=value) if kind == "model" else Preferences(persona=value)
    await choices.owners.prefer(owner, wanted)
    return text(f"{kind}_chosen", language, name=options[value])


def _mark(value: str) -> str:
    return sha256(value.encode()).hexdigest()[:12]
