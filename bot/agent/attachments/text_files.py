"""The words of a text file, whatever its writer's machine made of them.

UTF-16 where it says so itself, else UTF-8; what is neither is of an older age: Windows' Cyrillic
where letters beyond ASCII are many, as in any Russian text, and its Western page where they are
few.
"""

from __future__ import annotations

import codecs
import re

from bot.errors import FileBroken

CYRILLIC_SHARE = 1 / 3
_SAMPLE = 100_000
_WIDE = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_LETTERS = re.compile(rb"[A-Za-z\x80-\xff]")
_HIGH = re.compile(rb"[\x80-\xff]")


def decode(raw: bytes) -> str:
    """The text. Raises FileBroken for what is none."""
    if raw.startswith(_WIDE):
        return raw.decode("utf-16", "replace")
    if b"\0" in raw:
        raise FileBroken
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        return raw.decode(_page(raw[:_SAMPLE]), "replace")


def _page(sample: bytes) -> str:
    letters, high = len(_LETTERS.findall(sample)), len(_HIGH.findall(sample))
    return "cp1251" if high > CYRILLIC_SHARE * letters else "cp1252"
