"""The words of a rich message: a formatted post, pasted or forwarded, which comes as blocks and has
no text (Bot API 10.1).

Blocks are read by a table of their kinds. Of a kind that nobody knows, and of what cannot be put
into words, a mark says that it was there. Depth and length are bounded, whatever comes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType

from bot.content import Json

MAX_DEPTH = 32
MAX_CHARS = 40_000
UNKNOWN = "[something here cannot be read]"

Write = Callable[[Json, int], str]


def rich_words(message: object) -> str:
    """What a rich message says, as plain text; empty where nothing of it can be read."""
    blocks = message.get("blocks") if isinstance(message, Mapping) else None
    said = _blocks(blocks, 0)[:MAX_CHARS].strip()
    return said if said.replace(UNKNOWN, "").strip() else ""


def _blocks(blocks: object, depth: int) -> str:
    if not isinstance(blocks, Sequence) or isinstance(blocks, str) or depth > MAX_DEPTH:
        return ""
    return "\n\n".join(filter(None, (_block(block, depth + 1) for block in blocks)))


def _block(block: object, depth: int) -> str:
    if not isinstance(block, Mapping):
        return UNKNOWN
    write = _BLOCKS.get(str(block.get("type")))
    if write is None:
        return UNKNOWN
    return "\n".join(filter(None, (write(block, depth), *_below(block, depth))))


def _below(block: Json, depth: int) -> Iterator[str]:
    """Caption and credit, which stand below what they belong to."""
    caption = block.get("caption")
    if isinstance(caption, Mapping) and "type" not in caption:
        yield _text(caption.get("text"), depth)
        yield _text(caption.get("credit"), depth)
    else:
        yield _text(caption, depth)
    yield _text(block.get("credit"), depth)


def _text(text: object, depth: int) -> str:
    """A RichText: a string, a list of them, or one with a kind."""
    if isinstance(text, str):
        return text
    if depth > MAX_DEPTH:
        return ""
    if isinstance(text, Sequence):
        return "".join(_text(one, depth + 1) for one in text)
    return _styled(text, depth + 1) if isinstance(text, Mapping) else ""


def _styled(text: Json, depth: int) -> str:
    kind, words = text.get("type"), _text(text.get("text"), depth)
    if kind == "url" and (url := text.get("url")) and url != words:
        return f"{words} ({url})"
    return words or str(text.get("alternative_text") or text.get("expression") or "")


def _paragraph(block: Json, depth: int) -> str:
    return _text(block.get("text"), depth)


def _heading(block: Json, depth: int) -> str:
    size = block.get("size")
    level = size if isinstance(size, int) and size in range(1, 7) else 1
    return f"{'#' * level} {_text(block.get('text'), depth)}"


def _preformatted(block: Json, depth: int) -> str:
    return f"```{block.get('language') or ''}\n{_text(block.get('text'), depth)}\n```"


def _quotation(block: Json, depth: int) -> str:
    said = _text(block.get("text"), depth) or _blocks(block.get("blocks"), depth)
    return "\n".join(f"> {line}" for line in said.splitlines())


def _list(block: Json, depth: int) -> str:
    items = block.get("items")
    return "\n".join(_items(items if isinstance(items, Sequence) else (), depth))


def _items(items: Sequence[object], depth: int) -> Iterator[str]:
    for item in items:
        if isinstance(item, Mapping):
            box = ("[x] " if item.get("is_checked") else "[ ] ") if item.get("has_checkbox") else ""
            label = str(item.get("label") or "-")
            yield f"{label} {box}{_blocks(item.get('blocks'), depth)}"


def _table(block: Json, depth: int) -> str:
    rows = block.get("cells")
    lines = [row for row in (rows if isinstance(rows, Sequence) else ()) if isinstance(row, list)]
    return "\n".join(
        " | ".join(_text(cell.get("text"), depth) for cell in row if isinstance(cell, Mapping))
        for row in lines
    )


def _details(block: Json, depth: int) -> str:
    return f"{_text(block.get('summary'), depth)}\n{_blocks(block.get('blocks'), depth)}"


def _inner(block: Json, depth: int) -> str:
    return _blocks(block.get("blocks"), depth)


def _formula(block: Json, depth: int) -> str:  # noqa: ARG001 - one signature for all kinds
    return f"$${block.get('expression') or ''}$$"


def _map(block: Json, depth: int) -> str:  # noqa: ARG001 - one signature for all kinds
    point = block.get("location")
    if not isinstance(point, Mapping):
        return "[a map]"
    return f"[a map of {point.get('latitude')}, {point.get('longitude')}]"


def _buttons(block: Json, depth: int) -> str:
    buttons = block.get("buttons")
    found = [one for one in (buttons if isinstance(buttons, list) else ()) if isinstance(one, dict)]
    return " ".join(f"[{_text(one.get('text'), depth)}]" for one in found)


def _media(block: Json, depth: int) -> str:  # noqa: ARG001 - one signature for all kinds
    return f"[{str(block.get('type')).replace('_', ' ')} in the post; you cannot open it]"


def _nothing(block: Json, depth: int) -> str:  # noqa: ARG001 - one signature for all kinds
    return ""


_BLOCKS: Mapping[str, Write] = MappingProxyType(
    {
        "paragraph": _paragraph,
        "heading": _heading,
        "pre": _preformatted,
        "footer": _paragraph,
        "thinking": _nothing,
        "divider": lambda _block, _depth: "---",
        "anchor": _nothing,
        "mathematical_expression": _formula,
        "list": _list,
        "blockquote": _quotation,
        "expandable_blockquote": _quotation,
        "pullquote": _quotation,
        "collage": _inner,
        "slideshow": _inner,
        "table": _table,
        "details": _details,
        "map": _map,
        "buttons": _buttons,
        **dict.fromkeys(("animation", "audio", "photo", "video", "voice_note", "document"), _media),
    }
)
