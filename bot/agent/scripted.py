"""A model that follows a script, so that a test reads like a dialogue. It ships with the bot and
needs no network.

    model = Scripted(calls("remember", text="tea"), breaks("Half a sen"), says("Noted."))

Each line answers one call. It is as strict as the real one about what it is sent: a request that
the Messages API would refuse is refused here, too. `requests` holds what was asked, as it was at
that moment.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace

from bot.agent.streamed import parse_arguments
from bot.content import as_block, text_block, words
from bot.errors import ModelBusy, ModelError, ModelMisconfigured
from bot.ports import Completion, Json, Request
from bot.ports.model import unbilled, unseen
from bot.usage import Usage

USAGE = Usage(input_tokens=100, output_tokens=10)


@dataclass(frozen=True, slots=True)
class Line:
    """One answer of the script.

    With `error` it breaks after its text was shown; `is_endless`: it never ends.
    """

    content: tuple[Json, ...] = ()
    stop_reason: str = "end_turn"
    usage: Usage = USAGE
    error: ModelError | None = None
    is_endless: bool = False

    def and_(self, other: Line) -> Line:
        """Both in one answer, with the stop reason of the second."""
        return replace(other, content=(*self.content, *other.content))


Writer = Callable[[Request], Line]


def says(text: str, *, stop: str = "end_turn", usage: Usage = USAGE) -> Line:
    """Words, and the end of the turn."""
    return Line((text_block(text),) if text else (), stop, usage)


def calls(name: str, /, **arguments: object) -> Line:
    """One tool call; join several with `and_`."""
    return Line(({"type": "tool_use", "id": "", "name": name, "input": arguments},), "tool_use")


def writes(name: str, arguments: str) -> Line:
    """One tool call with its arguments as the model wrote them, whole or not."""
    return Line(({"type": "tool_use", "id": "", "name": name, "input": arguments},), "tool_use")


def thinks(thought: str) -> Line:
    """Thinking, to be followed by something with `and_`."""
    return Line(({"type": "thinking", "thinking": thought, "signature": "signed"},))


def fails(kind: Callable[..., ModelError], message: str = "", **fields: object) -> Line:
    """A refused call: nothing was shown and, unless `usage` says so, nothing is billed."""
    return Line(error=kind(message, **{"usage": Usage(), **fields}))


def breaks(text: str, error: ModelError | None = None) -> Line:
    """A stream torn after some words."""
    return replace(says(text), error=error or ModelBusy("the stream broke"))


def hangs(text: str = "") -> Line:
    """Some words, or none, and then silence for ever."""
    return replace(says(text), is_endless=True)


class Scripted:
    """The Model of a test. `otherwise` writes the answers once the script has ended."""

    def __init__(self, *script: Line | Writer, otherwise: Writer | None = None) -> None:
        self.script = list(script)
        self.otherwise = otherwise
        self.requests: list[Request] = []

    async def complete(
        self,
        request: Request,
        on_text: Callable[[str], None],
        on_start: Callable[[Usage], None] = unbilled,
        on_tool: Callable[[str], None] = unseen,
        on_hidden: Callable[[str], None] = unseen,
    ) -> Completion:
        """Answer with the script's next line."""
        self.requests.append(deepcopy(request))
        if complaint := illegal(request.messages):
            raise ModelMisconfigured(complaint)
        line = self._next(request)
        if line.error is None:
            on_start(replace(line.usage, output_tokens=0))
        for block in line.content:
            if block["type"] in {"server_tool_use", "mcp_tool_use"}:
                on_tool(block["name"])
            on_hidden(_hidden(block))
        for piece in re.findall(r"\s*\S+\s*", words(map(as_block, line.content))):
            on_text(piece)
            await asyncio.sleep(0)
        if line.is_endless:
            await asyncio.Event().wait()
        if line.error:
            raise line.error
        content = self._named(line.content)
        malformed = frozenset(block["id"] for block in content if block.get("input", ()) is None)
        whole = tuple(
            as_block({**block, "input": block["input"] or {}} if "input" in block else block)
            for block in content
        )
        return Completion(whole, line.stop_reason, line.usage, malformed)

    def _next(self, request: Request) -> Line:
        line = self.script.pop(0) if self.script else self.otherwise
        if line is None:
            raise LookupError("the script has no line for this call")
        return line if isinstance(line, Line) else line(request)

    def _named(self, content: Sequence[Json]) -> list[Json]:
        """A tool call gets an id that is new in every call, as with the real API; malformed
        arguments are None.
        """
        name = f"toolu_{len(self.requests)}_"
        return [
            {**_read(block), "id": f"{name}{position}"} if block.get("id") == "" else block
            for position, block in enumerate(content)
        ]


def _hidden(block: Json) -> str:
    """What was written for a block that is not shown: thinking, or the arguments of a tool."""
    given = block.get("input", block.get("thinking", ""))
    return given if isinstance(given, str) else json.dumps(given)


def _read(call: Json) -> Json:
    given = call["input"]
    return {**call, "input": parse_arguments(given)} if isinstance(given, str) else call


def illegal(messages: Sequence[Json]) -> str:
    """Why the Messages API would refuse these messages; empty when it would not."""
    if not messages or messages[0]["role"] != "user":
        return "the first message must be the user's"
    open_calls: list[str] = []
    previous = ""
    for message in messages:
        if complaint := _misplaced(message, previous, open_calls):
            return complaint
        previous = message["role"]
        open_calls = [block["id"] for block in message["content"] if block["type"] == "tool_use"]
    if not all(map(_is_answered, messages[:-1])):  # in the last one the provider may have paused
        return "mcp_tool_use without mcp_tool_result"
    return "tool_use without tool_result" if open_calls else ""


def _is_blank(block: Json) -> bool:
    return bool(block["type"] == "text" and not block["text"].strip())


def _misplaced(message: Json, previous: str, open_calls: Sequence[str]) -> str:
    content = message["content"]
    results = [block["tool_use_id"] for block in content if block["type"] == "tool_result"]
    if message["role"] == previous:
        return "roles must alternate"
    if not content or any(map(_is_blank, content)):
        return "text content blocks must be non-empty"
    if sorted(results) != sorted(open_calls):
        return "each tool_use needs one tool_result in the next message"
    if any(block["type"] != "tool_result" for block in content[: len(results)]):
        return "tool_result blocks must come first"
    return ""


def _is_answered(message: Json) -> bool:
    """Whether each call of an MCP server has its result beside it; where calls of ours are open, it
    may wait.
    """
    kinds = [block["type"] for block in message["content"]]
    return "tool_use" in kinds or kinds.count("mcp_tool_use") <= kinds.count("mcp_tool_result")
