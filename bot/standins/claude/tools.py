"""Tools: names, schemas, and the choice among them.

A `strict` tool becomes a grammar on the real server, which therefore knows fewer JSON Schema
keywords there: a schema with bounds on numbers or lengths makes every request of the dialogue fail.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bot.standins.claude.prompt import blocks_of
from bot.standins.claude.refusals import Refused

Json = Mapping[str, Any]

COMBINATORS = ("oneOf", "allOf", "anyOf")
TYPES = {"object", "array", "string", "integer", "number", "boolean", "null"}
NOT_IN_A_GRAMMAR = {
    "integer": {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"},
    "number": {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"},
    "string": {"minLength", "maxLength"},
    "array": {"maxItems", "uniqueItems"},
    "object": {"minProperties", "maxProperties", "patternProperties"},
}


def check_tools(body: Json) -> None:
    """Raise Refused for tools the model could not use, and for blocks of tools that are not
    there.
    """
    tools = body.get("tools") or []
    names = [tool["name"] for tool in tools if "name" in tool]
    if len(set(names)) < len(names):
        raise Refused("tools: Tool names must be unique.")
    for place, tool in enumerate(tools):
        if "input_schema" in tool:
            _check_schema(f"tools.{place}.custom", tool)
    kinds = {
        block["type"] for message in body["messages"] for block in blocks_of(message["content"])
    }
    if not tools and kinds & {"tool_use", "tool_result"}:
        raise Refused("Requests which include `tool_use` or `tool_result` blocks must define tools")
    _check_choice(body.get("tool_choice"), names)


def _check_choice(choice: Json | None, names: list[str]) -> None:
    if not choice:
        return
    if not names:
        raise Refused("tool_choice may only be specified while providing tools")
    if choice["type"] == "tool" and choice["name"] not in names:
        raise Refused(f"Tool '{choice['name']}' not found in provided tools")


def _check_schema(where: str, tool: Json) -> None:
    schema = tool["input_schema"]
    if any(word in schema for word in COMBINATORS):
        raise Refused(
            f"{where}.input_schema: input_schema does not support oneOf, allOf, or anyOf at the "
            f"top level"
        )
    for inner in _schemas(where, schema):
        if tool.get("strict"):
            _check_grammar(where, inner)


def _schemas(where: str, schema: Any) -> Iterator[Json]:
    """A schema and all that are inside it; what is no schema is refused."""
    if isinstance(schema, bool):
        return
    kinds = schema.get("type", []) if isinstance(schema, dict) else "?"
    properties = schema.get("properties") or {} if isinstance(schema, dict) else {}
    if not set([kinds] if isinstance(kinds, str) else kinds) <= TYPES or not isinstance(
        properties, dict
    ):
        raise Refused(
            f"{where}.input_schema: JSON schema is invalid. It must match JSON Schema draft "
            f"2020-12 "
            "(https://json-schema.org/draft/2020-12)."
        )
    yield schema
    nested = [*properties.values(), *(schema.get("$defs") or {}).values()]
    nested += [schema["items"]] if "items" in schema else []
    nested += [one for word in COMBINATORS for one in schema.get(word, [])]
    for inner in nested:
        yield from _schemas(where, inner)


def _check_grammar(where: str, schema: Json) -> None:
    kind = schema.get("type")
    if not isinstance(kind, str):
        return
    if kind == "object" and schema.get("additionalProperties") is not False:
        raise Refused(
            f"{where}: For 'object' type, 'additionalProperties' must be explicitly set to false"
        )
    if kind == "array" and schema.get("minItems", 0) > 1:
        raise Refused(
            f"{where}: For 'array' type, 'minItems' values other than 0 or 1 are not supported"
        )
    if found := sorted(NOT_IN_A_GRAMMAR.get(kind, set()) & set(schema)):
        many = (
            f"properties {', '.join(found)} are" if len(found) > 1 else f"property '{found[0]}' is"
        )
        raise Refused(f"{where}: For '{kind}' type, {many} not supported")
