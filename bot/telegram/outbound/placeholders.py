"""Characters that stand for others while a text is parsed: no text has them by itself."""

from __future__ import annotations

import re

FIRST_FORMULA = 0xF0000
MAX_FORMULAS = 0xF000
LITERAL = 0x10FF00
SPOILER, SPOILER_END = "\U0010fe00", "\U0010fe01"
EDGE = "\U0001bc9f"
"""Counts as punctuation, so that a mark beside it may open and close."""

RESERVED = re.compile(f"[\U000f0000-\U0010ffff{EDGE}]")


def literal(text: str) -> str:
    """Take every ASCII sign of the text as it is."""
    return "".join(chr(LITERAL + ord(sign)) if "!" <= sign <= "~" else sign for sign in text)


def literal_match(found: re.Match[str]) -> str:
    """Take every ASCII sign of the match as it is."""
    return literal(found[0])
