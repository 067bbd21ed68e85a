"""Booking what was used, which never costs anybody an answer or a summary that is already made."""

from __future__ import annotations

import logging
from datetime import datetime

from bot.errors import StoreError
from bot.owner import Owner
from bot.ports import NOTHING_USED, Books
from bot.session import Usage

log = logging.getLogger(__name__)


async def book(books: Books | None, owner: Owner, at: datetime, usage: Usage | None) -> None:
    """Book it, if there is anything to book and anywhere to book it."""
    if books is None or usage is None or usage == NOTHING_USED:
        return
    try:
        await books.add(owner, at, usage)
    except StoreError as failure:
        log.warning("what was used is not booked: %s", failure)
