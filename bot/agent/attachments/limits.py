"""Which files a request carries: a sawtooth, like compaction.

Past a bound the files of the oldest messages give way until half of it is free, so the front of the
prompt changes once in many files and not with each. It is a function of the messages alone: every
replica decides alike. The latest message keeps what it has, and has no more than the bound by
itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

from bot.content import Block, FileBlock, files_of
from bot.tokens import PAGE_TOKENS

MAX_FILES = 20
MAX_BYTES = 20 * 2**20
"""As base64 they are a third larger, and the whole request may have 32 MB."""
MAX_TOKENS = 100 * PAGE_TOKENS
"""The provider takes a hundred pages in a request, of all its PDFs together."""
KEPT_SHARE = 0.5

Weight = tuple[int, int, int]
MAX_WEIGHT: Weight = (MAX_FILES, MAX_BYTES, MAX_TOKENS)


def fitting(files: Sequence[FileBlock]) -> Mapping[str, Weight]:
    """The first of these files, as many as one message may have: what they weigh, by their unique
    ids.
    """
    fits: dict[str, Weight] = {}
    for block in files:
        more = {**fits, block["unique_id"]: (1, block["bytes"], block.get("tokens", 0))}
        if not _is_over([more], 1):
            fits = more
    return fits


def shown(contents: Sequence[Sequence[Block]]) -> AbstractSet[str]:
    """The unique ids of the files that a request made of these messages carries."""
    kept: list[Mapping[str, Weight]] = []
    for content in contents:
        if own := fitting(files_of(content)):
            kept.append(own)
            if _is_over(kept, 1):
                while len(kept) > 1 and _is_over(kept, KEPT_SHARE):
                    del kept[0]
    return {unique for own in kept for unique in own}


def _is_over(kept: Sequence[Mapping[str, Weight]], share: float) -> bool:
    weights = [weight for own in kept for weight in own.values()]
    return any(
        sum(column) > share * maximum
        for column, maximum in zip(zip(*weights, strict=True), MAX_WEIGHT, strict=False)
    )
