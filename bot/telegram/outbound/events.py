"""The parser's events by name, and what those inside a line write."""

from __future__ import annotations

from collections.abc import Callable

from pyromark.event import Event

from bot.telegram.outbound.inline import STYLES, Inline, Link

LINKS = frozenset({"Link", "Image"})


def parsed(event: Event) -> tuple[str, object]:
    """Return the name of an event and its value."""
    return next(iter(event.items())) if isinstance(event, dict) else (event, None)


def tag_of(value: object) -> str:
    """Return the name of the element that starts or ends."""
    return next(iter(value)) if isinstance(value, dict) else str(value)


def text_of(value: object) -> str:
    """Return the words of an event; empty where it has none."""
    return value if isinstance(value, str) else ""


def first_number(value: object) -> int | None:
    """Return the number a list begins with; None where its items have a bullet."""
    match value:
        case {"List": int(number)}:
            return number
    return None


def fence_of(value: object) -> str | None:
    """Return what stands behind the fence of a block of code; None for any other element."""
    match value:
        case {"CodeBlock": {"Fenced": str(info)}}:
            return info
        case {"CodeBlock": _}:
            return ""
    return None


def _link_of(value: object) -> Link | None:
    match value:
        case {"Link": target} | {"Image": target}:
            return Link(target["dest_url"], target["id"], target["link_type"])
    return None


def write_leaf(inline: Inline, name: str, value: object) -> None:
    """Write an event that has nothing inside."""
    if name == "Code":
        inline.write_code(text_of(value))
    elif name in {"SoftBreak", "HardBreak"}:
        inline.end_line()
    else:
        inline.write(text_of(value))


def start_inline(inline: Inline, tag: str, value: object) -> None:
    """Begin emphasis, a heading, a quotation, a link."""
    if tag in LINKS and (link := _link_of(value)) is not None:
        inline.open_link(link)
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
