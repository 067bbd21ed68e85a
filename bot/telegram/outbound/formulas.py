"""LaTeX formulas in plain Unicode, as they read on a phone.

One pass over the tokens; no macro writes more than it was written with, so neither time nor length
can run away. A formula that is too deep or too long is shown as it was written.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from bot.telegram.outbound.symbols import (
    BLANKS,
    DOUBLE,
    LOWERED,
    MARKS,
    NOTHING,
    RAISED,
    SIGNS,
    WORDS,
)

MAX_DEPTH = 12
"""Groups inside each other; nobody reads deeper formulas in one line."""
MAX_FORMULA = 2_000
"""Characters."""

_TOKEN = re.compile(r"\\[A-Za-z]+\*?|\\.|\s+|.", re.DOTALL)
_TEXT_MACROS = """
text textbf textit textrm texttt textsf mathrm mathbf mathit mathsf mathtt mathcal mathscr mathfrak boldsymbol bm
operatorname mbox hbox overbrace underbrace boxed phantom pmb mathop substack tag label
"""  # noqa: E501
_TEXTS = frozenset(_TEXT_MACROS.split())
_FRACTIONS = frozenset({"frac", "dfrac", "tfrac", "cfrac"})
_BINOMIALS = frozenset({"binom", "dbinom", "tbinom"})
_SHAPES = {"^": RAISED, "_": LOWERED}
_ROOTS = {"": "√", "2": "√", "3": "∛", "4": "∜"}


class TooDeep(ValueError):
    """The formula is too deep to be read in one line."""


def readable(latex: str) -> str | None:
    """Return the formula in plain Unicode; None where it has to stay as it was written."""
    if len(latex) > MAX_FORMULA:
        return None
    try:
        shown = _Reader(latex).read_group("")
    except TooDeep:
        return None
    lines = (" ".join(line.split()) for line in shown.split("\n"))
    return "\n".join(line for line in lines if line) or None


class _Reader:
    """Reads the tokens of one formula from left to right."""

    def __init__(self, latex: str) -> None:
        self._tokens = _TOKEN.findall(latex)
        self._at = 0
        self._depth = 0

    def read_group(self, closing: str) -> str:
        """Return what stands before `closing`, and go behind it."""
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise TooDeep
        parts: list[str] = []
        while (token := self._next()) and token != closing:
            parts.append(self._read(token))
        self._depth -= 1
        return "".join(parts)

    def _next(self) -> str:
        token: str = self._tokens[self._at] if self._at < len(self._tokens) else ""
        self._at += 1
        return token

    def _peek(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _argument(self) -> str:
        while self._peek().isspace():
            self._at += 1
        return self._read(self._next()).strip(" ") if self._peek() != "}" else ""

    def _read(self, token: str) -> str:
        if token.startswith("{"):
            return self.read_group("}")
        if token in _SHAPES:
            return _shifted(token, self._argument_within())
        if token in {"&", "~"} or token.isspace():
            return " "
        return self._macro(token[1:].rstrip("*")) if len(token) > 1 else token

    def _argument_within(self) -> str:
        """Return the next argument; it lies one deeper, whether it has brackets or none."""
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise TooDeep
        argument = self._argument() if self._peek() else ""
        self._depth -= 1
        return argument

    def _macro(self, name: str) -> str:
        if name in SIGNS:
            return SIGNS[name]
        if name in WORDS:
            return f"{name} " if self._peek()[:1].isalnum() or self._peek()[:1] == "\\" else name
        if name in BLANKS:
            return BLANKS[name]
        if name in NOTHING:
            return self._sized() if name in {"left", "right"} else ""
        if name in {"begin", "end"}:
            self._argument_within()
            return ""
        return self._applied(name)

    def _applied(self, name: str) -> str:
        """Return a macro with what it is applied to."""
        if name in _FRACTIONS:
            return f"{_bracketed(self._argument_within())}/{_bracketed(self._argument_within())}"
        if name in _BINOMIALS:
            return f"C({self._argument_within()},{self._argument_within()})"
        if name == "sqrt":
            return self._root()
        if name in MARKS or name in _TEXTS or name == "mathbb":
            return _dressed(name, self._argument_within())
        return f"\\{name}" if name.isalpha() else name

    def _sized(self) -> str:
        """Leave out the dot that stands for no bracket."""
        if self._peek() == ".":
            self._at += 1
        return ""

    def _root(self) -> str:
        degree = ""
        if self._peek() == "[":
            self._at += 1
            degree = self.read_group("]")
        sign = _ROOTS.get(degree) or f"{_lifted(degree, RAISED) or f'({degree})'}√"
        return f"{sign}{_bracketed(self._argument_within())}"


def _dressed(name: str, argument: str) -> str:
    """Return the argument with its accent, or in letters of its kind."""
    if name == "mathbb":
        return "".join(DOUBLE.get(sign, sign) for sign in argument)
    return argument and argument + MARKS.get(name, "")


def _bracketed(text: str) -> str:
    """Put brackets around what would fall apart without."""
    return (
        text
        if all(sign.isalnum() or sign in "_." or sign > "\u02ff" for sign in text)
        else f"({text})"
    )


def _lifted(text: str, shapes: Mapping[str, str]) -> str:
    """Return the text in raised or lowered letters; nothing where one of them does not exist."""
    return "".join(shapes[sign] for sign in text) if all(sign in shapes for sign in text) else ""


def _shifted(token: str, text: str) -> str:
    if lifted := _lifted(text, _SHAPES[token]):
        return lifted
    return f"{token}{text}" if len(text) <= 1 else f"{token}({text})"
