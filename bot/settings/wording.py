"""How settings are spoken of: the table README shows, and a line for each value that is missing or
wrong.
"""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import BaseModel
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import ErrorDetails

Model = type[BaseModel]


def table(model: Model) -> str:
    """The settings as a Markdown table, as README shows it."""
    rows = [
        f"| `{name.upper()}` | {_default(model, name)} | {_description(model, name)} |"
        for name in model.model_fields
    ]
    return "\n".join(["| Variable | Default | Meaning |", "|---|---|---|", *rows])


def _default(model: Model, name: str) -> str:
    field = model.model_fields[name]
    if field.is_required():
        return "**required**"
    return f"`{field.default}`" if isinstance(field.default, str | int) else ""


def _description(model: Model, name: str) -> str:
    bounds = _bounds(model, name)
    return f"{model.model_fields[name].description}{f' ({bounds})' if bounds else ''}"


def _bounds(model: Model, name: str) -> str:
    """The values a variable accepts, where a list or a range says it."""
    schema = _schema(model, name)
    if "enum" in schema:
        *others, last = schema["enum"]
        return f"{', '.join(others)} or {last}".lower()
    return f"{schema['minimum']} to {schema['maximum']}" if "minimum" in schema else ""


def _schema(model: Model, name: str) -> JsonSchemaValue:
    """The JSON schema of a variable; of one that may be unset, what it is when it is set."""
    schema: JsonSchemaValue = model.model_json_schema()["properties"][name]
    first, *_ = schema.get("anyOf", [{}])
    return schema | first if "minimum" in first else schema


def listed(names: Iterable[str]) -> str:
    return " + ".join(name.upper() for name in names)


def line(model: Model, problem: ErrorDetails) -> str:
    """What is wrong with one variable, without its value."""
    name = str(problem["loc"][0])
    match problem["type"]:
        case "missing":
            what = f"is not set: {model.model_fields[name].description}"
        case "value_error":
            what = str(problem["ctx"]["error"])
        case _:
            what = f"must be {_expected(model, name)}"
    return f"{name.upper()} {what}"


def _expected(model: Model, name: str) -> str:
    is_number = _schema(model, name).get("type") == "integer"
    return f"{'a whole number, ' if is_number else ''}{_bounds(model, name)}"
