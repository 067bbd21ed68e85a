"""What belongs to a person is reached through its Owner, and one module makes Owners (STYLE, rule
7).
"""

from __future__ import annotations

import ast

import pytest

PORTS = ("SessionStore", "Dialogues", "Archive", "Notes", "Owners", "UsageStore")
MAKERS = (
    "bot/telegram/inbound/identity.py",
    "bot/store/mongo/entries.py",  # reads back the lane that identity.py made, and checks its Owner
    "bot/demo/",
    "bot/standins/",
)


def methods(node):
    return {
        item.name: item
        for item in node.body
        if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef)
        and not item.name.startswith("_")
    }


def first_parameter(method):
    arguments = method.args.args[1:2]
    return [
        (argument.arg, ast.unparse(argument.annotation or ast.Constant(None)))
        for argument in arguments
    ]


@pytest.fixture(scope="module")
def classes(sources):
    return [(source, node) for source in sources for node in source.find(ast.ClassDef)]


@pytest.fixture(params=PORTS)
def family(request, classes):
    """One port and every class that has all its methods."""
    port = next(
        node
        for source, node in classes
        if source.under("bot/ports/") and node.name == request.param
    )
    return [
        (source, node) for source, node in classes if methods(port).keys() <= methods(node).keys()
    ]


def test_every_method_of_a_store_takes_the_owner_first(family):
    strays = [
        source.at(method, f"{node.name}.{name}")
        for source, node in family
        for name, method in methods(node).items()
        if first_parameter(method) != [("owner", "Owner")]
    ]
    assert strays == []


def test_each_port_has_an_implementation_in_memory_and_one_on_mongodb(family):
    """The rule above would hold of nothing otherwise."""
    assert len([source for source, _ in family if source.under("bot/store/")]) >= 2


def test_only_identity_makes_an_owner(sources):
    made = [
        source.at(node, ast.unparse(node))
        for source in sources
        if not source.under(*MAKERS)
        for node in source.find(ast.Call)
        if ast.unparse(node.func) in {"Owner", "owner.Owner", "bot.owner.Owner"}
    ]
    assert made == []
