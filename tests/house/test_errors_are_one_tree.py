"""The tree that `bot/errors.py` opens with has every error, and each is born with what it carries."""

from __future__ import annotations

import ast
import re

import pytest

import bot.errors
from bot.errors import BotError

DRAWN = re.compile(r"^(?P<branch>[│ ]*)(?:[├└]── )?(?P<name>[A-Z][A-Za-z]+)\b")


def drawn(docstring):
    """Each error of the drawing with the one it hangs on; what goes on in a line below has no
    branch.
    """
    path: list[str] = []
    found = {}
    for line in docstring.split("\n\n")[1].splitlines():
        row = DRAWN.match(line.removeprefix("    "))
        if row and (not path or "── " in line):
            depth = len(row["branch"]) // 4 + 1 if path else 0
            path = [*path[:depth], row["name"]]
            assert row["name"] not in found, f"{row['name']} is drawn twice"
            found[row["name"]] = path[-2] if depth else "Exception"
    return found


def told_afterwards(tree):
    """Where an attribute is set on what an `except` clause, or a call of an error, has named."""
    errors = {node.name for node in ast.walk(tree) if isinstance(node, ast.ExceptHandler)}
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[ast.Name(name)], value=ast.Call(func=ast.Name(kind))):
                errors |= {name} if is_error(kind) else set()
    return [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Store)
        and ast.unparse(node.value) in errors
    ]


def is_error(name):
    kind = getattr(bot.errors, name, None)
    return isinstance(kind, type) and issubclass(kind, BotError)


def members(kind):
    yield kind
    for child in kind.__subclasses__():
        yield from members(child)


def test_the_drawing_has_every_error_where_it_belongs():
    own = [kind for kind in members(BotError) if kind.__module__ == "bot.errors"]
    assert drawn(bot.errors.__doc__) == {kind.__name__: kind.__base__.__name__ for kind in own}


def test_every_error_of_the_product_is_in_the_one_module(sources):
    elsewhere = [
        source.at(node, node.name)
        for source in sources
        if source.path != "bot/errors.py" and not source.under("bot/standins/", "bot/demo/")
        for node in source.find(ast.ClassDef)
        if any(is_error(ast.unparse(base)) for base in node.bases)
    ]
    assert elsewhere == []


def test_an_error_is_told_nothing_afterwards(sources):
    found = [
        source.at(node, ast.unparse(node))
        for source in sources
        for function in source.find(ast.FunctionDef, ast.AsyncFunctionDef)
        for node in told_afterwards(function)
    ]
    assert found == []


@pytest.mark.parametrize(
    "text",
    [
        "try: f()\nexcept ModelError as error:\n  error.usage = 1\n  raise",
        "error = ModelBusy()\nerror.usage = 1",
    ],
)
def test_the_search_finds(text):
    assert told_afterwards(ast.parse(text))
