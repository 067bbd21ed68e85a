"""`/sessions`: lists a person's dialogues, eight a page, each with buttons that open, rename and
delete it.

A button carries the Session's id, which is looked up under whoever pressed, in the Place where it
was pressed. Deleting asks first. A page is found by its first row, so it stays where it was while
others come and go.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from telegram import InlineKeyboardButton, InlineKeyboardMarkup

from bot.owner import Owner
from bot.ports import Cursor, DialoguePage, Overview
from bot.telegram.commands.invocation import Effect, Invocation, Press
from bot.telegram.commands.recap import recap, title_of
from bot.telegram.commands.visible_dialogues import VisibleDialogues
from bot.telegram.outbound.buttons import DELETE, ERASE, OPEN, PAGE, RENAME, button
from bot.texts import Language, ago, counted, text

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
ID_START = 8
"""So many digits of an id tell two Sessions of the same millisecond apart."""
CURSOR_PARTS = 3
MAX_CURSOR_DIGITS = 13
"""Milliseconds up to the year 2286: more is no date of ours."""


async def show_sessions(dialogues: VisibleDialogues, call: Invocation) -> None:
    page = await dialogues.page(call.lane)
    effect = _list(dialogues, page, call.lane.owner, call.language)
    await call.reply.say(effect.instead, effect.markup)


async def turn_page(dialogues: VisibleDialogues, press: Press) -> Effect | None:
    """Show another page of the list in the place of this one, to whom the list was made for."""
    owner, _, place = press.token.partition(":")
    cursor = _cursor(place)
    if owner != str(press.lane.owner.id) or (place and cursor is None):
        return None
    page = await dialogues.page(press.lane, cursor)
    if cursor is not None and not page.rows:
        page = await dialogues.page(press.lane)
    return _list(dialogues, page, press.lane.owner, press.language)


async def open_session(dialogues: VisibleDialogues, press: Press) -> Effect | None:
    """Go on with this dialogue here, and say where it stood."""
    session = await dialogues.open(press.lane, press.token)
    if session is None:
        return None
    return Effect(instead=recap(session, dialogues.clock.now(), press.language))


async def ask_title(dialogues: VisibleDialogues, press: Press) -> Effect | None:
    """Ask for another title, to be sent in reply."""
    session = await dialogues.find(press.lane, press.token)
    if session is None:
        return None
    named = title_of(session.title, press.language)
    return Effect(asks=text("rename_ask", press.language, title=named), renames=session.id)


async def ask_to_delete(dialogues: VisibleDialogues, press: Press) -> Effect | None:
    """Ask before anything is deleted."""
    session = await dialogues.find(press.lane, press.token)
    if session is None:
        return None
    language = press.language
    buttons = [
        button(ERASE, session.id, language),
        button(PAGE, press.lane.owner.id, language, label="button_keep"),
    ]
    named = title_of(session.title, language)
    return Effect(
        instead=text("delete_ask", language, title=named), markup=InlineKeyboardMarkup([buttons])
    )


async def erase_session(dialogues: VisibleDialogues, press: Press) -> Effect | None:
    """Delete the dialogue for good."""
    if not await dialogues.erase(press.lane, press.token):
        return None
    return Effect(instead=text("delete_done", press.language))


def _list(
    dialogues: VisibleDialogues, page: DialoguePage, owner: Owner, language: Language
) -> Effect:
    """What a page says, and the buttons below it."""
    if not page.rows:
        return Effect(instead=text("sessions_none", language))
    now = dialogues.clock.now()
    lines = [_line(at, row, now, language) for at, row in enumerate(page.rows, start=1)]
    buttons = [_row(at, row, language) for at, row in enumerate(page.rows, start=1)]
    turning = _turning(page, owner, language)
    return Effect(
        instead="\n".join([text("sessions_head", language), "", *lines]),
        markup=InlineKeyboardMarkup([*buttons, turning] if turning else buttons),
    )


def _line(number: int, row: Overview, now: datetime, language: Language) -> str:
    """One dialogue in words; the active one says so."""
    words = {
        "number": str(number),
        "title": title_of(row.title, language),
        "messages": counted("messages", row.messages, language),
        "age": ago(now - row.last_active, language),
    }
    return text(f"sessions_{row.status}", language, **words)


def _row(number: int, row: Overview, language: Language) -> list[InlineKeyboardButton]:
    return [
        button(OPEN, row.id, language, number=str(number)),
        button(RENAME, row.id, language),
        button(DELETE, row.id, language),
    ]


def _turning(page: DialoguePage, owner: Owner, language: Language) -> list[InlineKeyboardButton]:
    """The buttons to the pages before and after this one."""
    sides = [("newer", page.rows[0], page.has_newer), ("older", page.rows[-1], page.has_older)]
    return [
        button(PAGE, f"{owner.id}:{_token(side, row)}", language, label=f"button_{side}")
        for side, row, is_there in sides
        if is_there
    ]


def _token(side: str, row: Overview) -> str:
    milliseconds = (row.last_active - EPOCH) // timedelta(milliseconds=1)
    return f"{side[0]}:{milliseconds}:{row.id[:ID_START]}"


def _cursor(token: str) -> Cursor | None:
    """The cursor a token stands for; None where it is none."""
    parts = token.split(":")
    if len(parts) != CURSOR_PARTS or parts[0] not in {"n", "o"}:
        return None
    side, milliseconds, id_start = parts
    if not (milliseconds.isascii() and milliseconds.isdigit()):
        return None
    if len(milliseconds) > MAX_CURSOR_DIGITS:
        return None
    at = EPOCH + timedelta(milliseconds=int(milliseconds))
    return Cursor(at, id_start[:ID_START], newer=side == "n")
