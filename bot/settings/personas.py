"""Personas: roles an operator offers, in a TOML file, of which each person may choose one.

    [teacher]
    name = "Patient teacher"
    prompt = "Explain step by step and end with one question that tests understanding."

The prompt is added to the system prompt; it replaces none of its rules.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator

_KEY = re.compile(r"[a-z0-9_-]{1,32}", re.ASCII)
_NAME_CHARS = 40


@dataclass(frozen=True, slots=True)
class Persona:
    """A role: what people see of it, and what the model is told."""

    name: str
    prompt: str


def _personas(value: object) -> object:
    return _read(Path(value)) if isinstance(value, str) else value


def _read(path: Path) -> Mapping[str, Persona]:
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
        tables = {}
    if not tables or not all(_KEY.fullmatch(key) for key in tables):
        raise ValueError(
            "must name a TOML file with a table for each persona: [a-z0-9_-], at most 32 characters"
        )
    return {key: _persona(table) for key, table in tables.items()}


def _persona(table: object) -> Persona:
    match table:
        case {"name": str(name), "prompt": str(prompt), **others} if not others:
            persona = Persona(name.strip(), prompt.strip())
        case _:
            persona = Persona("", "")
    if not persona.name or not persona.prompt:
        raise ValueError('holds a persona that is not exactly name = "…" and prompt = "…"')
    if len(persona.name) > _NAME_CHARS:
        raise ValueError(f"holds a persona whose name is longer than {_NAME_CHARS} characters")
    return persona


Personas = Annotated[Mapping[str, Persona], BeforeValidator(_personas)]
