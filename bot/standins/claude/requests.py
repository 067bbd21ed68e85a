"""The bodies of `messages` and `count_tokens`, and how a raw body is parsed into one of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag, ValidationError

from bot.standins.claude.refusals import Refused
from bot.standins.claude.shapes import (
    LIST_TAG,
    STRING_TAG,
    CacheControl,
    MessageShape,
    Shape,
    TextBlock,
    string_or_list,
)
from bot.standins.claude.toolsets import AnyTool, McpServer

TAGS_NOT_SHOWN = {LIST_TAG, STRING_TAG}


class AdaptiveThinking(Shape):
    """The model decides how long it thinks."""

    type: Literal["adaptive"]
    display: Literal["summarized", "omitted"] | None = None


class EnabledThinking(Shape):
    """Thinking within a budget."""

    type: Literal["enabled"]
    budget_tokens: Annotated[int, Field(ge=1024)]
    display: Literal["summarized", "omitted"] | None = None


class PlainThinking(Shape):
    """No thinking, or only between tools."""

    type: Literal["disabled", "between_tools"]


class FreeChoice(Shape):
    """The model may, or has to, call some tool."""

    type: Literal["auto", "any"]
    disable_parallel_tool_use: bool = False


class NamedChoice(Shape):
    """The model has to call this tool."""

    type: Literal["tool"]
    name: str
    disable_parallel_tool_use: bool = False


class NoChoice(Shape):
    """The model must not call a tool."""

    type: Literal["none"]


class Metadata(Shape):
    """Who is behind the request, opaquely."""

    user_id: Annotated[str, Field(max_length=512)] | None = None


class OutputFormat(Shape):
    """The schema an answer has to follow."""

    type: Literal["json_schema"]
    schema_: Annotated[dict[str, Any], Field(alias="schema")]


class OutputConfig(Shape):
    """Effort and format of the answer."""

    effort: Literal["low", "medium", "high", "xhigh", "max"] | None = None
    format: OutputFormat | None = None


class Diagnostics(Shape):
    """Asks why the cache was missed."""

    previous_message_id: str | None = None


class Prompt(Shape):
    """What `messages` and `count_tokens` have in common."""

    model: Annotated[str, Field(min_length=1)]
    messages: list[MessageShape]
    system: Annotated[
        Annotated[str, Tag(STRING_TAG)] | Annotated[list[TextBlock], Tag(LIST_TAG)],
        Discriminator(string_or_list),
    ] = ""
    tools: list[AnyTool] = Field(default_factory=list)
    mcp_servers: list[McpServer] = Field(default_factory=list)
    tool_choice: (
        Annotated[FreeChoice | NamedChoice | NoChoice, Field(discriminator="type")] | None
    ) = None
    thinking: (
        Annotated[AdaptiveThinking | EnabledThinking | PlainThinking, Field(discriminator="type")]
        | None
    ) = None
    cache_control: CacheControl | None = None
    output_config: OutputConfig | None = None
    speed: Literal["standard", "fast"] | None = None
    user_profile_id: str | None = None


class MessagesRequest(Prompt):
    """The body of `POST /v1/messages`."""

    max_tokens: Annotated[int, Field(ge=0)]
    stream: bool = False
    stop_sequences: list[str] = Field(default_factory=list)
    metadata: Metadata | None = None
    diagnostics: Diagnostics | None = None
    service_tier: Literal["auto", "standard_only"] = "auto"
    inference_geo: str | None = None
    container: dict[str, Any] | str | None = None


def _no_constant(name: str) -> Any:
    raise Refused(f"The request body is not valid JSON: unexpected {name}")


def parse(raw: bytes) -> dict[str, Any]:
    """The JSON object of a body; a lone surrogate is as bad as broken syntax."""
    try:
        body = json.loads(raw, parse_constant=_no_constant)
        json.dumps(body, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise Refused("The request body is not valid JSON: no low surrogate in string") from None
    except ValueError as error:
        raise Refused(f"The request body is not valid JSON: {error}") from None
    if not isinstance(body, dict):
        raise Refused("Input should be a valid dictionary")
    return body


def shaped(shape: type[Shape], body: Mapping[str, Any]) -> None:
    """Refuse a body that does not have this shape, naming the first fault."""
    try:
        shape.model_validate(body)
    except ValidationError as faults:
        fault = faults.errors(include_url=False, include_context=False)[0]
        place = ".".join(str(part) for part in fault["loc"] if part not in TAGS_NOT_SHOWN)
        raise Refused(f"{place}: {fault['msg']}") from None
