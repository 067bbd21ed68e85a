"""A model that tries every tool it has, with another person's ids in every argument: it reads and
changes nothing.
"""

from __future__ import annotations

import json

import pytest

from bot.standins.claude.answers import call, calls

SECRETS = ("kingfisher", "Jurmala")


def filled(schema, root, words):
    """Arguments that a tool's schema accepts, with these words wherever it takes text."""
    if "$ref" in schema:
        schema = root["$defs"][schema["$ref"].rpartition("/")[2]]
    schema = schema.get("anyOf", [schema])[0]
    fields, items = schema.get("properties", {}), schema.get("items")
    plain = {
        "object": {name: filled(inner, root, words) for name, inner in fields.items()},
        "array": [filled(items, root, words)] if items else [],
        "integer": 1,
        "boolean": True,
    }
    return schema["enum"][0] if "enum" in schema else plain.get(schema.get("type"), words)


def belongs_to(state, person):
    """Everything kept of somebody, but for how long ago they were seen."""
    kept = ("sessions", "archive", "notes", "usage", "owners")
    return {name: list(state.database[name].find({"ownerId": person.id})) for name in kept}


@pytest.fixture
def foreign(state, boris):
    """What names something of Boris's, in each form in which a model could have come by it."""

    def names():
        [held] = state.sessions(boris.id)
        [note] = state.database["notes"].find({"ownerId": boris.id})
        ids = [
            held["_id"],
            note["operationId"],
            str(note["_id"]),
            str(boris.id),
            str(held["messages"][0]["turn"]),
        ]
        return [*ids, json.dumps({"$ne": ""}), f"ownerId:{boris.id}", ".*"]

    return names


async def test_no_tool_reaches_another_owner_whatever_it_is_asked_with(state, anna, boris, foreign):
    """C55, C58, C59."""
    async with state.bot(TOOL_CALLS="100"):
        await state.ask(boris, "My secret word is kingfisher.")
        await state.ask(boris, "Remember that my sister lives in Jurmala.")
        await state.ask(anna, "Hello")
        before, tools = belongs_to(state, boris), state.requests[-1]["tools"]
        for words in foreign():
            tries = [
                call(tool["name"], filled(tool["input_schema"], tool["input_schema"], words))
                for tool in tools
            ]
            state.claude.script(calls(*tries), "I have tried.")
            assert await state.ask(anna, "Try everything.") == "I have tried."
        of_anna = [request for request in state.requests if anna_asks(request)]

    assert len(tools) >= 5
    assert belongs_to(state, boris) == before
    results = [
        block
        for request in of_anna
        for message in request["messages"]
        for block in message["content"]
    ]
    assert sum(block["type"] == "tool_result" for block in results) > len(tools)
    assert not any(
        secret in json.dumps(request, ensure_ascii=False)
        for request in of_anna
        for secret in SECRETS
    )


def anna_asks(request):
    return "Try everything." in json.dumps(request["messages"])
