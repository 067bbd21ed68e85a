"""The parser's events by name, and what those inside a line write."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bot.telegram.outbound.inline import STYLES, Inline

LINKS = frozenset({"Link", "Image"})


def parsed(event: Any) -> tuple[str, Any]:
    """Return the name of an event and its value."""
    return next(iter(event.items())) if isinstance(event, dict) else (event, None)


def tag_of(value: Any) -> str:
    """Return the name of the element that starts or ends."""
    return next(iter(value)) if isinstance(value, dict) else str(value)


def write_leaf(inline: Inline, name: str, value: Any) -> None:
    """Write an event that has nothing inside."""
    if name == "Code":
        inline.write_code(value)
    elif name in {"SoftBreak", "HardBreak"}:
        inline.end_line()
    else:
        inline.write(value)


def start_inline(inline: Inline, tag: str, value: Any) -> None:
    """Begin emphasis, a heading, a quotation, a link."""
    if tag in LINKS:
        inline.open_link(value[tag])
    elif tag in STYLES:
        inline.open(STYLES[tag])


def finish_inline(inline: Inline, tag: str, source: Callable[[], str]) -> None:
    """End it. A spoiler ends with its paragraph at the latest."""
    if tag in LINKS:
        inline.close_link(source())
    elif tag in STYLES:
        inline.close(STYLES[tag])
    if tag in {"Paragraph", "Heading", "TableCell"}:
        inline.close("spoiler")
