"""README says what the code does: settings, commands, files and tests cannot drift apart from
it.
"""

from __future__ import annotations

import ast
import re

from bot.settings import Settings
from bot.settings.wording import table
from bot.telegram.command_names import COMMANDS
from bot.texts import text


def rows(readme, heading):
    """The cells of the table under a heading, its head left out."""
    section = readme.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_it_is_at_most_120_lines_long_besides_the_settings(readme):
    """The table of settings is made from the code and grows with it."""
    assert len(readme.replace(table(Settings), "").splitlines()) <= 120


def test_its_settings_are_those_of_the_code(readme):
    assert table(Settings) in readme


def test_its_commands_are_those_the_bot_explains(readme):
    said = {f"`/{name}`": text(f"help_{name}", "en") for name in COMMANDS}
    assert dict(rows(readme, "Commands")) == said


def test_every_file_it_names_exists(readme, root):
    named = re.findall(
        r"`((?:bot|tests|deploy|\.ci|\.github)/[\w./-]+|[\w.-]+\.(?:toml|md))`", readme
    )
    assert len(named) > 20
    assert [name for name in named if not (root / name).exists()] == []


def test_every_principle_names_its_code_and_a_test(readme, root):
    principles = rows(readme, "Principles of session management")
    assert len(principles) >= 10
    for principle, code, test in principles:
        assert "`bot/" in code, principle
        assert re.search(r"`tests/[\w/]+\.py`", test), principle


def test_every_module_of_the_house_is_on_its_map(readme, sources):
    """Folders stand for what is in them."""
    named = set(re.findall(r"`(bot/[\w./]+)`", readme))
    folders = {name for name in named if name.endswith("/")}
    missing = [
        source.path
        for source in sources
        if not source.path.endswith(("__init__.py", "__main__.py"))
        if source.path not in named
        and not any(source.path.startswith(folder) for folder in folders)
    ]
    assert missing == []


def test_modules_open_with_their_responsibility(sources):
    """The map's lines are taken from there."""
    assert [source.path for source in sources if not ast.get_docstring(source.tree)] == []
