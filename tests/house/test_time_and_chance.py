"""Time comes through the Clock, ids and chance through arguments (STYLE, rule 9)."""

from __future__ import annotations

import ast
import re

import pytest

SOURCES_OF_THEM = ("bot/ops/clock.py", "bot/app/", "bot/demo/", "bot/standins/")
FORBIDDEN = re.compile(
    r"(datetime\.)?(datetime|date)\.(now|utcnow|today)|time\.time(_ns)?|(uuid\.)?uuid\d|secrets\.\w+|os\.urandom"
    r"|random\.(?!Random$)\w+"
)


def uses(tree):
    """Uses of the clock or of chance.

    `random.Random` as the type of an argument is how chance should come.
    """
    for node in ast.walk(tree):
        match node:
            case ast.Attribute() | ast.Name() if FORBIDDEN.fullmatch(ast.unparse(node)):
                yield node, ast.unparse(node)
            case ast.Call(func=ast.Attribute(value=ast.Name("random"), attr="Random")):
                yield node, "random.Random()"
            case ast.ImportFrom(
                module="random" | "secrets" | "uuid" | "time" as module, names=names
            ):
                yield from (
                    (node, f"from {module} import {name.name}")
                    for name in names
                    if name.name != "Random"
                )


def test_no_module_reads_the_clock_or_rolls_dice_itself(sources):
    found = [
        source.at(node, what)
        for source in sources
        if not source.under(*SOURCES_OF_THEM)
        for node, what in uses(source.tree)
    ]
    assert found == []


@pytest.mark.parametrize(
    "text",
    [
        "datetime.now(UTC)",
        "datetime.datetime.utcnow()",
        "time.time()",
        "uuid4()",
        "uuid.uuid4().hex",
        "random.random()",
        "random.Random(1)",
        "from random import shuffle",
        "secrets.token_hex(16)",
    ],
)
def test_the_search_finds(text):
    assert list(uses(ast.parse(text)))


@pytest.mark.parametrize(
    "text", ["def f(chance: random.Random): chance.random()", "clock.now()", "loop.time()"]
)
def test_the_search_lets_pass(text):
    assert list(uses(ast.parse(text))) == []
