"""What a picture is and how large, read from its first bytes; nothing is decoded, so nothing in it
can be a bomb.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from struct import unpack_from

from bot.errors import FileBroken

MAX_SEGMENTS = 1_000
"""Of a JPEG, before the one that has its size; there are a few, and some more with every 64 KB that
cameras add.
"""
_WITHOUT_SIZE = {0xC4, 0xC8, 0xCC}
"""Markers of a JPEG that stand among those of a frame and are none."""


def probe(raw: bytes) -> tuple[str, int, int]:
    """Media type, width and height. Raises FileBroken for what is no PNG, JPEG, GIF or WebP."""
    for media_type, magic, measure in _FORMATS:
        if raw.startswith(magic):
            try:
                width, height = measure(raw)
            except (struct.error, IndexError):
                break
            if width and height:
                return media_type, width, height
    raise FileBroken


def _png(raw: bytes) -> tuple[int, int]:
    return unpack_from(">II", raw, 16)


def _gif(raw: bytes) -> tuple[int, int]:
    return unpack_from("<HH", raw, 6)


def _jpeg(raw: bytes) -> tuple[int, int]:
    at = 2
    for _ in range(MAX_SEGMENTS):
        if raw[at] != 0xFF:  # noqa: PLR2004 - the format's own mark
            raise IndexError
        marker = raw[at + 1]
        if marker == 0xFF:  # noqa: PLR2004 - a mark may be repeated to fill up
            at += 1
        elif 0xC0 <= marker <= 0xCF and marker not in _WITHOUT_SIZE:  # noqa: PLR2004 - a frame's mark
            height, width = unpack_from(">HH", raw, at + 5)
            return width, height
        else:
            at += 2 + unpack_from(">H", raw, at + 2)[0]
    raise IndexError


def _webp(raw: bytes) -> tuple[int, int]:
    match raw[8:16]:
        case b"WEBPVP8X":
            return 1 + int.from_bytes(raw[24:27], "little"), 1 + int.from_bytes(
                raw[27:30], "little"
            )
        case b"WEBPVP8L":
            (bits,) = unpack_from("<I", raw, 21)
            return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
        case b"WEBPVP8 ":
            width, height = unpack_from("<HH", raw, 26)
            return width & 0x3FFF, height & 0x3FFF
    raise IndexError


_FORMATS: tuple[tuple[str, bytes | tuple[bytes, ...], Callable[[bytes], tuple[int, int]]], ...] = (
    ("image/png", b"\x89PNG\r\n\x1a\n", _png),
    ("image/jpeg", b"\xff\xd8\xff", _jpeg),
    ("image/gif", (b"GIF87a", b"GIF89a"), _gif),
    ("image/webp", b"RIFF", _webp),
)
