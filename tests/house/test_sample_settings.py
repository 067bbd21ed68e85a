"""The sample names every setting with its default, and cannot be mistaken for a configuration
(C120).
"""

from __future__ import annotations

import re
import subprocess

import pytest

from bot.errors import SettingsError
from bot.settings import Settings


@pytest.fixture
def lines(root):
    """Name, value and whether the line is commented out, for every variable of the sample."""
    text = (root / ".env.example").read_text()
    return re.findall(r"^(# )?([A-Z_]+)=(.*)$", text, re.MULTILINE)


def test_the_sample_lists_every_setting_once_with_its_default(lines):
    defaults = {
        name.upper(): str(field.default) if isinstance(field.default, str | int) else ""
        for name, field in Settings.model_fields.items()
    }
    listed = sorted((name, value) for comment, name, value in lines if comment)
    required = sorted(name for comment, name, _ in lines if not comment)
    assert required == ["ANTHROPIC_API_KEY", "MONGODB_URI", "TELEGRAM_BOT_TOKEN"]
    assert listed == sorted(
        (name, value) for name, value in defaults.items() if name not in required
    )


def test_the_sample_as_it_is_does_not_start_a_bot(lines):
    with pytest.raises(SettingsError) as caught:
        Settings.read({name: value for comment, name, value in lines if not comment})
    said = str(caught.value).splitlines()
    assert len(said) == 3
    assert all(line.endswith("still holds the placeholder of .env.example") for line in said)


def test_git_ignores_the_real_file_only(root):
    def ignored(name):
        return (
            subprocess.run(["git", "check-ignore", "-q", name], cwd=root, check=False).returncode
            == 0
        )

    assert [ignored(name) for name in (".env", ".env.local", ".env.example")] == [True, True, False]
