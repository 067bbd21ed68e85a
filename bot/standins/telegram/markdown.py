"""MarkdownV2 as Telegram reads it: every reserved character is markup or an error.

Written from the documented rules. Inside code only the backtick and the backslash are special; `__`
is read before `_`; a line that starts with `>` opens a quotation, which `||` at its very end makes
expandable. Errors name the byte offset in the source, offsets of entities are UTF-16 units of the
result.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from bot.standins.telegram.entities import Entity, units
from bot.standins.telegram.links import WrongLink, checked_link, mentioned_user

RESERVED = "_*[]()~`>#+-=|{}.!\n"
ESCAPABLE = 126
MARKS = {
    "bold": "*",
    "italic": "_",
    "underline": "__",
    "strikethrough": "~",
    "spoiler": "||",
    "code": "`",
    "pre": "```",
}
OPENERS = (
    ("__", "underline"),
    ("_", "italic"),
    ("*", "bold"),
    ("~", "strikethrough"),
    ("||", "spoiler"),
    ("`", "code"),
)
EMOJI = "custom_emoji"


class CannotParse(Exception):
    """The markup is wrong; the message is Telegram's."""


@dataclass(frozen=True, slots=True)
class _Open:
    type: str
    at: int
    offset: int
    place: int
    language: str = ""


class MarkdownV2:
    """One parse of one text."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._at = 0
        self._out: list[str] = []
        self._units = 0
        self._open: list[_Open] = []
        self._line_start = True
        self._entities: list[Entity] = []

    def parse(self) -> tuple[str, list[Entity]]:
        """The text without its markup, and its entities."""
        while self._at < len(self._source):
            self._step()
        if any(opened.type == "blockquote" for opened in self._open):
            self._end_quote()
        if self._open:
            raise self._unclosed(self._open[-1])
        return "".join(self._out), self._entities

    def _step(self) -> None:
        char, following = self._source[self._at], self._source[self._at + 1 : self._at + 2]
        inner = self._open[-1].type if self._open else ""
        if char == "\\" and following and 0 < ord(following) <= ESCAPABLE:
            self._emit(following, 2)
        elif char not in ("`" if inner in {"code", "pre"} else RESERVED):
            self._emit(char, 1)
        elif char == "\n":
            self._new_line()
        elif self._closes(inner):
            self._close()
        else:
            self._begin()

    def _emit(self, char: str, width: int) -> None:
        self._out.append(char)
        self._units += units(char)
        self._at += width
        self._line_start = False

    def _closes(self, inner: str) -> bool:
        if inner in {"text_link", EMOJI}:
            return self._ahead("]")
        if inner == "italic" and self._ahead("__"):
            return False
        return inner in MARKS and self._ahead(MARKS[inner])

    def _ahead(self, mark: str) -> bool:
        return self._source.startswith(mark, self._at)

    def _begin(self) -> None:
        if self._ahead("```"):
            self._begin_pre()
        elif self._ahead("!["):
            self._push(EMOJI, 2)
        elif self._ahead("["):
            self._push("text_link", 1)
        elif self._ahead(">") and self._line_start and not self._open:
            self._push("blockquote", 1)
        else:
            self._begin_style()

    def _begin_style(self) -> None:
        for mark, kind in OPENERS:
            if self._ahead(mark):
                return self._push(kind, len(mark))
        char = self._source[self._at]
        raise CannotParse(
            f"Character '{char}' is reserved and must be escaped with the preceding '\\'"
        )

    def _push(self, kind: str, width: int, language: str = "") -> None:
        self._open.append(_Open(kind, self._at, self._units, len(self._out), language))
        self._at += width

    def _begin_pre(self) -> None:
        start = end = self._at + 3
        while (
            end < len(self._source) and not self._source[end].isspace() and self._source[end] != "`"
        ):
            end += 1
        named = start < end < len(self._source) and self._source[end] != "`"
        self._push(
            "pre", (end if named else start) - self._at, self._source[start:end] if named else ""
        )
        if self._source[self._at : self._at + 2] in {"\r\n", "\n\r"}:
            self._at += 2
        elif self._source[self._at : self._at + 1] in {"\n", "\r"}:
            self._at += 1

    def _close(self) -> None:
        opened = self._open.pop()
        if opened.type in {"text_link", EMOJI}:
            self._at += 1
            self._close_link(opened)
        else:
            self._at += len(MARKS[opened.type])
            self._keep(Entity(opened.type, opened.offset, 0, language=opened.language))

    def _keep(self, entity: Entity) -> None:
        if self._units > entity.offset:
            self._entities.append(replace(entity, length=self._units - entity.offset))

    def _close_link(self, opened: _Open) -> None:
        if self._ahead("("):
            url = self._target("a custom emoji URL" if opened.type == EMOJI else "a URL")
        elif opened.type == EMOJI:
            raise CannotParse("Custom emoji entity must contain a tg://emoji URL")
        else:
            url = "".join(self._out[opened.place :])
        self._keep_link(opened, url)

    def _keep_link(self, opened: _Open, url: str) -> None:
        if opened.type == EMOJI:
            self._keep(Entity(EMOJI, opened.offset, 0, custom_emoji_id=emoji_id(url)))
        elif (link := link_entity(url, opened.offset)) is not None:
            self._keep(link)

    def _target(self, what: str) -> str:
        self._at += 1
        begin, url = self._at, ""
        while self._at < len(self._source) and self._source[self._at] != ")":
            self._at += self._source[self._at] == "\\" and self._at + 1 < len(self._source)
            url += self._source[self._at]
            self._at += 1
        if self._at == len(self._source):
            raise CannotParse(f"Can't find end of {what} at byte offset {self._bytes(begin)}")
        self._at += 1
        return url

    def _new_line(self) -> None:
        quoted = any(opened.type == "blockquote" for opened in self._open)
        continues = quoted and self._source.startswith("\n>", self._at)
        if quoted and not continues:
            self._end_quote()
        self._emit("\n", 2 if continues else 1)
        self._line_start = not quoted or not continues

    def _end_quote(self) -> None:
        kind = "blockquote"
        if self._open[-1].type == "spoiler" and self._open[-1].offset == self._units:
            self._open.pop()
            kind = "expandable_blockquote"
        if self._open[-1].type != "blockquote":
            raise self._unclosed(self._open[-1])
        self._keep(Entity(kind, self._open.pop().offset, 0))

    def _unclosed(self, opened: _Open) -> CannotParse:
        kind = {"text_link": "text URL", EMOJI: "custom emoji"}.get(opened.type, opened.type)
        return CannotParse(
            f"Can't find end of {kind} entity at byte offset {self._bytes(opened.at)}"
        )

    def _bytes(self, at: int) -> int:
        return len(self._source[:at].encode())


def link_entity(url: str, offset: int) -> Entity | None:
    """A text link or a mention by id; None where Telegram drops the link and keeps its text."""
    if user := mentioned_user(url):
        return Entity("text_mention", offset, 0, user_id=user)
    try:
        return Entity("text_link", offset, 0, url=checked_link(url))
    except WrongLink:
        return None


def emoji_id(url: str) -> str:
    """The id in a `tg://emoji?id=` URL."""
    scheme, _, number = url.partition("?id=")
    if scheme != "tg://emoji":
        raise CannotParse("Custom emoji entity must contain a tg://emoji URL")
    if not number.isdecimal() or not int(number):
        raise CannotParse("Invalid custom emoji identifier specified")
    return number
