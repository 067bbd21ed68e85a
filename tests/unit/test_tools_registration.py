"""What a Toolbox refuses to hold, and how it judges arguments."""

from __future__ import annotations

from types import GenericAlias
from typing import Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, create_model

from bot.agent.tools import Arguments, Tool, Toolbox
from bot.errors import StartError, ToolFailed
from tests.agents import Words, tool, tool_context

CONTEXT = tool_context()


def model(**fields):
    return create_model("Model", __base__=Arguments, **fields)


def refused(arguments):
    with pytest.raises(StartError) as refusal:
        Toolbox([tool("bad", arguments=arguments)])
    return str(refusal.value)


IDENTITIES = [
    "owner", "owner_id", "ownerId", "user", "user_id", "userId", "USER_ID", "chat", "chat_id", "chatIds", "session",
    "session_id", "sessionid", "tenant", "tenant_id", "thread", "thread_id", "from_user", "target_user_id", "users",
]  # fmt: skip


@pytest.mark.parametrize("name", IDENTITIES)
def test_a_parameter_that_names_a_person_or_a_place_is_refused(name):
    """C59"""
    assert name in refused(model(**{name: (str, ...)}))


@pytest.mark.parametrize(
    "name", ["note_id", "query", "user_query", "title", "grid", "thread_title", "id", "words"]
)
def test_other_parameters_are_welcome(name):
    assert Toolbox([tool(arguments=model(**{name: (str, ...)}))]).specs


def inner(**fields):
    return create_model("Inner", __base__=Arguments, **fields)


@pytest.mark.parametrize(
    "around",
    [
        lambda inside: inside,
        lambda inside: GenericAlias(list, inside),
        lambda inside: inside | None,
        lambda inside: GenericAlias(tuple, (int, inside)),
        lambda inside: GenericAlias(list, GenericAlias(list, inside)),
    ],
    ids=["nested", "in a list", "optional", "in a tuple", "two lists deep"],
)
def test_an_identity_is_found_at_any_depth(around):
    assert "chat_id" in refused(model(filter=(around(inner(chat_id=(int, ...))), ...)))


def test_an_identity_is_found_behind_an_alias():
    assert "session_id" in refused(model(harmless=(str, Field(alias="session_id"))))


@pytest.mark.parametrize("kind", [dict[str, str], Any, dict, list[Any], object], ids=str)
def test_a_field_that_is_open_to_anything_is_refused(kind):
    """C59: free metadata is where an identity could come in unnamed."""
    assert "does not name" in refused(model(extra=(kind, ...)))


def test_a_schema_that_is_open_to_extra_fields_is_refused():
    assert "does not name" in refused(create_model("Open", __base__=BaseModel, words=(str, ...)))


def test_an_open_schema_is_found_at_any_depth():
    lax = create_model("Lax", __config__=ConfigDict(extra="allow"), words=(str, ...))
    assert "does not name" in refused(model(rows=(list[lax], ...)))


def test_two_tools_of_one_name_are_refused():
    with pytest.raises(StartError, match="two tools"):
        Toolbox([tool(), tool()])


@pytest.mark.parametrize("name", ["", "two words", "über", "x" * 65, "dotted.name"])
def test_a_name_the_api_would_refuse_is_refused_at_start(name):
    with pytest.raises(StartError):
        Toolbox([tool(name)])


def test_the_tools_come_in_one_order_however_they_were_given():
    names = ["echo", "add", "zip"]
    there, back = (Toolbox([tool(name) for name in order]).specs for order in (names, names[::-1]))
    assert there == back
    assert [spec["name"] for spec in there] == ["add", "echo", "zip"]


def test_a_spec_is_what_the_api_wants_and_no_more():
    (spec,) = Toolbox([Tool("echo", "Says it again.", Words, tool().run)]).specs
    assert spec["input_schema"]["additionalProperties"] is False
    assert spec["input_schema"]["properties"] == {"words": {"default": "", "type": "string"}}
    assert "title" not in spec["input_schema"]


class Strict(Arguments):
    """All kinds of field."""

    count: int = 1
    kind: Literal["a", "b"] = "a"
    words: tuple[str, ...] = ()
    title: str = Field("", max_length=5)


async def strict(arguments):
    async def show(context, given):
        return repr(given)

    return await Toolbox([tool("show", show, Strict)]).run(CONTEXT, "show", arguments)


async def test_json_lists_are_as_good_as_tuples():
    assert "words=('x', 'y')" in await strict({"words": ["x", "y"]})


@pytest.mark.parametrize(
    "arguments",
    [
        {"owner": 1002},
        {"user_id": 1002},
        {"session_id": "b" * 32},
        {"chat_id": {"$ne": ""}},
        {"count": "1"},
        {"count": True},
        {"count": 1.5},
        {"kind": "c"},
        {"words": "x"},
        {"words": [1]},
        {"title": "too long"},
        {"title": "\ud800"},
        [],
        None,
        "words",
    ],
    ids=repr,
)
async def test_arguments_that_do_not_fit_are_refused_before_the_tool_sees_them(arguments):
    """C58, C59"""
    with pytest.raises(ToolFailed, match="Invalid arguments"):
        await strict(arguments)


async def test_a_complaint_names_the_place_and_not_the_value():
    with pytest.raises(ToolFailed) as complaint:
        await strict({"count": "hunter2", "owner": "hunter3"})
    assert "count" in str(complaint.value)
    assert "owner" in str(complaint.value)
    assert "hunter" not in str(complaint.value)


async def test_the_answer_to_an_unknown_name_lists_the_known_ones():
    with pytest.raises(ToolFailed, match="echo"):
        await Toolbox([tool()]).run(CONTEXT, "transfer", {})


async def test_a_tool_learns_from_code_for_whom_it_works():
    seen = []

    async def look(context, given):
        seen.append(context)
        return "seen"

    await Toolbox([tool("look", look)]).run(CONTEXT, "look", {"words": "for Boris"})
    assert seen == [CONTEXT]
    with pytest.raises(AttributeError):
        CONTEXT.owner = None
