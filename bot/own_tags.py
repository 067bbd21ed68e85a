"""The tags with which the program marks what it gives the model, and the one escape that keeps
everybody else from writing them.

A model reads loosely: `< FILE >`, `&lt;file`, a full-width bracket or a letter with something
invisible beside it look like the tag to it. So whatever comes in (typed, forwarded, quoted, from
files and tools, in notes and summaries) passes `escape_tags`: a backslash after the bracket, and
nothing else of the text is changed. What is escaped already stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from html import escape

OWN_TAGS = (
    "sent",
    "conversation_summary",
    "task",
    "notes",
    "found",
    "file",
    "already_done",
    "previous_dialogue",
    "previous_summary",
    "transcript",
)

_NOTHING = "\u200b"
_INVISIBLE = (
    *(0xAD, 0x34F, 0x61C, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFEFF, 0xFFA0),
    *range(0x300, 0x370),
    *range(0x180B, 0x1810),
    *range(0x200B, 0x2010),
    *range(0x202A, 0x202F),
    *range(0x2060, 0x2070),
    *range(0xFE00, 0xFE10),
    *range(0xFFF9, 0xFFFC),
    *range(0xE0000, 0xE0200),
)
_ALIKE = {
    "<": "\uff1c\ufe64\u2039\u3008\u27e8\u276e\u1438",
    "/": "\uff0f\u2044\u2215",
    "_": "\uff3f-\u2010\u2011",
    "a": "\u0430\u0410\u03b1\u0391",
    "c": "\u0441\u0421\u03f2",
    "d": "\u0501",
    "e": "\u0435\u0415\u0451\u0395",
    "f": "\u03dc",
    "i": "\u0456\u0406\u03b9\u0399\u0131",
    "k": "\u043a\u041a\u03ba\u039a",
    "l": "\u04cf\u04c0",
    "m": "\u043c\u041c\u039c",
    "n": "\u0578\u039d",
    "o": "\u043e\u041e\u03bf\u039f",
    "p": "\u0440\u0420\u03c1\u03a1",
    "s": "\u0455\u0405\u017f",
    "t": "\u0442\u0422\u03c4\u03a4",
    "u": "\u03c5\u057d",
    "v": "\u03bd\u0475",
    "y": "\u0443\u0423\u03b3\u03a5",
}
"""What looks like it, besides what Unicode says is the same letter."""
_FULL_WIDTH = 0xFEE0
_MATHEMATICAL = 0x1D400
_STYLES = 13
"""Unicode has the alphabet in so many mathematical styles, each in capitals and small letters."""

_OPENS = re.compile(r"[<&\uff1c\ufe64\u2039\u3008\u27e8\u276e\u1438]")
_TAG = re.compile(
    rf"(?:<|&(?:lt|#0{{0,8}}60|#x0{{0,8}}3c);?)(?=[\s/{_NOTHING}]*+"
    rf"(?:{'|'.join(f'{_NOTHING}*+'.join(tag) for tag in OWN_TAGS)}){_NOTHING}*+(?!\w))"
)


def escape_tags(text: str) -> str:
    """The text, in which no spelling of a tag of ours is a tag."""
    if not _OPENS.search(text):
        return text
    plain = text.lower().replace("-", "_") if text.isascii() else text.translate(_plain())
    ends = [found.end() for found in _TAG.finditer(plain)]
    return "\\".join(text[start:end] for start, end in zip([0, *ends], [*ends, None], strict=True))


def escape_all(text: str) -> str:
    """The text as it may stand inside a tag of ours: it can neither close it nor hold another."""
    return escape(escape_tags(text), quote=False)


@cache
def _plain() -> Mapping[int, str]:
    """The letter that each character reads as, one for one."""
    return {
        **dict.fromkeys(_INVISIBLE, _NOTHING),
        **{ord(alike): letter for letter, them in _ALIKE.items() for alike in them},
        **{code: letter for letter in {*"".join(OWN_TAGS), *"ltx"} for code in _styled(letter)},
    }


def _styled(letter: str) -> Iterator[int]:
    if letter.isalpha():
        place = ord(letter) - ord("a")
        yield ord(letter.upper())
        yield from (ord(letter) + _FULL_WIDTH, ord(letter.upper()) + _FULL_WIDTH)
        for style in range(_STYLES):
            yield from (_MATHEMATICAL + 52 * style + case + place for case in (0, 26))
