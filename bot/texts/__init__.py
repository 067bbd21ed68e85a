"""The bot's own sentences in every language that it speaks.

One JSON file a language, all with the same keys and placeholders. A sentence is plain text: it is
sent literally, so a value put into it can never turn into markup.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from datetime import timedelta
from functools import cache
from importlib.resources import files
from typing import Literal, get_args

Language = Literal["en", "ru"]
LANGUAGES: tuple[Language, ...] = get_args(Language)

_STEPS = ((7_200, 3_600), (50, 60))
"""Spans longer than so many seconds are told in steps of so many."""
_UNITS = (("days", 86_400), ("hours", 3_600), ("minutes", 60), ("seconds", 1))


def text(key: str, language: Language, /, **values: str) -> str:
    """Return the sentence of this key with its placeholders filled."""
    return table(language)[key].format(**values)


@cache
def table(language: Language) -> Mapping[str, str]:
    """Return all sentences of one language."""
    loaded: Mapping[str, str] = json.loads(
        files(__name__).joinpath(f"{language}.json").read_text(encoding="utf-8")
    )
    return loaded


def language_of(code: str | None) -> Language:
    """Return the language for a Telegram client set to `code` (such as "ru-RU"); English by
    default.
    """
    spoken = (code or "").lower().partition("-")[0]
    return next((language for language in LANGUAGES if language == spoken), "en")


def duration(span: timedelta, language: Language) -> str:
    """Return `span` in words, in the largest unit that divides it ("30 minutes"), to follow "after"
    or "через".
    """
    seconds = int(span.total_seconds())
    unit, size = next(
        (unit for unit in _UNITS if seconds % unit[1] == 0 and seconds >= unit[1]), _UNITS[-1]
    )
    return counted(unit, seconds // size, language)


def counted(unit: str, count: int, language: Language) -> str:
    """Return the number with its unit in the form that the language asks for ("2 messages")."""
    forms = text(f"unit_{unit}", language).split("|")
    return f"{figure(count)} {forms[_FORM[language](count)]}"


def ago(span: timedelta, language: Language) -> str:
    """Return how long ago something was, in its largest unit, rounded down ("3 hours ago")."""
    seconds = int(span.total_seconds())
    for unit, size in _UNITS[:-1]:
        if seconds >= size:
            return text("ago", language, span=counted(unit, seconds // size, language))
    return text("ago_moments", language)


def rounded(span: timedelta) -> timedelta:
    """Round `span` up to a number of seconds, minutes or hours that reads well."""
    size = next((size for minimum, size in _STEPS if span.total_seconds() > minimum), 10)
    return timedelta(seconds=math.ceil(span.total_seconds() / size) * size)


def figure(count: int) -> str:
    """Return the number with its thousands separated as every language reads it."""
    return f"{count:,}".replace(",", "\u202f")


def _english_form(count: int) -> int:
    return int(count != 1)


def _russian_form(count: int) -> int:
    """1, 21 минуту; 2, 24 минуты; 5, 11, 30 минут."""
    return 2 if count % 100 in range(11, 15) else {1: 0, 2: 1, 3: 1, 4: 1}.get(count % 10, 2)


_FORM = {"en": _english_form, "ru": _russian_form}
