"""Sizes that no model takes end the start with one sentence that names the setting (C155)."""

from __future__ import annotations

import pytest

from bot.cli import FAULT
from tests.process.conftest import start

PROSE = "Be kind, be brief and answer in the language of the question. "
SMALL, LARGE = "claude-opus-4-5", "claude-sonnet-5-5"
ROLE = '[bore]\nname = "Bore"\nprompt = "{}"\n'


def of_size(folder, name, words, size):
    path = folder / name
    path.write_text(words * (size // len(words)), encoding="utf-8")
    return {"SYSTEM_PROMPT_FILE": str(path)}


def a_bore(folder):
    path = folder / "personas.toml"
    path.write_text(ROLE.format(PROSE * 1_500), encoding="utf-8")
    return {"PERSONAS_FILE": str(path)}


CASES = {
    "a system prompt of 800 KB": (
        lambda folder: of_size(folder, "system.txt", PROSE, 800_000),
        ("SYSTEM_PROMPT_FILE", LARGE),
    ),
    "one beyond a window": (
        lambda folder: {
            **of_size(folder, "system.txt", "Отвечай по-русски. ", 800_000),
            "MODEL": SMALL,
            "CONTEXT_TRIGGER_TOKENS": "1000000",
        },
        ("SYSTEM_PROMPT_FILE", SMALL),
    ),
    "a persona above the trigger": (a_bore, ("PERSONAS_FILE", LARGE)),
    "answers longer than a model writes": (
        lambda folder: {"MAX_TOKENS": "64001", "MODELS": SMALL},
        ("MAX_TOKENS", SMALL),
    ),
    "a trigger below what is in every prompt": (
        lambda folder: {
            **of_size(folder, "system.txt", PROSE, 16_000),
            "CONTEXT_TRIGGER_TOKENS": "4300",
            "CONTEXT_KEEP_MESSAGES": "2",
        },
        ("SYSTEM_PROMPT_FILE", "CONTEXT_TRIGGER_TOKENS", LARGE),
    ),
}


@pytest.mark.parametrize(("changes", "named"), CASES.values(), ids=CASES)
async def test_it_is_one_sentence(town, tmp_path, changes, named):
    running = await start(town.environ | {"MODEL": LARGE} | changes(tmp_path), "run")
    code = await running.ends()

    assert code == FAULT
    sentence = running.text.splitlines()[-1]
    assert "Traceback" not in running.text
    assert all(word in sentence for word in named)
    assert sentence.startswith(named[0])


async def test_what_just_fits_starts(town, tmp_path):
    changes = of_size(tmp_path, "system.txt", PROSE, 20_000) | {"MAX_TOKENS": "64000"}
    async with town.bot(**changes, MODELS=SMALL) as running:
        assert "is ready" in running.text
