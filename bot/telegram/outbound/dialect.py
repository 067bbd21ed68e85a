"""What models write and CommonMark reads otherwise: put so that the parser reads what was meant.

`prepare` replaces signs that are to be shown as they are, and whole formulas, by single characters
that no text has (private use, planes 15 and 16), and marks the edges of emphasis in scripts without
blanks by a rare punctuation sign. `restore` brings everything back as it was written, so it does
not matter where the parser finds them: in code, in an address, in text. Each step goes over the
text once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

FIRST_FORMULA = 0xF0000
MAX_FORMULAS = 0xF000
LITERAL = 0x10FF00
SPOILER, SPOILER_END = "\U0010fe00", "\U0010fe01"
EDGE = "\U0001bc9f"
"""Counts as punctuation, so that a mark beside it may open and close."""
MAX_COLUMNS = 30
"""Wider tables stay as written: the parser fills each short row up with empty cells."""

RESERVED = re.compile(f"[\U000f0000-\U0010ffff{EDGE}]")
SCRIPT = "\u0590-\u1fff\u2e80-\ud7ff\uf900-\ufaff\ufe10-\ufe6f\uff00-\uffef\U00020000-\U0003ffff"
"""Scripts that have no blanks between words, or attach words to each other, with their
punctuation.
"""

_FORMULA_TOKEN = re.compile(r"\\\\|\\[()\[\]]|\\?\$\$?|`|~~~|\n(?=[ \t]*\n)")
_MATHS = re.compile(r"[\\^_=+<>*/|{}~-]")
_MONEY = re.compile(r"\d[\d.,]*\s.*?[^\W\d_]{2}")
_SPOILER = re.compile(
    r"(?<![^\s(\[{\"'«“])\|\|(?=[^\s|])([^|\n`]*[^\s|`])\|\|(?![^\s.,;:!?…)\]}\"'»”。、\uff0c\uff01\uff1f\uff1b\uff1a\uff09])"
)
_TAG = re.compile(r"(?<!\\)<(?!https?://[^\s<>]+>)")
_NAME = re.compile(r"(?<![\w\\])__[a-z0-9]+(?:_[a-z0-9]+)*__(?!\w)")
_PART_OF_NAME = re.compile(r"[(\[./\\=:'\"-]\w?")
_WORD = re.compile(
    r"(?:(?<![\w*\\])(\*{1,3})[^\W\d_]+|(?<=[^\W\d_])(\*\*)[^\W\d_]{2,})(?:\1|\2)(?!\*)"
)
_MARK = re.compile(r"(?<!\\)(?:\*+|~+)")
_PATH = re.compile(r"(?<=\w)\\\*(?=\.\w)")
_DELIMITERS = re.compile(r"(?m)^[ \t>|:-]+$")
_LABEL = re.compile(r"\[([^\[\]\n]{1,200})\](?!:)")
_DEFINITION = re.compile(r"(?m)^[ >]{0,12}(\[)([^\[\]\n]{1,200})\]:")
_FENCE = re.compile(r"(?m)^ {0,3}(`{3,}|~{3,})(.*)$")
_SPECIAL_NAMES = """
__init__ __main__ __name__ __file__ __all__ __call__ __str__ __repr__ __doc__ __dict__ __class__ __new__ __del__
__enter__ __exit__ __iter__ __next__ __len__ __eq__ __hash__ __getattr__ __setattr__ __getitem__ __setitem__ __slots__
__version__ __future__ __import__ __add__ __lt__ __gt__ __contains__ __await__ __aenter__ __aexit__ __pycache__
__proto__
"""  # noqa: E501
_SPECIAL = frozenset(_SPECIAL_NAMES.split())


class Formula(NamedTuple):
    """A formula as it was written."""

    source: str
    latex: str
    is_display: bool


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
    text, formulas = _without_formulas(markdown)
    text = _FENCE.sub(_Fences(), text)
    text = _SPOILER.sub(lambda found: f"{SPOILER}{found[1]}{SPOILER_END}", text)
    text = _TAG.sub(_literal, text).replace("[^", f"{chr(LITERAL + ord('['))}^")
    text = _NAME.sub(_name, _PATH.sub(_literal, text))
    text = _with_marks(text)
    text = _DELIMITERS.sub(
        lambda found: found[0] if found[0].count("|") <= MAX_COLUMNS else _literal(found), text
    )
    return Prepared(_with_definitions(text), formulas)


def _literal(found: re.Match[str]) -> str:
    """Take every ASCII sign of the match as it is."""
    return "".join(chr(LITERAL + ord(sign)) if "!" <= sign <= "~" else sign for sign in found[0])


# ----------------------------------------------------------------------------------------- formulas


def _without_formulas(markdown: str) -> tuple[str, list[Formula]]:
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
    for token in _FORMULA_TOKEN.finditer(markdown):
        sign = token[0]
        if sign in _BREAKS:
            yield from _unclosed(opened, last_bracket)
            opened = None
        elif (
            opened is not None
            and sign == _CLOSING.get(opened[0])
            and _closes(markdown, opened, token)
        ):
            latex = markdown[opened.end() : token.start()]
            source = markdown[opened.start() : token.end()]
            yield (
                opened.start(),
                token.end(),
                Formula(source, latex.strip(), opened[0] in {"$$", r"\["}),
            )
            opened = None
        elif _opens(markdown, opened, token):
            yield from _unclosed(opened, last_bracket)
            opened = token
        elif opened is not None and sign == _CLOSING.get(opened[0]):
            opened = None
    yield from _unclosed(opened, last_bracket)


def _unclosed(opened: re.Match[str] | None, last_bracket: int) -> Iterator[tuple[int, int, str]]:
    r"""Yield the sign where Markdown would eat its backslash: `\(`, and a `\[` that escapes nothing
    since no bracket follows.
    """
    if opened and (opened[0] == r"\(" or (opened[0] == r"\[" and opened.start() > last_bracket)):
        yield opened.start(), opened.end(), _literal(opened)


_BREAKS = frozenset({"`", "~~~", "\n"})
_CLOSING = {"$": "$", "$$": "$$", r"\(": r"\)", r"\[": r"\]"}


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
        is_word = after.isalnum() and after < "\u0250"
        return not (latex[-1].isspace() or "\n" in latex or is_word or _MONEY.match(latex))
    if token[0] == r"\]":
        return after != "(" and (latex[0].isspace() or _MATHS.search(latex) is not None)
    return True


# -------------------------------------------------------------------------------------- other signs


class _Fences:
    """Gives words that follow a closing fence on its line a line of their own."""

    def __init__(self) -> None:
        self._open = ""

    def __call__(self, found: re.Match[str]) -> str:
        fence, rest = found[1], found[2]
        if not self._open:
            self._open = fence if "`" not in rest or fence[0] == "~" else ""
            return found[0]
        if not fence.startswith(self._open):
            return found[0]
        if not rest.strip():
            self._open = ""
        elif rest[0] in " \t" and " " in rest.strip():
            self._open = ""
            return found[0].replace(fence + rest, f"{fence}\n{rest.strip()}")
        return found[0]


def _name(found: re.Match[str]) -> str:
    """Keep the underscores of a name of a program; `__word__` alone is emphasis."""
    text, (start, end) = found.string, found.span()
    before, after = text[start - 1 : start] if start else "", text[end : end + 2]
    is_part = bool(before and before in "./\\'\"=-") or (
        len(after) > 1 and bool(_PART_OF_NAME.fullmatch(after))
    )
    return _literal(found) if found[0] in _SPECIAL or is_part else found[0]


def _with_marks(text: str) -> str:
    """Take stars and tildes that are operators as they are; let emphasis begin and end beside any
    sign.
    """
    kept: set[int] = set()
    for word in _WORD.finditer(text):
        kept |= {word.start(), word.end() - len(word[1] or word[2])}

    def mark(found: re.Match[str]) -> str:
        return _mark(found, is_emphasis=found.start() in kept)

    return _MARK.sub(mark, text)


def _mark(found: re.Match[str], *, is_emphasis: bool) -> str:
    sign, start, end = found[0], found.start(), found.end()
    before, after = found.string[max(start - 1, 0) : start], found.string[end : end + 1]
    if sign == "~" or (before == after == "/") or (sign == "*" and "/" in {before, after}):
        return _literal(found)
    if not before.strip() or not after.strip():
        return sign
    if _SCRIPT.match(before) or _SCRIPT.match(after):
        return f"{EDGE}{sign}{EDGE}"
    is_operator = before.isalnum() and after.isalnum() and len(sign) < 3 and not is_emphasis  # noqa: PLR2004
    return _literal(found) if is_operator else sign


_SCRIPT = re.compile(f"[{SCRIPT}\u2014\u2018-\u201d\u2026]")


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
