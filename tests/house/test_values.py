"""Values are frozen and slotted, pydantic stays where input is judged, no boolean travels unnamed
(STYLE 3, 13).
"""

from __future__ import annotations

import ast

MUTABLE = {
    "Compactor": "a part of the bot, whose runs in the background come and go",
    "GrowingText": "an answer that is being written",
    "RunningLane": "what runs in a lane now comes and goes",
    "Session": "owned by the one turn that loaded it, which changes it",
    "StreamedMessage": "what one call has received so far",
    "Turn": "one turn in progress: what it was given, and what has come of it so far",
    "TaskSlot": "where the tools of one turn leave the Task for its commit",
}
"""Beside these, only state that a module keeps to itself (a leading underscore) and the stand-ins
may change.
"""

PYDANTIC = (
    "bot/settings/",
    "bot/agent/tools.py",
    "bot/agent/toolbox/",
    "bot/demo/",
    "bot/standins/",
)


def options(node):
    """The keyword arguments of a class's @dataclass, or None when it is no dataclass."""
    for decorator in node.decorator_list:
        call = decorator.func if isinstance(decorator, ast.Call) else decorator
        if ast.unparse(call).rpartition(".")[2] == "dataclass":
            return {
                word.arg: ast.unparse(word.value) for word in getattr(decorator, "keywords", [])
            }
    return None


def test_values_are_frozen_and_slotted(sources):
    loose = []
    for source in sources:
        for node in source.find(ast.ClassDef):
            may_change = (
                node.name in MUTABLE
                or node.name.startswith("_")
                or source.under("bot/demo/", "bot/standins/")
            )
            wanted = {"slots"} if may_change else {"slots", "frozen"}
            if (given := options(node)) is not None and any(
                given.get(word) != "True" for word in wanted
            ):
                loose.append(source.at(node, node.name))
    assert loose == []


def protocols(source):
    """The classes of a module that are Protocols, generic ones among them."""
    return [
        source.at(node, node.name)
        for node in source.find(ast.ClassDef)
        if any(
            ast.unparse(base).partition("[")[0].rpartition(".")[2] == "Protocol"
            for base in node.bases
        )
    ]


def test_every_protocol_is_a_port(sources):
    product = [source for source in sources if not source.under("bot/standins/", "bot/demo/")]
    inside = [source for source in product if source.under("bot/ports/")]
    assert [one for source in product if source not in inside for one in protocols(source)] == []
    assert len([one for source in inside for one in protocols(source)]) > 15


def test_pydantic_is_used_only_where_input_is_judged(sources):
    users = [
        source.at(node, ast.unparse(node))
        for source in sources
        if not source.under(*PYDANTIC)
        for node in source.find(ast.Import, ast.ImportFrom)
        for module in (
            [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else [name.name for name in node.names]
        )
        if module.partition(".")[0] in {"pydantic", "pydantic_core"}
    ]
    assert users == []


def test_no_parameter_is_a_boolean_that_could_be_passed_without_its_name(sources):
    unnamed = [
        source.at(node, f"{node.name}({argument.arg})")
        for source in sources
        for node in source.find(ast.FunctionDef, ast.AsyncFunctionDef)
        for argument in (*node.args.posonlyargs, *node.args.args)
        if argument.annotation and ast.unparse(argument.annotation) == "bool"
    ]
    assert unnamed == []
