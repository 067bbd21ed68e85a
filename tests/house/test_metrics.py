"""One place declares all metrics (STYLE, rule 14)."""

from __future__ import annotations

import ast


def imported(source):
    for node in source.find(ast.Import, ast.ImportFrom):
        yield from (
            [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else [alias.name for alias in node.names]
        )


def test_one_module_knows_the_library(sources):
    users = [
        source.path
        for source in sources
        if any("prometheus_client" in name for name in imported(source))
    ]
    assert users == ["bot/ops/metrics.py"]
