"""The bot's own sentences: there when they are needed, short where Telegram wants them short."""

from __future__ import annotations

import ast
import re
from datetime import timedelta
from pathlib import Path

import pytest

from bot import errors
from bot.agent.toolbox.notes import notes_tools
from bot.agent.toolbox.plan import plan_tools
from bot.agent.toolbox.search import search_tools
from bot.agent.tools import STATUS, Toolbox
from bot.store.memory.archive import MemoryArchive
from bot.store.memory.notes import MemoryNotes
from bot.store.memory.sessions import MemorySessions
from bot.texts import LANGUAGES, duration, language_of, table, text
from tests.builders import ALIVE

BOT = Path(errors.__file__).parent


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_sentence_is_too_long_for_where_it_is_shown(language):
    limits = {"description": 512, "short_description": 120, "button_expired": 200}
    for key, sentence in table(language).items():
        assert len(sentence) <= (256 if key.startswith("command_") else limits.get(key, 1000)), key


def test_russian_is_not_english():
    """A sentence of nothing but values and signs is the same in both."""
    same = {
        key
        for key, sentence in table("ru").items()
        if not re.search("[а-яё]", sentence, re.IGNORECASE)
        if re.search("[a-z]", re.sub(r"\{\w+\}", "", sentence))
    }
    assert same == set()


def test_every_notice_in_the_code_has_a_sentence():
    """Only keys that are written out can be checked here; the tests of their callers see the
    others.
    """
    trees = (ast.parse(path.read_text(encoding="utf-8")) for path in BOT.rglob("*.py"))
    calls = (node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Call))
    keys = {
        call.args[0].value
        for call in calls
        if isinstance(call.func, ast.Attribute) and call.func.attr == "notice"
        if call.args and isinstance(call.args[0], ast.Constant)
    }
    assert "rename_done" in keys
    assert keys <= table("en").keys()


def test_start_says_in_three_lines_what_it_does_remembers_and_how_to_start_afresh():
    for language in LANGUAGES:
        lines = text("start", language, idle="IDLE", age="AGE").splitlines()
        assert len(lines) == 3
        assert "IDLE" in lines[1]
        assert "AGE" in lines[1]
        assert "/new" in lines[2]
        assert "/reset" in lines[2]


def test_a_value_is_put_in_literally():
    """C84: what stands in a value is never taken for a placeholder."""
    assert "{age} <b>" in text("start", "en", idle="{age} <b>", age="1")


@pytest.mark.parametrize(
    ("code", "language"),
    [
        ("ru", "ru"),
        ("ru-RU", "ru"),
        ("RU", "ru"),
        ("en-GB", "en"),
        ("de", "en"),
        ("rus", "en"),
        ("", "en"),
        (None, "en"),
    ],
)
def test_a_language_is_known_by_its_first_part(code, language):
    assert language_of(code) == language


@pytest.mark.parametrize(
    ("span", "english", "russian"),
    [
        (timedelta(minutes=30), "30 minutes", "30 минут"),
        (timedelta(minutes=1), "1 minute", "1 минуту"),
        (timedelta(minutes=90), "90 minutes", "90 минут"),
        (timedelta(hours=3), "3 hours", "3 часа"),
        (timedelta(hours=12), "12 hours", "12 часов"),
        (timedelta(hours=24), "1 day", "1 день"),
        (timedelta(days=21), "21 days", "21 день"),
        (timedelta(days=30), "30 days", "30 дней"),
        (timedelta(days=112), "112 days", "112 дней"),
        (timedelta(seconds=52), "52 seconds", "52 секунды"),
        (timedelta(0), "0 seconds", "0 секунд"),
    ],
)
def test_a_duration_is_said_as_people_say_it(span, english, russian):
    assert (duration(span, "en"), duration(span, "ru")) == (english, russian)


def test_every_tool_has_words_for_what_it_does():
    tools = (
        *notes_tools(MemoryNotes()),
        *plan_tools(),
        *search_tools(MemorySessions(), MemoryArchive(), lambda: ALIVE),
    )
    assert {tool.status for tool in tools} | {STATUS, Toolbox().status_of("web_search")} <= table(
        "en"
    ).keys()
