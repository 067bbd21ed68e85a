"""How many pages a PDF has, as far as that can be seen without reading it in earnest.

A PDF may describe its pages in the open or in compressed streams of objects; the latter are
inflated, each only so far, and the page marks are counted. That serves to estimate tokens and to
refuse what is far too long; whether it can be read is for the provider to say.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator

MAX_STREAMS = 2_000
MAX_INFLATED_BYTES = 256 * 1024
"""Of one stream of objects; writers make them far smaller."""
MAX_INFLATED_TOTAL = 16 * 2**20
"""A few kilobytes can be made to inflate to gigabytes."""
_CHUNK = 2**20
"""Searched at once: other work gets its turn between two of them."""
_OVERLAP = 64
_PAGE = re.compile(rb"/Type\s{0,20}/Page(?![A-Za-z])")
_STREAM = re.compile(rb"stream\r?\n")
_STREAM_WITHIN = 512


def pages(raw: bytes) -> int:
    """The number of pages; 0 where none can be seen."""
    return sum(_marks(piece) for piece in (raw, *_object_streams(raw)))


def _marks(text: bytes) -> int:
    return sum(
        match.start() < start + _CHUNK
        for start in range(0, len(text), _CHUNK)
        for match in _PAGE.finditer(text, start, start + _CHUNK + _OVERLAP)
    )


def _object_streams(raw: bytes) -> Iterator[bytes]:
    at, left = 0, MAX_INFLATED_TOTAL
    for _ in range(MAX_STREAMS):
        at = raw.find(b"/ObjStm", at) + 1
        if not at or left <= 0:
            return
        if begins := _STREAM.search(raw, at, at + _STREAM_WITHIN):
            packed = raw[begins.end() : begins.end() + MAX_INFLATED_BYTES]
            try:
                inflated = zlib.decompressobj().decompress(packed, MAX_INFLATED_BYTES)
            except zlib.error:
                continue
            left -= len(inflated)
            yield inflated
