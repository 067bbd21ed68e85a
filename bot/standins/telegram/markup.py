"""A text as the bot sent it, turned into what the chat shows, or refused in Telegram's words.

The order is Telegram's: cut at 35,000 bytes, parse the markup, then (once the chat is known) check
the entities, trim, and measure. Lengths are UTF-16 units after parsing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from bot.standins.telegram.entities import (
    CODES,
    FOUND,
    LINKS,
    QUOTES,
    STYLES,
    Entity,
    check_bounds,
    cut,
    mended,
    units,
)
from bot.standins.telegram.html import Html
from bot.standins.telegram.links import WrongLink, checked_link, mentioned_user
from bot.standins.telegram.markdown import CannotParse, MarkdownV2
from bot.standins.telegram.rules import RAW_BYTES, Json, bad

_CONTROLS = {code: " " for code in range(32) if chr(code) not in "\t\n\r"}
_PARSERS: dict[str, type[MarkdownV2 | Html]] = {"markdownv2": MarkdownV2, "html": Html}
_KNOWN = {*CODES, *FOUND, *LINKS, *QUOTES, *STYLES}


@dataclass(frozen=True, slots=True)
class Formatted:
    """A text and its entities."""

    text: str
    entities: tuple[Entity, ...] = ()

    def json(self) -> list[Json]:
        """The entities as the Bot API shows them."""
        return [entity.json() for entity in self.entities]


def parsed(text: str, parse_mode: str) -> Formatted:
    """The text without markup.

    An unknown or wrong markup is refused; without a parse mode the text stays as it is.
    """
    try:
        raw = text.encode()[:RAW_BYTES].decode("utf-8", "ignore").translate(_CONTROLS)
    except UnicodeEncodeError:
        raise bad("strings must be encoded in UTF-8") from None
    if not parse_mode:
        return Formatted(raw)
    parser = _PARSERS.get(parse_mode.lower())
    if parser is None:
        raise bad("unsupported parse_mode")
    try:
        plain, entities = parser(raw.replace("\r", "")).parse()
    except CannotParse as wrong:
        raise bad(f"can't parse entities: {wrong}") from None
    return Formatted(plain, tuple(entities))


def shown(formatted: Formatted, given: Sequence[Json], limit: int, long: str) -> Formatted:
    """What the chat will show, trimmed and mended; `long` is the refusal of a text over `limit`."""
    entities = list(formatted.entities) or [
        entity for raw in given if (entity := _entity(raw)) is not None
    ]
    check_bounds(formatted.text, entities)
    text, moved = _without_returns(formatted.text, entities)
    trimmed = _trimmed(text, mended(text, moved))
    if units(trimmed.text) > limit:
        raise bad(long)
    return trimmed


def _entity(raw: Json) -> Entity | None:
    """One entity as the bot gave it; None for what Telegram finds by itself, and for the empty."""
    if not isinstance(raw, dict) or raw.get("type") not in _KNOWN:
        raise bad("can't parse entities: unsupported type specified")
    kind, offset, length = raw["type"], raw.get("offset"), raw.get("length")
    if not isinstance(offset, int) or not isinstance(length, int):
        raise bad('can\'t parse entities: field "offset" must be of type Number')
    if kind in FOUND or length <= 0 or offset < 0:
        return None
    entity = Entity(
        kind, offset, length, language=str(raw.get("language") or "") if kind == "pre" else ""
    )
    if kind == "text_link":
        return _linked(entity, str(raw.get("url") or ""))
    if kind == "text_mention":
        return replace(entity, user_id=int((raw.get("user") or {}).get("id", 0)))
    return (
        replace(entity, custom_emoji_id=str(raw.get("custom_emoji_id")))
        if kind == "custom_emoji"
        else entity
    )


def _linked(entity: Entity, url: str) -> Entity:
    if user := mentioned_user(url):
        return replace(entity, type="text_mention", user_id=user)
    try:
        return replace(entity, url=checked_link(url))
    except WrongLink as wrong:
        raise bad(f"entity URL '{url}' is invalid: {wrong}") from None


def _without_returns(text: str, entities: Sequence[Entity]) -> tuple[str, Sequence[Entity]]:
    """Carriage returns are not shown; offsets that counted them move."""
    if "\r" not in text:
        return text, entities

    def moved(unit: int) -> int:
        return unit - cut(text, 0, unit).count("\r")

    spans = ((entity, moved(entity.offset), moved(entity.end)) for entity in entities)
    return text.replace("\r", ""), [
        replace(entity, offset=start, length=end - start) for entity, start, end in spans
    ]


def _trimmed(text: str, entities: Sequence[Entity]) -> Formatted:
    """Without white space at the end, and without it before the first entity."""
    right = text.rstrip()
    before = min((entity.offset for entity in entities), default=len(right))
    left = 0
    while left < before and left < len(right) and right[left] in " \n":
        left += 1
    end = units(right)
    fitted = (
        replace(entity, offset=entity.offset - left, length=min(entity.end, end) - entity.offset)
        for entity in entities
    )
    return Formatted(right[left:], tuple(entity for entity in fitted if entity.length > 0))
