"""An answer that may not have arrived: its person is told at once, and may have it repeated.

Where that sentence cannot be sent either, the lane remembers the turn, and the next answer offers
to repeat it. So it is in a closed topic, where nothing can be said until it is opened again.
"""

from __future__ import annotations

import logging

from bot.errors import ChatBusy, DeliveryError, TopicClosed
from bot.ports import Record
from bot.telegram.outbound.buttons import REPEAT, button_below
from bot.telegram.outbound.parts import Parts
from bot.telegram.outbound.splitting import Chunk
from bot.texts import Language, text

log = logging.getLogger(__name__)


async def offer_repeat(parts: Parts, language: Language, record: Record, turn: int) -> None:
    """Say that the answer of this turn may be missing, with the button that repeats it."""
    sentence, button = text("delivery_uncertain", language), button_below(REPEAT, turn, language)
    try:
        sent = await parts.send(Chunk(sentence), button)
    except (ChatBusy, DeliveryError) as failure:
        log.info("it could not be said that an answer may be missing: %s", failure)
        return
    if sent is not None:
        await record.mark_uncertain(None)


async def keep_for_later(record: Record, turn: int, closed: TopicClosed) -> None:
    """Keep an answer for the next time that something can be said here."""
    log.info("turn %d: kept, since it cannot be sent: %s", turn, closed)
    await record.mark_uncertain(turn)
