"""The documents for newcomers say what is there: their files, names and settings exist."""

from __future__ import annotations

import ast
import re

import pytest

from bot.settings import Settings

DOCUMENTS = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")
ON_ONE_PAGE = 80
PATH = re.compile(r"`((?:bot|tests|deploy|\.ci|\.github)/[\w./-]+|[\w.-]+\.(?:toml|md))`")
NAME = re.compile(r"`((?:[A-Z]\w+\.)?\w+)`")
VARIABLE = re.compile(r"`([A-Z][A-Z_]{3,})(?:=[^`]*)?`")
NO_VARIABLES = {"INFO"}
"""Values of settings that look like one."""


@pytest.fixture(params=DOCUMENTS)
def document(request, root):
    return (root / request.param).read_text(encoding="utf-8")


@pytest.fixture
def architecture(root):
    return (root / "ARCHITECTURE.md").read_text(encoding="utf-8")


def defined(tree):
    """Every class, function and method (as `Class.method`) that a module defines."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            yield node.name
            yield from (
                f"{node.name}.{inner.name}"
                for inner in node.body
                if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef)
            )
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name


def strays(text, root):
    """Names that stand in a row of a table beside files, none of which defines them."""
    for row in text.splitlines():
        files = [path for path in PATH.findall(row) if path.endswith(".py")]
        if row.startswith("|") and files:
            trees = [ast.parse((root / path).read_text(encoding="utf-8")) for path in files]
            there = {name for tree in trees for name in defined(tree)}
            yield from (name for name in NAME.findall(row) if name not in there)


def test_every_file_that_is_named_exists(document, root):
    assert [path for path in PATH.findall(document) if not (root / path).exists()] == []


def test_every_variable_that_is_named_is_a_setting(document):
    settings = {name.upper() for name in Settings.model_fields}
    assert set(VARIABLE.findall(document)) - settings - NO_VARIABLES == set()


def test_the_way_of_a_message_names_functions_that_are_there(architecture, root):
    assert len(NAME.findall(architecture)) > 15
    assert list(strays(architecture, root)) == []


def test_the_architecture_is_one_page(architecture):
    assert len(architecture.splitlines()) <= ON_ONE_PAGE


def test_a_name_that_is_gone_is_found(root):
    row = "| a step | `TurnRunner.levitate` | `bot/turn.py` |"
    assert list(strays(row, root)) == ["TurnRunner.levitate"]
