"""Prints the measures of the house, so that a change can be seen to move them: `python -m tests.house.measures`."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from statistics import median, quantiles
from typing import Any

ROOT = Path(__file__).parents[2]
SPINE = "bot/turn.py"
LEFT_COLUMN = (
    "purse", "least", "most", "legible", "gauge", "scales", "shelf", "papers", "deciphered", "desk", "deed", "deeds",
    "glimpse", "withdraw", "obey", "bury", "decline", "doubt", "canvas", "brush", "paint", "town", "stage", "diary",
    "happenings", "bell", "theft", "thief", "shield", "glass", "unless", "having", "covered",
)  # fmt: skip
LIMIT = re.compile(r"_?(MOST|LONGEST|LEAST|HIGHEST)_")


def modules() -> dict[str, tuple[str, ast.Module]]:
    paths = sorted((ROOT / "bot").rglob("*.py"))
    texts = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in paths}
    return {
        name: (text, ast.parse(text))
        for name, text in texts.items()
        if not name.startswith("bot/standins/")
    }


def size(node: Any) -> int:
    return int(node.end_lineno) - int(node.lineno) + 1


def identifiers(tree: ast.AST) -> list[str]:
    fields = ("id", "arg", "attr", "name")
    return [
        getattr(node, field)
        for node in ast.walk(tree)
        for field in fields
        if isinstance(getattr(node, field, None), str)
    ]


def measures() -> dict[str, float]:
    known = modules()
    nodes = [(name, node) for name, (_, tree) in known.items() for node in ast.walk(tree)]
    functions = [
        (name, node)
        for name, node in nodes
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    bodies = [
        size(node)
        for _, node in functions
        if len(node.body) > 1 or not isinstance(node.body[0], ast.Expr)
    ]
    classes = {
        f"{name}:{node.name}": size(node) for name, node in nodes if isinstance(node, ast.ClassDef)
    }
    lengths = [
        len(text.splitlines())
        for name, (text, _) in known.items()
        if not name.endswith("__init__.py")
    ]
    spine = [
        len(node.args.args) + len(node.args.kwonlyargs) - 1
        for name, node in functions
        if name == SPINE
    ]
    words = [word for _, tree in known.values() for word in identifiers(tree)]
    return {
        "functions: p90 of lines": quantiles(bodies, n=10)[-1],
        "classes over 150 lines": sum(lines > 150 for lines in classes.values()),
        "largest class": max(classes.values()),
        "modules: median of lines": median(lengths),
        "largest module": max(lengths),
        "Any": sum(isinstance(node, ast.Name) and node.id == "Any" for _, node in nodes),
        "parameters of the spine": sum(spine),
        "cleanings of content": sum(text.count("user_content(") for text, _ in known.values()) - 1,
        "parses of an update": sum(text.count("Update.de_json(") for text, _ in known.values()),
        "raw database outside store/": sum(
            isinstance(node, ast.Attribute)
            and node.attr == "database"
            and not name.startswith("bot/store/")
            for name, node in nodes
        ),
        "words of NAMES.md's left column": sum(
            word in LEFT_COLUMN or bool(LIMIT.match(word)) for word in words
        ),
    }


if __name__ == "__main__":
    for what, value in measures().items():
        print(f"{value:8.1f}  {what}")  # noqa: T201 - its purpose
