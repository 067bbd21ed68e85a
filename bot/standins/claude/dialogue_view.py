"""What the rule-based model sees of a conversation: the words in its request, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import unescape
from typing import Any

from bot.standins.claude.answers import Json
from bot.standins.claude.prompt import blocks_of

STAMP = re.compile(r"^\s*(?:\[\d{4}-\d\d-\d\d[^\]]*\]|<sent\b[^>]*/>)\s*", re.MULTILINE)
SUMMARY = re.compile(r"<conversation_summary\b[^>]*>(.*?)</conversation_summary>", re.DOTALL)
TASK = re.compile(r"<task\b[^>]*>(.*?)</task>", re.DOTALL)
FILE = re.compile(r'<file name="([^"]*)"[^>]*>(.*?)</file>', re.DOTALL)
LABEL = re.compile(r"\[(?:picture|pdf) ([^\]\n:]+)\]")
SPOKEN = re.compile(r"\[(?:voice|audio) message, written down by a program\]\n")
TAG = re.compile(r"</?[a-z_]+\b[^>\n]{0,80}>")


@dataclass(frozen=True, slots=True)
class Result:
    """What a tool answered to the call made just before."""

    tool: str
    text: str
    failed: bool


@dataclass(frozen=True, slots=True)
class DialogueView:
    """A request as the rule-based model reads it.

    `said`: the user's words, one entry a message, oldest first.
    """

    summary: str
    task: str
    said: tuple[str, ...]
    tools: dict[str, Json]
    results: tuple[Result, ...]
    seen: tuple[str, ...] = ()
    """The files that came with the last message, each in a few words."""

    @property
    def last(self) -> str:
        """What is to be answered."""
        return self.said[-1] if self.said else ""

    @property
    def russian(self) -> bool:
        """Whether it was said in Russian."""
        return re.search("[а-яё]", self.last, re.IGNORECASE) is not None

    def choose(self, english: str, russian: str) -> str:
        """The wording in the user's language."""
        return russian if self.russian else english

    @property
    def earlier(self) -> tuple[str, ...]:
        """Everything to recall from, the latest first: the user's words before the last ones, then
        the summary.
        """
        return (*reversed(self.said[:-1]), self.summary)


def read(body: Json) -> DialogueView:
    """The talk in a request."""
    texts = [_words(message) for message in body["messages"] if message["role"] == "user"]
    results = _results(body["messages"])
    spoken = [bare(text) for text in texts]
    said = [*filter(None, spoken[:-1]), *(filter(None, spoken[-1:]) if results else spoken[-1:])]
    allowed = (body.get("tool_choice") or {}).get("type") != "none"
    tools = {
        tool["name"]: tool for tool in body.get("tools") or () if allowed and "input_schema" in tool
    }
    seen = tuple(_files(body["messages"][-1]))
    return DialogueView(
        _found(SUMMARY, texts), _found(TASK, texts[-1:]), tuple(said), tools, results, seen
    )


def bare(text: str) -> str:
    """What the user said, without what the program added: files, summary, task, time stamps."""
    for added in (FILE, LABEL, SPOKEN, SUMMARY, TASK, STAMP):
        text = added.sub("", text)
    return text.strip()


def _found(pattern: re.Pattern[str], texts: Sequence[str]) -> str:
    return "\n".join(unescape(found.strip()) for found in pattern.findall("\n".join(texts)))


def _words(message: Json) -> str:
    return "\n".join(
        block["text"] for block in blocks_of(message["content"]) if block["type"] == "text"
    )


def _files(message: Json) -> Iterator[str]:
    """The files of a message: what they are called, of which kind they are, and how large."""
    name = ""
    for block in blocks_of(message["content"]):
        if block["type"] == "text":
            yield from (
                f"{found[1]} (text, {len(found[2].strip())} characters)"
                for found in FILE.finditer(block["text"])
            )
            name = label[1] if (label := LABEL.fullmatch(block["text"])) else ""
        elif source := block.get("source"):
            kind, size = (
                source["media_type"].rpartition("/")[2].upper(),
                len(source.get("data", "")) * 3 // 4,
            )
            yield f"{block.get('title') or name or 'photo'} ({kind}, {size / 1024:.1f} KB)"


def _results(messages: Sequence[Json]) -> tuple[Result, ...]:
    names = {
        block["id"]: block["name"]
        for message in messages
        for block in blocks_of(message["content"])
        if block["type"] == "tool_use"
    }
    return tuple(
        Result(
            names.get(block["tool_use_id"], "?"), _result_text(block), bool(block.get("is_error"))
        )
        for block in blocks_of(messages[-1]["content"])
        if block["type"] == "tool_result"
    )


def _result_text(block: Json) -> str:
    content: Any = block.get("content") or ""
    return unescape(
        TAG.sub("", "\n".join(inner.get("text", "") for inner in blocks_of(content)))
    ).strip()


def arguments(tool: Json, words: str) -> dict[str, Any]:
    """An input that fits the tool's schema, with `words` wherever it asks for text."""
    schema = tool["input_schema"]
    filled = _fill(schema, schema.get("$defs", {}), words)
    return dict(filled)


def _fill(schema: Json, defs: Json, words: str) -> Any:
    if "$ref" in schema:
        return _fill(defs[schema["$ref"].rsplit("/", 1)[-1]], defs, words)
    if "enum" in schema:
        return schema["enum"][0]
    match schema.get("type"):
        case "object":
            needed = schema.get("required") or ()
            return {name: _fill(schema["properties"][name], defs, words) for name in needed}
        case "array":
            return [_fill(schema.get("items", {}), defs, part) for part in _parts(words)]
        case "integer" | "number":
            return 1
        case "boolean":
            return False
    return words


def _parts(words: str) -> list[str]:
    """A list is read from what was said: "plan a trip: book, pack, go"."""
    _, colon, listed = words.partition(":")
    parts = re.split(r"[,;\n]+", listed) if colon else [words]
    return [part.strip() for part in parts if part.strip()] or [words]
