"""Tags of the program's own that a model repeats in its answer: taken out before anybody sees or
stores them.

They are no words of the answer, and a stored one would be read as the program's in the next
request. Inside code they stay, since there they are what is talked about; so does a bare `<file>`,
which people write for a file's name. The same reading serves a text that is whole and one that is
still growing.
"""

from __future__ import annotations

import re

from bot.content import Block
from bot.own_tags import OWN_TAGS

MAX_TAG_CHARS = 300
_NAMES = "|".join(OWN_TAGS)
_REST = rf"[\s/][^<>]{{0,{MAX_TAG_CHARS}}}"
_TAG = rf"<\s?(?!file>)(?:/\s?(?:{_NAMES})\s?|(?:{_NAMES})(?:{_REST})?)>"
_TOKEN = re.compile(
    rf"(?P<ticks>`+|~{{3,}})|(?P<blank>\n(?:[ \t]*+\n)++)|(?P<tag>{_TAG})", re.IGNORECASE
)
_PART = rf"<\s?/?\s?(?:[a-z_]{{0,{max(map(len, OWN_TAGS))}}}|(?:{_NAMES}){_REST})"
_UNFINISHED = re.compile(rf"(?:{_PART}|`+|~+|\n[ \t\n]*)\Z", re.IGNORECASE)
MIN_FENCE = 3


def without_echoes(block: Block) -> Block:
    """The block without tags of ours in its words."""
    if block["type"] != "text" or "<" not in block["text"]:
        return block
    echoes = EchoFilter()
    return {**block, "text": echoes.feed(block["text"]) + echoes.rest()}


class EchoFilter:
    """Takes the tags out of a text that arrives in pieces."""

    def __init__(self) -> None:
        self._held = ""
        self._code = ""
        """What opened the code we are in; empty outside."""
        self._is_fence = False
        self._line = ""
        """What of the present line has passed."""

    def feed(self, piece: str) -> str:
        """What may be shown now; the beginning of what could be a tag is held back."""
        text = self._held + piece
        unfinished = _UNFINISHED.search(text, max(len(text) - 2 * MAX_TAG_CHARS, 0))
        end = unfinished.start() if unfinished else len(text)
        self._held = text[end:]
        return self._passed(text[:end])

    def rest(self) -> str:
        """What was held back: nothing more comes."""
        held, self._held = self._held, ""
        return self._passed(held)

    def _passed(self, text: str) -> str:
        shown, at = [], 0
        for token in _TOKEN.finditer(text):
            self._follow(text[at : token.start()])
            is_echo = token["tag"] and not self._code
            shown.append(text[at : token.start()] + ("" if is_echo else token[0]))
            at = token.end()
            self._turn(token)
        self._follow(text[at:])
        return "".join((*shown, text[at:]))

    def _turn(self, token: re.Match[str]) -> None:
        """Enter code, or leave it."""
        marks, starts_line = token["ticks"] or "", not self._line.strip()
        if self._code:
            is_over = marks.startswith(self._code) and starts_line
            if is_over if self._is_fence else token["blank"] or marks == self._code:
                self._code = ""
        elif marks and (starts_line or marks[0] == "`"):
            self._code, self._is_fence = marks, starts_line and len(marks) >= MIN_FENCE
        self._follow(token[0])

    def _follow(self, text: str) -> None:
        self._line = (self._line + text).rpartition("\n")[2][-80:]
