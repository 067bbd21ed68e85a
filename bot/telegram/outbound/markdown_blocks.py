"""Very long code becomes a file: no phone shows it as it is.

Only blocks of the answer itself are touched, none that lies in a list or a quotation. No word is
lost, none is added.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from types import MappingProxyType

import pyromark

from bot.telegram.outbound.events import fence_of, parsed, text_of
from bot.telegram.utf16 import utf16_len

MAX_CODE_CHARS = 12_000
"""UTF-16 units of code that are still read in messages: three of them."""
MAX_READ = 250_000
"""UTF-16 units of an answer in which code is looked for: the parser keeps every other thread
waiting while it reads them, for some 20 ms.
"""

ENDINGS = MappingProxyType(
    {
        "bash": "sh", "c++": "cpp", "csharp": "cs", "golang": "go", "javascript": "js", "kotlin": "kt",  # noqa: E501
        "markdown": "md", "python": "py", "ruby": "rb", "rust": "rs", "shell": "sh", "typescript": "ts", "yml": "yaml",  # noqa: E501
    }
)  # fmt: skip
MAX_ENDING_CHARS = 5


@dataclass(frozen=True, slots=True)
class File:
    """A text that is sent as a file."""

    name: str
    content: str

    @property
    def label(self) -> str:
        """What stands under it."""
        return f"{self.name} ({max(len(self.content.encode()) // 1024, 1)} KB)"


def pieces(markdown: str) -> Iterator[str | File]:
    """The answer in order, each very long block of code as a file of its own."""
    source, at, number = markdown.encode(), 0, 0
    for start, end, info, code in (
        _code_blocks(markdown) if MAX_CODE_CHARS < utf16_len(markdown) <= MAX_READ else ()
    ):
        if utf16_len(code) > MAX_CODE_CHARS:
            number += 1
            yield source[at:start].decode()
            yield File(f"code-{number}.{_ending(info)}", code)
            at = end
    yield source[at:].decode()


def _code_blocks(markdown: str) -> Iterator[tuple[int, int, str, str]]:
    """Yield the place in the UTF-8 source, the words behind the fence and the code of each block
    that lies in nothing else.
    """
    depth, info = 0, None
    code: list[str] = []
    for event, span in pyromark.events_with_range(markdown):
        name, value = parsed(event)
        if name == "Start":
            depth += 1
            info = fence_of(value) if depth == 1 else None
            code.clear()
        elif name == "End":
            depth -= 1
            if info is not None:
                yield span["start"], span["end"], info, "".join(code)
                info = None
        elif info is not None:
            code.append(text_of(value))


def _ending(info: str) -> str:
    language, *_ = info.lower().split() or [""]
    ending = ENDINGS.get(language, language)
    return (
        ending
        if ending.isalnum() and ending.isascii() and len(ending) <= MAX_ENDING_CHARS
        else "txt"
    )
