"""One word per thing, and no drawers (STYLE, section 3)."""

from __future__ import annotations

import ast

import pytest

from tests.house.measures import PRIVATE_WORDS, split_words

BANNED = PRIVATE_WORDS | {
    "manager", "service", "orchestrator", "util", "utils", "common", "misc", "data", "info",
    "handler", "handlers", "history", "memory",
}  # fmt: skip

LAWFUL = {
    "service": ("bot/standins/",),
    "handler": ("bot/telegram/",),
    "handlers": ("bot/telegram/",),
    "history": ("bot/agent/toolbox/",),
    "memory": ("bot/store/memory/",),
}
"""Where a banned word is the right one after all."""

VENDOR_NAMES = {
    "ToolContext": "the one context there is",
    "process_request": "python-telegram-bot's BaseRateLimiter",
    "process_update": "python-telegram-bot's Application",
    "get_webhook_info": "a method of the Bot API, which the stand-in plays",
}


def names(source):
    yield source.tree, source.path.removesuffix(".py").rpartition("/")[2]
    for node in source.find(ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef):
        yield node, node.name


def faults(source):
    for node, name in names(source):
        if name in VENDOR_NAMES:
            continue
        if name.startswith("process_"):
            yield source.at(node, name)
        for word in BANNED.intersection(split_words(name)):
            if not source.under(*LAWFUL.get(word, ())):
                yield source.at(node, name)


def test_no_module_class_or_function_bears_a_banned_name(sources):
    assert [fault for source in sources for fault in faults(source)] == []


def test_a_loose_user_id_appears_only_where_an_update_is_read(sources):
    """bot/demo plays Telegram itself, whose word it is."""
    loose = [
        source.at(node, "user_id")
        for source in sources
        if not source.under("bot/telegram/inbound/identity.py", "bot/demo/", "bot/standins/")
        for node in source.find(ast.Name, ast.arg, ast.Attribute, ast.keyword)
        if "user_id" in {getattr(node, field, None) for field in ("id", "arg", "attr")}
    ]
    assert loose == []


@pytest.mark.parametrize(
    "name", ["SessionManager", "user_data", "HTTPService", "chat_history", "utils"]
)
def test_the_search_sees_words_inside_names(name):
    assert BANNED.intersection(split_words(name))
