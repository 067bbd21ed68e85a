"""Tools: what the model may do, and nothing that could reach another person.

A Tool never learns from the model whose words it works on: Owner and Place come from code, in the
ToolContext, and a schema that asks for them is refused when the bot starts (so is one that is open
to extra fields, through which they could come in). Arguments are checked, strictly, before a tool
sees them.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from bot.content import clean
from bot.errors import StartError, StoreUnavailable, ToolFailed
from bot.own_tags import escape_tags
from bot.owner import Owner, Place
from bot.ports import Json, Record
from bot.session import Task

log = logging.getLogger(__name__)

MAX_RESULT_CHARS = 2_000
"""Of what a tool did outside, as it is recorded for another run."""
STATUS = "status_other"
_STATUS_OF_PROVIDER = {"web_search": "status_web", "web_fetch": "status_web"}

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_WORDS = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")
_IDENTITY = frozenset({"owner", "user", "chat", "session", "tenant", "thread", "place", "lane"})
_SHAPES = frozenset({"type", "$ref", "anyOf", "oneOf", "allOf", "enum", "const"})


class Arguments(BaseModel):
    """The base of every tool's input: closed, strict and unchangeable."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


@dataclass(slots=True)
class TaskSlot:
    """Where the plan tools keep the Session's Task during one turn; committed with the turn or not
    at all.
    """

    task: Task | None = None


@dataclass(frozen=True, slots=True)
class ToolContext:
    """For whom and in which turn a tool runs. Made by code, never by the model."""

    owner: Owner
    place: Place
    turn: int
    at: datetime
    """When the question was sent."""
    record: Record
    """What survives of this run, should it die."""
    slot: TaskSlot = field(default_factory=TaskSlot)


@dataclass(frozen=True, slots=True)
class Tool:
    """Something the model can ask for by name.

    `run` raises ToolFailed with a sentence meant for the model.
    """

    name: str
    description: str
    arguments: type[BaseModel]
    run: Callable[[ToolContext, Any], Awaitable[str]]
    has_effect: bool = False
    """It acts on the world outside (sends, orders, pays): never run twice for one call of the
    model, not even when the process dies. What is kept in our own store is safe by its operation id
    and needs no such care.
    """
    writes_tags: bool = False
    """Its results stand in tags of ours, with what is inside escaped. Of any other tool they are
    foreign text, and are escaped as a whole.
    """
    status: str = STATUS
    """Names the words that a person sees while it runs."""

    @property
    def spec(self) -> Json:
        """The tool in the shape of the Messages API."""
        return {
            "name": self.name,
            "description": self.description,
            "input_schema": _untitled(self.arguments.model_json_schema()),
        }


class Toolbox:
    """The tools of this bot, in one order for good: the list is part of the prompt's cached
    prefix.
    """

    def __init__(self, tools: Iterable[Tool] = (), of_provider: Sequence[Json] = ()) -> None:
        """`of_provider`: tools that the model's provider runs by itself."""
        self._tools: dict[str, Tool] = {}
        for tool in sorted(tools, key=lambda tool: tool.name):
            if tool.name in self._tools:
                raise StartError(f"two tools are named {tool.name!r}")
            _check(tool)
            self._tools[tool.name] = tool
        self.specs: tuple[Json, ...] = (*(tool.spec for tool in self._tools.values()), *of_provider)

    def status_of(self, name: str) -> str:
        """Names what a person sees while this tool runs, ours or the provider's."""
        return (
            self._tools[name].status
            if name in self._tools
            else _STATUS_OF_PROVIDER.get(name, STATUS)
        )

    def escaped(self, name: str, result: str) -> str:
        """What came of a tool, in which it cannot write a tag of ours."""
        tool = self._tools.get(name)
        return result if tool is not None and tool.writes_tags else escape_tags(result)

    async def run(self, context: ToolContext, name: str, arguments: Json) -> str:
        """Check the arguments against the tool's schema, then run it.

        Raises ToolFailed for both.
        """
        tool = self._tools.get(name)
        if tool is None:
            raise ToolFailed(
                f"There is no tool of that name. The tools are: {', '.join(self._tools) or 'none'}."
            )
        try:
            valid = tool.arguments.model_validate_json(json.dumps(arguments), strict=True)
        except ValidationError as invalid:
            raise ToolFailed(f"Invalid arguments: {_complaint(invalid)}.") from None
        if not tool.has_effect:
            return await tool.run(context, valid)
        # The model's own ids are new in each run, so the arguments name the call.
        key = sha256(json.dumps(arguments, sort_keys=True).encode()).hexdigest()
        return await _once(context, tool, valid, key)


async def _once(context: ToolContext, tool: Tool, arguments: BaseModel, key: str) -> str:
    """Record the call before it acts and its result afterwards; an earlier run's is only told."""
    context.record.require_lease()
    if not await context.record.effect_begins(context.turn, tool.name, key):
        return await _earlier(context, tool.name, key)
    said: str = clean(await tool.run(context, arguments))
    try:
        await context.record.effect_ended(context.turn, tool.name, key, said[:MAX_RESULT_CHARS])
    except StoreUnavailable as failure:
        # The model learns the result all the same; only another run would not.
        log.warning("turn %d: what %s did is not recorded: %s", context.turn, tool.name, failure)
    return said


async def _earlier(context: ToolContext, name: str, key: str) -> str:
    for effect in await context.record.effects(context.turn):
        if (effect.tool, effect.arguments) == (name, key) and effect.result is not None:
            return effect.result
    raise ToolFailed(
        "This was begun before an interruption; its outcome is unknown. Do not repeat it: say so."
    )


def _complaint(invalid: ValidationError) -> str:
    """What is wrong and where, without the values."""
    errors = invalid.errors(include_url=False, include_context=False, include_input=False)
    return "; ".join(
        f"{'.'.join(map(str, error['loc'])) or 'input'}: {error['msg']}" for error in errors[:5]
    )


def _untitled(schema: object) -> object:
    """The schema without pydantic's titles, which repeat the names and are paid for with every
    request.
    """
    if isinstance(schema, Mapping):
        return {
            key: _untitled(value)
            for key, value in schema.items()
            if key != "title" or not isinstance(value, str)
        }
    return [_untitled(item) for item in schema] if isinstance(schema, list) else schema


# ------------------------------------------------------------------------------------- registration


def _check(tool: Tool) -> None:
    if not _NAME.fullmatch(tool.name):
        raise StartError(
            f"{tool.name!r} cannot be the name of a tool: letters, digits, _ and -, at most 64"
        )
    schema = tool.arguments.model_json_schema()
    for node in _nodes(schema):
        if not _SHAPES & node.keys() or (
            node.get("type") == "object" and node.get("additionalProperties") is not False
        ):
            raise StartError(
                f"tool {tool.name!r} takes fields it does not name; forbid extra fields and "
                f"avoid Any and dict"
            )
        for name in node.get("properties", {}):
            if _names_identity(name):
                raise StartError(
                    f"tool {tool.name!r} asks the model for {name!r}; take it from the "
                    f"ToolContext instead"
                )


def _nodes(schema: Json) -> Iterator[Json]:
    """The schema and every schema inside it."""
    yield schema
    inner: list[Json] = [*schema.get("properties", {}).values(), *schema.get("$defs", {}).values()]
    for key in ("anyOf", "oneOf", "allOf", "prefixItems"):
        inner += schema.get(key, ())
    inner += [
        schema[key]
        for key in ("items", "additionalProperties")
        if isinstance(schema.get(key), Mapping)
    ]
    for node in inner:
        yield from _nodes(node)


def _names_identity(name: str) -> bool:
    words = [word.lower() for word in _WORDS.findall(name)]
    while len(words) > 1 and words[-1] in {"id", "ids"}:
        words.pop()
    last = words[-1] if words else ""
    return any(last in {word, f"{word}s", f"{word}id", f"{word}ids"} for word in _IDENTITY)
