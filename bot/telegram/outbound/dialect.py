"""What models write and CommonMark reads otherwise: put so that the parser reads what was meant.

`prepare` replaces signs that are to be shown as they are, and whole formulas, by single characters
that no text has (private use, planes 15 and 16), and marks the edges of emphasis in scripts without
blanks by a rare punctuation sign. `restore` brings everything back as it was written, so it does
not matter where the parser finds them: in code, in an address, in text. Each step goes over the
text once.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from bot.telegram.outbound.emphasis import with_marks
from bot.telegram.outbound.fences import with_fences
from bot.telegram.outbound.formula_spans import Formula, without_formulas
from bot.telegram.outbound.placeholders import (
    EDGE,
    FIRST_FORMULA,
    LITERAL,
    RESERVED,
    SPOILER,
    SPOILER_END,
    literal,
    literal_match,
)

MAX_COLUMNS = 30
"""Wider tables stay as written: the parser fills each short row up with empty cells."""

_SPOILER = re.compile(
    r"(?<![^\s(\[{\"'«“])(?<![-<>=+*/^|≤≥≠!] )"
    r"\|\|(?=[^\s|])([^|\n`]*[^\s|`])\|\|"
    r"(?![^\s.,;:!?…)\]}\"'»”。、\uff0c\uff01\uff1f\uff1b\uff1a\uff09])"
    r"(?!\s*(?:<(?![A-Za-z/])|[>=+*/^|≤≥≠]|-\s*\|\|))"
)
_TAG = re.compile(r"(?<!\\)<(?!https?://[^\s<>]+>)")
_DELIMITERS = re.compile(r"(?m)^[ \t>|:-]+$")
_LABEL = re.compile(r"\[([^\[\]\n]{1,200})\](?!:)")
_DEFINITION = re.compile(r"(?m)^[ >]{0,12}(\[)([^\[\]\n]{1,200})\]:")
_INDEXED = re.compile(
    r"(?<=[A-Za-z0-9_\])])\[(?=[^\[\]\n]{0,200}\]\((?!\s*<?(?:[a-z][a-z0-9+.-]*:|/|#|\.|www\.)))"
)
_SUM = re.compile(r"(?m)(?:^[+-] [\d(][^\n]*\n?)+")
_SIGN = re.compile(r"(?m)^[+-](?= )")
_UNDERLINE = re.compile(r"(?<=\n) {0,3}(?:={1,2}|--?)(?=[ \t]*(?:\n|$))")
_CONTINUED = re.compile(r"(?<!\\)\\(?=\n)")
_ITEM = re.compile(r"[ >]*(?:[-+*]|\d{1,9}[.)])(?:\s|$)")


@dataclass(frozen=True, slots=True)
class Prepared:
    """A text for the parser, and what its placeholders stand for."""

    text: str
    formulas: Sequence[Formula]

    def formula(self, sign: str) -> Formula | None:
        """Return the formula this character stands for."""
        at = ord(sign) - FIRST_FORMULA
        return self.formulas[at] if 0 <= at < len(self.formulas) else None

    def restore(self, text: str) -> str:
        """Return the text as it was written."""
        return RESERVED.sub(self._original, text)

    def _original(self, found: re.Match[str]) -> str:
        sign = found[0]
        if formula := self.formula(sign):
            return formula.source
        if sign in {SPOILER, SPOILER_END}:
            return "||"
        return "" if sign == EDGE else chr(ord(sign) - LITERAL)


def prepare(markdown: str) -> Prepared:
    """Return the text as the parser should read it. It must have no reserved character."""
    text, formulas = without_formulas(markdown)
    text = with_fences(text)
    text = _SPOILER.sub(lambda found: f"{SPOILER}{found[1]}{SPOILER_END}", text)
    text = _TAG.sub(literal_match, text).replace("[^", f"{literal('[')}^")
    text = _INDEXED.sub(literal_match, _CONTINUED.sub(literal_match, text))
    text = _UNDERLINE.sub(_underline, _SUM.sub(_sum, text))
    text = _DELIMITERS.sub(
        lambda found: literal_match(found) if found[0].count("|") > MAX_COLUMNS else found[0],
        with_marks(text),
    )
    return Prepared(_with_definitions(text), formulas)


def _sum(found: re.Match[str]) -> str:
    """Keep the signs of numbers that are added and subtracted line by line: they are no list."""
    lines = found[0]
    has_plus = lines.startswith("+") or "\n+" in lines
    return _SIGN.sub(literal_match, lines) if has_plus else lines


def _underline(found: re.Match[str]) -> str:
    """Keep a lone `=` or `-` below words: nobody underlines a heading so shortly."""
    end = found.start() - 1
    above = found.string[found.string.rfind("\n", 0, end) + 1 : end]
    return literal(found[0]) if above.strip() and not _ITEM.match(above) else found[0]


def _with_definitions(text: str) -> str:
    """Show the definition of an address that no link uses, and each but the first of one label."""
    if "]:" not in text:
        return text
    free = {_key(found[1]) for found in _LABEL.finditer(text)}

    def definition(found: re.Match[str]) -> str:
        if (key := _key(found[2])) in free:
            free.discard(key)
            return found[0]
        at = found.start(1) - found.start()
        return f"{found[0][:at]}{chr(LITERAL + ord('['))}{found[0][at + 1 :]}"

    return _DEFINITION.sub(definition, text)


def _key(label: str) -> str:
    return " ".join(label.split()).casefold()
