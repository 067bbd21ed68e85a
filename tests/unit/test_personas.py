"""The file of personas: read once at the start, and one clear line where it is wrong."""

from __future__ import annotations

import pytest

from bot.errors import SettingsError
from bot.settings import Settings
from bot.settings.personas import Persona

GOOD = {
    "TELEGRAM_BOT_TOKEN": "4711:token",
    "ANTHROPIC_API_KEY": "key",
    "MONGODB_URI": "mongodb://one",
}
TEACHER = '[teacher]\nname = "Patient teacher"\nprompt = """\nExplain.\n"""\n'
WRONG = {
    "nothing": "",
    "no TOML": "teacher: {",
    "no table": 'teacher = "x"',
    "no prompt": '[teacher]\nname = "T"',
    "an empty name": '[teacher]\nname = " "\nprompt = "x"',
    "a long name": f'[teacher]\nname = "{"T" * 41}"\nprompt = "x"',
    "another field": '[teacher]\nname = "T"\nprompt = "planted"\nsecret = "x"',
    "a number": '[teacher]\nname = 7\nprompt = "x"',
    "a key that is none": '["Ünbekannt key"]\nname = "T"\nprompt = "x"',
}


@pytest.fixture
def read(tmp_path):
    def read_from(text):
        file = tmp_path / "personas.toml"
        file.write_text(text, encoding="utf-8")
        return Settings.read(GOOD | {"PERSONAS_FILE": str(file)}).personas_file

    return read_from


def test_each_table_is_a_persona(read):
    assert read(TEACHER) == {"teacher": Persona("Patient teacher", "Explain.")}


def test_there_are_none_by_default():
    assert Settings.read(GOOD).personas_file == {}


@pytest.mark.parametrize("text", WRONG.values(), ids=WRONG)
def test_a_wrong_file_is_one_line_without_its_words(read, text):
    with pytest.raises(SettingsError) as caught:
        read(text)
    [line] = str(caught.value).splitlines()
    assert line.startswith("PERSONAS_FILE ")
    assert "planted" not in line


def test_a_file_that_is_not_there_is_named():
    with pytest.raises(SettingsError, match="PERSONAS_FILE must name a TOML file"):
        Settings.read(GOOD | {"PERSONAS_FILE": "/nowhere/personas.toml"})
