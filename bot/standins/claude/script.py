"""Prepared answers, in order.

Summary requests are not served from it unless a test says so with `when`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bot.standins.claude.answers import Answer, Json, say
from bot.standins.claude.prompt import blocks_of

Line = Answer | Callable[[Json], Answer]


def is_summary(body: Json) -> bool:
    """Whether the request asks for a summary: no tools, and a transcript in the last message."""
    return not body.get("tools") and "<transcript" in last_words(body)


def is_chat(body: Json) -> bool:
    """Whether the request is anything but a summary."""
    return not is_summary(body)


def last_words(body: Json) -> str:
    """The text of the last message."""
    messages = body.get("messages") or [{"content": ""}]
    return "\n".join(
        block["text"] for block in blocks_of(messages[-1]["content"]) if block["type"] == "text"
    )


@dataclass(frozen=True, slots=True)
class Prepared:
    """A line of the script, and the requests it may answer."""

    line: Line
    when: Callable[[Json], bool]

    def play(self, body: Json) -> Answer:
        """The answer to this request."""
        return self.line if isinstance(self.line, Answer) else self.line(body)


class Script:
    """The lines that are still to be said."""

    def __init__(self) -> None:
        self._lines: list[Prepared] = []

    def __len__(self) -> int:
        return len(self._lines)

    def add(self, *lines: Line | str, when: Callable[[Json], bool] = is_chat) -> None:
        """Append lines; plain text is said."""
        self._lines.extend(
            Prepared(say(line) if isinstance(line, str) else line, when) for line in lines
        )

    def peek(self, body: Json) -> Prepared | None:
        """The first line meant for such a request."""
        return next((prepared for prepared in self._lines if prepared.when(body)), None)

    def spend(self, prepared: Prepared) -> None:
        """This line was said."""
        self._lines.remove(prepared)
