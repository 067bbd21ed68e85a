"""The tree as the house tests see it: every module of `bot`, parsed once."""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import pytest

from tests.house.measures import measures

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Source:
    """One module: its path from the root, its text and its syntax tree."""

    path: str
    text: str = field(repr=False)
    tree: ast.Module = field(repr=False)

    @property
    def lines(self) -> int:
        return len(self.text.splitlines())

    @property
    def name(self) -> str:
        """The dotted name it is imported by."""
        return self.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")

    def under(self, *places: str) -> bool:
        """Whether it is one of these files, or inside one of these folders (which end with a
        slash).
        """
        return any(
            self.path == place or (place.endswith("/") and self.path.startswith(place))
            for place in places
        )

    def find(self, *kinds: type[ast.AST]) -> Iterator[ast.AST]:
        return (node for node in ast.walk(self.tree) if isinstance(node, kinds))

    def at(self, node: ast.AST, what: str) -> str:
        return f"{self.path}:{getattr(node, 'lineno', 0)}: {what}"


def parse(folder: str) -> list[Source]:
    paths = sorted((ROOT / folder).rglob("*.py"))
    texts = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in paths}
    return [Source(path, text, ast.parse(text, path)) for path, text in texts.items()]


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def sources() -> list[Source]:
    return parse("bot")


@pytest.fixture(scope="session")
def readme() -> str:
    return (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def tracked() -> list[Path]:
    """Every file that is, or is about to be, in the repository."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(
        command, cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.splitlines()
    return [ROOT / name for name in listed if (ROOT / name).is_file()]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    source, tests = parse("bot"), parse("tests")
    ratio = sum(test.lines for test in tests) / max(1, sum(module.lines for module in source))
    middle = median(module.lines for module in source)
    terminalreporter.write_line(
        f"house: {len(source)} modules, median {middle:.0f} lines; test : source {ratio:.2f}"
    )
    for measure in measures():
        terminalreporter.write_line(f"{measure}")
