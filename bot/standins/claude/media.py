"""Checks the pictures and documents of a request: bytes, types, pixels, pages, numbers.

Refusals are worded as the real API words them.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from bot.standins.claude.pixels import pixels
from bot.standins.claude.prompt import blocks_of
from bot.standins.claude.refusals import Refused

Json = Mapping[str, Any]

MAGIC = {
    "image/png": (b"\x89PNG",),
    "image/jpeg": (b"\xff\xd8\xff",),
    "image/gif": (b"GIF8",),
    "image/webp": (b"RIFF",),
    "application/pdf": (b"%PDF",),
}
IMAGE_BYTES = 10_485_760
PIXELS = 8000
MANY, PIXELS_OF_MANY = 20, 2000
MEDIA = 100
PAGES = 100
_PAGE = re.compile(rb"/Type\s*/Page\b")


def nested(blocks: Iterable[Json]) -> Iterable[Json]:
    """The blocks, and those inside their results."""
    for block in blocks:
        yield block
        inner = block.get("content")
        if block["type"] == "tool_result" and isinstance(inner, list):
            yield from inner


def sources_allowed(body: Json) -> None:
    """Raise Refused for the first picture or document the API would not take, or for too many of
    them.
    """
    found = list(_media(body))
    kinds = [block["type"] for _, block in found]
    images, documents = kinds.count("image"), kinds.count("document")
    if images + documents > MEDIA:
        raise Refused(f"too many images and documents: {images} + {documents} > {MEDIA}")
    pages = sum(
        _source(where, block, PIXELS_OF_MANY if images > MANY else PIXELS) for where, block in found
    )
    if pages > PAGES:
        raise Refused(f"A maximum of {PAGES} PDF pages may be provided.")


def _media(body: Json) -> Iterator[tuple[str, Json]]:
    for place, message in enumerate(body["messages"]):
        for index, block in enumerate(blocks_of(message["content"])):
            for inner in nested([block]):
                if inner["type"] in {"image", "document"}:
                    yield f"messages.{place}.content.{index}.{inner['type']}.source.base64", inner


def _source(where: str, block: Json, max_pixels: int) -> int:
    """Check one source; its pages."""
    source = block["source"]
    if source["type"] != "base64":
        return 0
    try:
        raw = base64.b64decode(source["data"], validate=True)
    except binascii.Error:
        raise Refused(f"{where}.data: invalid base64 data") from None
    kind = source["media_type"]
    if kind.startswith("image/") and len(source["data"]) > IMAGE_BYTES:
        raise Refused(
            f"{where}: image exceeds 10 MB maximum: {len(source['data'])} bytes > {IMAGE_BYTES} "
            f"bytes"
        )
    if not raw.startswith(MAGIC[kind]):
        actual = next((name for name, magic in MAGIC.items() if raw.startswith(magic)), None)
        raise Refused(
            f"{where}.data: The file was specified using the {kind} media type, but appears to "
            f"be a {actual} file"
            if actual
            else f"{where}.data: Could not process {kind.split('/')[0]}"
        )
    _pixels(where, kind, raw, max_pixels)
    return len(_PAGE.findall(raw))


def _pixels(where: str, kind: str, raw: bytes, maximum: int) -> None:
    size = pixels(kind, raw)
    if size is not None and not all(size):
        raise Refused(f"{where}.data: Could not process image")
    if size is not None and max(size) > maximum:
        many = " for many-image requests" if maximum < PIXELS else ""
        raise Refused(
            f"{where}.data: At least one of the image dimensions exceed max allowed size{many}: "
            f"{maximum} pixels"
        )
