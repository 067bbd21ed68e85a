"""The title of a Session: its first words."""

from __future__ import annotations

import regex

MAX_TITLE = 60
"""Grapheme clusters: what a reader takes for one character."""
MAX_TITLE_CODE_POINTS = 600


def title(text: str) -> str:
    """Name a Session after its first words, in any script, cut between words where there are any.

    No cut leaves half a character, or nothing: a word or a link that is too long is cut itself.
    """
    line = " ".join(text.split())
    start = line[:MAX_TITLE_CODE_POINTS]
    clusters: list[str] = regex.findall(r"\X", start)
    if len(clusters) <= MAX_TITLE and start == line:
        return line
    head = "".join(clusters[: MAX_TITLE - 1])
    at_word = head if line[len(head) :].startswith(" ") else head.rpartition(" ")[0]
    return (at_word if len(at_word) * 2 > len(head) else head).rstrip() + "…"
