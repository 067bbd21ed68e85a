"""HTML as Telegram reads it: a closed list of tags, four named entities, and an error for anything
unbalanced.

Written from the documented rules. Offsets in errors are bytes of the source. Unknown attributes are
read and ignored; `&nbsp;` and its like stay as they are.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, replace

from bot.standins.telegram.entities import Entity, units
from bot.standins.telegram.markdown import CannotParse, link_entity

STYLE_TAGS = {
    "b": "bold", "strong": "bold", "i": "italic", "em": "italic", "u": "underline", "ins": "underline",  # noqa: E501
    "s": "strikethrough", "strike": "strikethrough", "del": "strikethrough", "tg-spoiler": "spoiler", "span": "spoiler",  # noqa: E501
    "code": "code", "pre": "pre", "blockquote": "blockquote",
}  # fmt: skip
TAGS = {*STYLE_TAGS, "a", "tg-emoji"}
NAMED = {"lt": "<", "gt": ">", "amp": "&", "quot": '"'}
SURROGATES = range(0xD800, 0xE000)
_REFERENCE = re.compile(r"&(?:#x([0-9A-Fa-f]{1,6})|#([0-9]{1,7})|([A-Za-z]+));?")
_PLAIN = re.compile(r"[A-Za-z0-9.-]*")


@dataclass(frozen=True, slots=True)
class _Tag:
    name: str
    argument: str
    offset: int
    place: int


class Html:
    """One parse of one text."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._at = 0
        self._out: list[str] = []
        self._units = 0
        self._open: list[_Tag] = []
        self._entities: list[Entity] = []

    def parse(self) -> tuple[str, list[Entity]]:
        """The text without its tags, and its entities."""
        while self._at < len(self._source):
            if self._source.startswith("</", self._at):
                self._end_tag()
            elif self._source[self._at] == "<":
                self._start_tag()
            else:
                self._character()
        if self._open:
            raise CannotParse(
                f'Can\'t find end tag corresponding to start tag "{self._open[-1].name}"'
            )
        return "".join(self._out), [_plain_code(entity) for entity in self._entities]

    def _character(self) -> None:
        char, self._at = _reference(self._source, self._at)
        self._out.append(char)
        self._units += units(char)

    def _bytes(self, at: int) -> int:
        return len(self._source[:at].encode())

    def _word(self, stops: str) -> str:
        start = self._at
        while self._at < len(self._source) and not self._source[self._at].isspace():
            if self._source[self._at] in stops:
                break
            self._at += 1
        return self._source[start : self._at]

    def _spaces(self) -> None:
        while self._at < len(self._source) and self._source[self._at].isspace():
            self._at += 1

    def _more(self, begin: int) -> str:
        if self._at >= len(self._source):
            raise CannotParse(f"Unclosed start tag at byte offset {self._bytes(begin)}")
        return self._source[self._at]

    def _start_tag(self) -> None:
        begin = self._at
        self._at += 1
        name = self._word(">").lower()
        self._more(begin)
        if name not in TAGS:
            raise CannotParse(f'Unsupported start tag "{name}" at byte offset {self._bytes(begin)}')
        argument = ""
        self._spaces()
        while self._more(begin) != ">":
            argument = _argument(name, *self._attribute(name, begin)) or argument
            self._spaces()
        self._at += 1
        if name == "span" and argument != "tg-spoiler":
            raise CannotParse(
                f'Tag "span" must have class "tg-spoiler" at byte offset {self._bytes(begin)}'
            )
        self._open.append(_Tag(name, argument, self._units, len(self._out)))

    def _attribute(self, tag: str, begin: int) -> tuple[str, str]:
        name = self._word("=>").lower()
        where = f'the tag "{tag}" at byte offset {self._bytes(begin)}'
        if not name:
            raise CannotParse(f"Empty attribute name in {where}")
        self._spaces()
        if tag == "blockquote" and name == "expandable" and self._more(begin) != "=":
            return name, name
        if self._more(begin) != "=":
            raise CannotParse(f"Expected equal sign in declaration of an attribute of {where}")
        self._at += 1
        self._spaces()
        quote = self._more(begin)
        return name, self._quoted(quote, begin) if quote in "'\"" else self._token()

    def _token(self) -> str:
        begin, found = self._at, _PLAIN.match(self._source, self._at)
        self._at = found.end() if found else begin
        following = self._source[self._at : self._at + 1]
        if following and following != ">" and not following.isspace():
            raise CannotParse(f"Unexpected end of name token at byte offset {self._bytes(begin)}")
        return self._source[begin : self._at].lower()

    def _quoted(self, quote: str, begin: int) -> str:
        self._at += 1
        value = ""
        while self._more(begin) != quote:
            char, self._at = _reference(self._source, self._at)
            value += char
        self._at += 1
        return value

    def _end_tag(self) -> None:
        begin = self._at
        if not self._open:
            raise CannotParse(f"Unexpected end tag at byte offset {self._bytes(begin)}")
        self._at += 2
        name = self._word(">").lower()
        self._spaces()
        if self._source[self._at : self._at + 1] != ">":
            raise CannotParse(f"Unclosed end tag at byte offset {self._bytes(begin)}")
        self._at += 1
        tag = self._open.pop()
        if name not in {"", tag.name}:
            where = f"Unmatched end tag at byte offset {self._bytes(begin)}"
            raise CannotParse(f'{where}, expected "</{tag.name}>", found "</{name}>"')
        if self._units > tag.offset:
            self._close(tag)

    def _close(self, tag: _Tag) -> None:
        if tag.name == "a":
            entity = link_entity(tag.argument or "".join(self._out[tag.place :]), tag.offset)
        elif tag.name == "tg-emoji":
            if not tag.argument.isdecimal() or not int(tag.argument):
                raise CannotParse("Invalid custom emoji identifier specified")
            entity = Entity("custom_emoji", tag.offset, 0, custom_emoji_id=tag.argument)
        else:
            entity = Entity(
                self._kind(tag), tag.offset, 0, language=tag.argument if tag.name == "code" else ""
            )
        if entity is not None:
            self._keep(replace(entity, length=self._units - tag.offset))

    def _kind(self, tag: _Tag) -> str:
        return "expandable_blockquote" if tag.argument == "expandable" else STYLE_TAGS[tag.name]

    def _keep(self, entity: Entity) -> None:
        """`<pre><code class="language-x">` is one entity, in either order."""
        last = self._entities[-1] if self._entities else None
        if (
            last
            and {last.type, entity.type} == {"pre", "code"}
            and (last.offset, last.end) == (entity.offset, entity.end)
        ):
            self._entities[-1] = replace(
                entity, type="pre", language=last.language or entity.language
            )
        else:
            self._entities.append(entity)


def _plain_code(entity: Entity) -> Entity:
    return replace(entity, language="") if entity.type == "code" else entity


def _argument(tag: str, name: str, value: str) -> str:
    """What an attribute means for its tag; empty where Telegram ignores it."""
    if tag == "code" and name == "class":
        return value.removeprefix("language-") if value.startswith("language-") else ""
    meaning = {
        ("a", "href"),
        ("span", "class"),
        ("tg-emoji", "emoji-id"),
        ("blockquote", "expandable"),
    }
    return value if (tag, name) in meaning else ""


def _reference(source: str, at: int) -> tuple[str, int]:
    """The character at `at` and where the next one starts; a reference counts as one character."""
    found = _REFERENCE.match(source, at) if source[at] == "&" else None
    if found is None:
        return source[at], at + 1
    if found.group(3):
        return (NAMED[found.group(3)], found.end()) if found.group(3) in NAMED else ("&", at + 1)
    code = int(found.group(1), 16) if found.group(1) else int(found.group(2))
    if not 0 < code < sys.maxunicode or code in SURROGATES:
        return "&", at + 1
    return chr(code), found.end()
