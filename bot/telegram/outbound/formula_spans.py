r"""Where formulas stand in a text: `$…$`, `$$…$$`, `\(…\)` and `\[…\]`, and where they do not.

Dollars are money and variables of a shell far more often; what is not sure to be a formula is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from bot.telegram.outbound.placeholders import FIRST_FORMULA, MAX_FORMULAS, literal

_TOKEN = re.compile(r"\\\\|\\[()\[\]]|\\?\$\$?|`|~~~|\n(?=[ \t]*\n)")
_MATHS = re.compile(r"[\\^_=+<>*/|{}~-]")
_MONEY = re.compile(r"\d[\d.,]*\s.*?[^\W\d_]{2}")
_BREAKS = frozenset({"`", "~~~", "\n"})
_CLOSING = {"$": "$", "$$": "$$", r"\(": r"\)", r"\[": r"\]"}
_SHELL = frozenset({"{", "("})
"""What stands behind a dollar that begins a variable or a command."""


class Formula(NamedTuple):
    """A formula as it was written."""

    source: str
    latex: str
    is_display: bool


def without_formulas(markdown: str) -> tuple[str, list[Formula]]:
    """Return the text with one character for each formula, and the formulas."""
    formulas: list[Formula] = []
    parts: list[str] = []
    at = 0
    for start, end, found in _formulas(markdown):
        if len(formulas) == MAX_FORMULAS:
            break
        if isinstance(found, Formula):
            parts += [markdown[at:start], chr(FIRST_FORMULA + len(formulas))]
            formulas.append(found)
        else:
            parts += [markdown[at:start], found]
        at = end
    return "".join((*parts, markdown[at:])), formulas


def _formulas(markdown: str) -> Iterator[tuple[int, int, Formula | str]]:
    """Yield where each formula begins and ends. None holds code or a blank line.

    A sign that opens a formula which never ends comes as it is to be shown.
    """
    opened: re.Match[str] | None = None
    last_bracket = markdown.rfind("]")
    for token in _TOKEN.finditer(markdown):
        sign = token[0]
        is_closing = opened is not None and sign == _CLOSING.get(opened[0])
        if sign in _BREAKS:
            yield from _unclosed(opened, last_bracket)
            opened = None
        elif is_closing and opened is not None and _closes(markdown, opened, token):
            yield opened.start(), token.end(), _formula(markdown, opened, token)
            opened = None
        elif _opens(markdown, opened, token):
            yield from _unclosed(opened, last_bracket)
            opened = token
        elif is_closing:
            opened = None
    yield from _unclosed(opened, last_bracket)


def _formula(markdown: str, opened: re.Match[str], token: re.Match[str]) -> Formula:
    latex = markdown[opened.end() : token.start()].strip()
    return Formula(markdown[opened.start() : token.end()], latex, opened[0] in {"$$", r"\["})


def _unclosed(opened: re.Match[str] | None, last_bracket: int) -> Iterator[tuple[int, int, str]]:
    r"""Yield the sign where Markdown would eat its backslash: `\(`, and a `\[` that escapes nothing
    since no bracket follows.
    """
    if opened and (opened[0] == r"\(" or (opened[0] == r"\[" and opened.start() > last_bracket)):
        yield opened.start(), opened.end(), literal(opened[0])


def _opens(markdown: str, opened: re.Match[str] | None, token: re.Match[str]) -> bool:
    sign, start = token[0], token.start()
    before, after = markdown[max(start - 1, 0) : start], markdown[token.end() : token.end() + 1]
    if sign not in _CLOSING or (opened is not None and opened[0] != "$" and sign != opened[0]):
        return False
    return sign != "$" or not (after.isspace() or before.isalnum())


def _closes(markdown: str, opened: re.Match[str], token: re.Match[str]) -> bool:
    latex = markdown[opened.end() : token.start()]
    if not latex.strip():
        return False
    after = markdown[token.end() : token.end() + 1]
    if token[0] == "$":
        is_word = after in _SHELL or (after.isalnum() and after < "\u0250")
        return not (latex[-1].isspace() or "\n" in latex or is_word or _MONEY.match(latex))
    if token[0] == r"\]":
        return after != "(" and (latex[0].isspace() or _MATHS.search(latex) is not None)
    return True
