"""Addresses that stand under words: a client shows the words alone, the model is to see both."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from telegram import MessageEntity

MAX_ADDRESS_CHARS = 1000


def with_addresses(text: str, entities: Sequence[MessageEntity]) -> str:
    """The text with each address in parentheses behind the words that it stands under."""
    units = text.encode("utf-16-le", "surrogatepass")
    links = {
        2 * (one.offset + one.length): one.url[:MAX_ADDRESS_CHARS]
        for one in entities
        if one.type == MessageEntity.TEXT_LINK and one.url
    }
    shown = {end: url for end, url in links.items() if 0 < end <= len(units) and url not in text}
    cuts = sorted({0, *shown, len(units)})
    pieces = [
        units[start:end].decode("utf-16-le", "replace")
        + (f" ({shown[end]})" if end in shown else "")
        for start, end in pairwise(cuts)
    ]
    return "".join(pieces) if shown else text
