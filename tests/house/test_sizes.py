"""Nothing is larger than a reader can hold at once (STYLE, rule 5)."""

from __future__ import annotations

import ast
from statistics import median, quantiles

MODULE, MODULE_MEDIAN = 300, 120
FUNCTION_MEDIAN, FUNCTION_P90, PARAMETERS = 10, 25, 5


def functions(sources):
    """All functions with a body: a Protocol's methods hold a docstring only and would flatter the
    figures.
    """
    for source in sources:
        for node in source.find(ast.FunctionDef, ast.AsyncFunctionDef):
            if len(node.body) > 1 or not isinstance(node.body[0], ast.Expr):
                yield source, node, node.end_lineno - node.lineno + 1


def largest(sizes, count=15):
    return "\n".join(f"{size:5} {name}" for size, name in sorted(sizes, reverse=True)[:count])


def test_no_module_is_longer_than_300_lines(sources):
    sizes = [(source.lines, source.path) for source in sources]
    assert max(sizes)[0] <= MODULE, "\n" + largest(sizes)


def test_modules_are_short_on_the_whole(sources):
    sizes = [
        (source.lines, source.path)
        for source in sources
        if not source.path.endswith(("__init__.py", "__main__.py"))
    ]
    middle = median(size for size, _ in sizes)
    assert middle <= MODULE_MEDIAN, f"median {middle}\n{largest(sizes, len(sizes))}"


def test_functions_are_short_on_the_whole(sources):
    sizes = [(size, source.at(node, node.name)) for source, node, size in functions(sources)]
    middle, p90 = (
        median(size for size, _ in sizes),
        quantiles((size for size, _ in sizes), n=10)[-1],
    )
    assert (middle <= FUNCTION_MEDIAN, p90 <= FUNCTION_P90) == (True, True), (
        f"{middle=} {p90=}\n{largest(sizes, 40)}"
    )


def test_no_function_takes_more_than_five_parameters(sources):
    wide = []
    for source, node, _ in functions(sources):
        names = [
            arg.arg for arg in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
        ]
        if len([name for name in names if name not in {"self", "cls"}]) > PARAMETERS:
            wide.append(source.at(node, f"{node.name}({', '.join(names)})"))
    assert wide == []
