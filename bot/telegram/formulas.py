"""Formulas in plain text, where the formatting library's way of writing them does not read well on a phone.

A root is written with a bar over each of its characters, which few fonts draw well: here it gets brackets. A lowered
bracket may open below the line and close on it: here it opens on it, too.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable

from telegramify_markdown import utf16_len

_BAR = "\u0305"
_ROOT = re.compile(f"([√∛∜])((?:[^{_BAR}]{_BAR})+)")
_HALF_LOWERED = re.compile("\u208d([^()\u208e\\n]*)\\)")

Moved = Callable[[int], int]


def readable(text: str) -> tuple[str, Moved]:
    """The text, and where an offset of the old one (in UTF-16 units) is now."""
    text = _HALF_LOWERED.sub(r"(\1)", text)
    ends, grown, at, units = [], [0], 0, 0
    for root in _ROOT.finditer(text):
        units += utf16_len(text[at : root.end()])
        at = root.end()
        ends.append(units)
        grown.append(grown[-1] + utf16_len(_plain(root)) - utf16_len(root[0]))
    return _ROOT.sub(_plain, text), lambda offset: offset + grown[bisect_right(ends, offset)]


def _plain(root: re.Match[str]) -> str:
    sign, under = root[1], root[2].replace(_BAR, "")
    return f"{sign}({under})" if len(under) > 1 else f"{sign}{under}"
