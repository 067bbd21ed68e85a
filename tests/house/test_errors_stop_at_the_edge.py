"""Everything is caught in few places only, and a cancellation nowhere (STYLE, rule 8)."""

from __future__ import annotations

import ast

import pytest

EDGES = {
    "bot/telegram/outbound/formatting.py": "an answer that cannot be formatted goes out plain, "
    "also where the parser panics",
    "bot/telegram/outcomes.py": "translates every error into one sentence for the person",
    "bot/telegram/inbound/lenient.py": "the library has no error of its own for what it cannot read",
    "bot/telegram/inbound/parsed_batch.py": "one unreadable update must not stop its lane",
    "bot/telegram/inbound/poller.py": "whatever Telegram answers, polling goes on",
    "bot/telegram/inbound/receiver.py": "one bad update must not stop the intake",
    "bot/aio.py": "what is repeated goes on, and the failure is handed on",
    "bot/lane_runner.py": "one bad turn must not stop the others",
}

EVERYTHING = {"Exception", "BaseException"}
CANCELLATION = {"CancelledError", "asyncio.CancelledError", "BaseException"}


def named(kind):
    """The names of the error types in an `except` clause or a list of arguments."""
    if kind is None:
        return {"BaseException"}
    return {ast.unparse(item) for item in (kind.elts if isinstance(kind, ast.Tuple) else [kind])}


def catches(tree):
    """Each place that catches, what it catches, and whether it raises again."""
    for node in ast.walk(tree):
        match node:
            case ast.ExceptHandler():
                yield (
                    node,
                    named(node.type),
                    any(isinstance(inner, ast.Raise) for inner in ast.walk(node)),
                )
            case ast.Call(func=ast.Name("suppress") | ast.Attribute(attr="suppress")):
                yield node, {name for argument in node.args for name in named(argument)}, False


def swallowed(tree):
    return [node for node, kinds, raises in catches(tree) if kinds & CANCELLATION and not raises]


def test_everything_is_caught_at_the_edges_only(sources):
    found = [
        source.at(node, " ".join(kinds))
        for source in sources
        if source.path not in EDGES
        for node, kinds, _ in catches(source.tree)
        if kinds & EVERYTHING
    ]
    assert found == []


def test_a_cancellation_is_never_swallowed(sources):
    found = [
        source.at(node, "CancelledError") for source in sources for node in swallowed(source.tree)
    ]
    assert found == []


@pytest.mark.parametrize(
    "text",
    [
        "try: f()\nexcept: pass",
        "try: f()\nexcept (OSError, BaseException): pass",
        "try: f()\nexcept asyncio.CancelledError: return",
        "with contextlib.suppress(asyncio.CancelledError): f()",
    ],
)
def test_the_search_finds(text):
    assert swallowed(ast.parse(text))


def test_the_search_lets_a_cancellation_pass_through():
    assert swallowed(ast.parse("try: f()\nexcept asyncio.CancelledError:\n  tidy()\n  raise")) == []
