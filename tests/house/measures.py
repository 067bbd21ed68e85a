"""Measures of the house: `uv run python -m tests.house.measures` prints each beside its bar.

A measure that meets its bar must go on meeting it. CEILINGS names those that do not meet it yet,
with the value they have: it may fall, and the line goes once the bar is met. Everything but the
words is measured without the stand-ins, which are a library by themselves.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import median, quantiles
from typing import TypeGuard

ROOT = Path(__file__).parents[2]
SPINE = "bot/turn.py"
MAX_CLASS_LINES = 150
PARSERS = frozenset({"as_update", "Update.de_json"})
"""Each call of these reads a whole update; `lenient` is where the first of them is made."""
CONTENT_CLEANERS = frozenset({"clean", "user_content"})
CONTENT_COMES_BY = (
    "bot/telegram/inbound/",
    "bot/turn.py",
    "bot/agent/loop.py",
    "bot/agent/prompt.py",
)
"""Where the content of a message passes on its way to the model."""

PRIVATE_WORDS = frozenset({
    "afforded", "asking", "attached", "bell", "bill", "books", "brush", "bury", "calm", "canvas",
    "carried", "choices", "courtesies", "covered", "deciphered", "decline", "deed", "deeds",
    "desk", "diary", "doubt", "examine", "gauge", "glass", "glimpse", "happening", "happenings",
    "hints", "inputs", "knock", "least", "legible", "most", "movements", "noted", "obey", "paint",
    "papers", "patience", "pictures", "planned", "purse", "saying", "scale", "scales", "screen",
    "shelf", "shield", "slowed", "spending", "stage", "theft", "thief", "town", "triggers", "visit",
    "wish", "withdraw", "world", "writing",
})  # fmt: skip
"""Words of our own for which there is a word of the field; NAMES says which."""

VENDOR_NAMES = frozenset({"Gauge", "choices", "most_common", "shield"})
"""Names that prometheus-client, random, collections and asyncio have given."""

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


@dataclass(frozen=True, slots=True)
class Measure:
    """One figure and the greatest value it should have."""

    name: str
    value: float
    bar: float

    def __str__(self) -> str:
        return f"{self.value:8.1f}  (bar {self.bar:3.0f})  {self.name}"


CEILINGS: Mapping[str, float] = {}
"""What does not meet its bar yet, with the value it has today: it may only fall."""


def split_words(name: str) -> list[str]:
    """The words of an identifier, in small letters."""
    return [word.lower() for word in _WORD.findall(name)]


@cache
def parse(folder: str = "bot") -> Mapping[str, tuple[str, ast.Module]]:
    """Text and syntax tree of each module below a folder, by its path from the root."""
    paths = sorted((ROOT / folder).rglob("*.py"))
    texts = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in paths}
    return {name: (text, ast.parse(text, name)) for name, text in texts.items()}


def measures() -> list[Measure]:
    """Every measure, as the tree is now."""
    own = {name: tree for name, tree in _trees().items() if not name.startswith("bot/standins/")}
    functions = [node for tree in own.values() for node in _functions(tree)]
    classes = [node for tree in own.values() for node in _find(tree, ast.ClassDef)]
    lengths = [len(parse()[name][0].splitlines()) for name in own if "__init__" not in name]
    product = [
        tree for name, tree in own.items() if not name.startswith(("bot/store/", "bot/demo/"))
    ]
    passed = [tree for name, tree in own.items() if name.startswith(CONTENT_COMES_BY)]
    return [
        Measure("functions: p90 of lines", quantiles(map(_lines, functions), n=10)[-1], 13),
        Measure("classes over 150 lines", sum(_lines(one) > MAX_CLASS_LINES for one in classes), 0),
        Measure("modules: median of lines", median(lengths), 120),
        Measure("modules: lines of the largest", max(lengths), 300),
        Measure("uses of Any", sum(map(_uses_of_any, own.values())), 40),
        Measure("parameters of the spine", sum(map(_parameters, _functions(own[SPINE]))), 12),
        Measure("ways of the owner out of the spine", len(hand_overs(own[SPINE])), 6),
        Measure("cleanings of content", _calls(passed, CONTENT_CLEANERS), 1),
        Measure("parses of an update", _calls(own.values(), PARSERS), 2),
        Measure("uses of the raw database outside store/", _uses_of_the_database(product), 0),
        Measure("floors of telegram", count_floors(own, "bot/telegram/"), 6),
        Measure("private words", sum(1 for _ in private_names()), 0),
    ]


def private_names() -> Iterator[str]:
    """Where a private word stands: in the name of a module or in an identifier."""
    for path, tree in _trees().items():
        if PRIVATE_WORDS.intersection(split_words(Path(path).stem)):
            yield path
        for node in ast.walk(tree):
            for name in _identifiers(node):
                if name not in VENDOR_NAMES and PRIVATE_WORDS.intersection(split_words(name)):
                    yield f"{path}:{getattr(node, 'lineno', 0)}: {name}"


def hand_overs(tree: ast.Module) -> list[str]:
    """The calls of a module that hand `owner` to another one.

    Whoever follows the owner from the runner's entry leaves the spine at each of them and comes
    back: to another module of ours, or to a port. Calls of what the module itself defines stay
    inside. Before the spine was one object a turn, there were 14.
    """
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    own = {node.name for node in ast.walk(tree) if isinstance(node, kinds)}
    calls = [ast.unparse(node.func) for node in ast.walk(tree) if _hands_on(node, "owner")]
    return [name for name in calls if name.removeprefix("self.").partition("(")[0] not in own]


def _hands_on(node: ast.AST, name: str) -> TypeGuard[ast.Call]:
    if not isinstance(node, ast.Call):
        return False
    given = (*node.args, *(word.value for word in node.keywords))
    return any(ast.unparse(one).rpartition(".")[2] == name for one in given)


def _trees() -> dict[str, ast.Module]:
    return {name: tree for name, (_, tree) in parse().items()}


def _identifiers(node: ast.AST) -> Iterator[str]:
    for field in ("id", "arg", "attr", "name"):
        if isinstance(value := getattr(node, field, None), str):
            yield value


def _find(tree: ast.AST, *kinds: type[ast.AST]) -> Iterator[ast.AST]:
    return (node for node in ast.walk(tree) if isinstance(node, kinds))


def _functions(tree: ast.Module) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    """All functions with a body; the methods of a Protocol have a docstring only."""
    return [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if len(node.body) > 1 or not isinstance(node.body[0], ast.Expr)
    ]


def _lines(node: ast.AST) -> int:
    return int(getattr(node, "end_lineno", 0)) - int(getattr(node, "lineno", 0)) + 1


def _uses_of_any(tree: ast.Module) -> int:
    return sum(isinstance(node, ast.Name) and node.id == "Any" for node in ast.walk(tree))


def _parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    named = (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)
    return sum(argument.arg not in {"self", "cls"} for argument in named)


def _calls(trees: Iterable[ast.Module], names: Iterable[str]) -> int:
    wanted = set(names)
    called = (node.func for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Call))
    names_of = ({name, name.rpartition(".")[2]} for name in map(ast.unparse, called))
    return sum(bool(wanted & both) for both in names_of)


def _uses_of_the_database(trees: Iterable[ast.Module]) -> int:
    nodes = (node for tree in trees for node in ast.walk(tree))
    return sum(isinstance(node, ast.Attribute) and node.attr == "database" for node in nodes)


def count_floors(trees: Mapping[str, ast.Module], folder: str) -> float:
    """How many modules or packages of a folder stand on each other; infinite for a circle."""
    above: dict[str, set[str]] = {}
    for path, tree in trees.items():
        if path.startswith(folder) and path != f"{folder}__init__.py":
            here = _child(path.removesuffix(".py").replace("/", "."), folder)
            above.setdefault(here, set()).update(_imported(tree, folder) - {here})
    return max(_height(name, above, ()) for name in above)


def _imported(tree: ast.Module, folder: str) -> set[str]:
    package = folder.replace("/", ".")
    modules = [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return {_child(module, folder) for module in modules if module.startswith(package)}


def _child(module: str, folder: str) -> str:
    """The part of a folder that a module is in."""
    return module.removeprefix(folder.replace("/", ".")).partition(".")[0]


def _height(name: str, above: Mapping[str, set[str]], path: Sequence[str]) -> float:
    if name in path:
        return float("inf")
    under = above.get(name, set())
    return 1 + max((_height(one, above, (*path, name)) for one in under), default=0)


if __name__ == "__main__":
    for measure in measures():
        sys.stdout.write(f"{measure}\n")
