"""How handling a batch ended: its state for the inbox, and the sentence for its person.

This is the one place where an error becomes a sentence: a BotError names its own, anything else
gets a general one and a traceback in the log. Where a chat can no longer be reached, nothing is
sent.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from bot.errors import (
    BotError,
    BudgetSpent,
    ChatBusy,
    ChatUnreachable,
    DeliveryError,
    LaneLost,
    ModelBusy,
    StoreError,
    StoreRefused,
    StoreUnavailable,
    Unstorable,
)
from bot.owner import Lane
from bot.ports import Clock, Owners, State
from bot.telegram.commands.usage import refusal
from bot.telegram.inbound.parsed_batch import ParsedBatch
from bot.telegram.outbound.replies import TelegramReply
from bot.telegram.outbound.throttled_notices import ThrottledNotices
from bot.texts import Language, duration, rounded

log = logging.getLogger(__name__)

Tell = Callable[[], Awaitable[None]]
Work = Callable[[], Awaitable[State | None]]
"""Handles a batch; None where it is plainly done."""

MAX_REFUSED_TURNS = 10_000
MIN_NAMED_SECONDS = 10.0
"""A shorter wait is over before its sentence has been read."""


@dataclass(frozen=True, slots=True)
class Outcomes:
    """Runs the handling of a batch and says how it ended.

    ChatBusy, LaneLost and StoreUnavailable are raised on: the worker tries again later, and what
    the store refuses only so often.
    """

    owners: Owners
    clock: Clock
    throttled_notices: ThrottledNotices
    refused: Counter[int] = field(default_factory=Counter)
    """How often the store refused what each of these turns needed, as far as this process knows."""

    async def of(
        self, work: Work, parsed: ParsedBatch, reply: TelegramReply, *, first: Tell | None = None
    ) -> State:
        """Do the work, and tell the person where it failed.

        `first` tells what a failed turn has done; such a turn may be tried again.
        """
        lane, language = parsed.lane, parsed.language
        if parsed.batch.claim.unreachable and lane.place.is_private:
            await self.owners.reached(lane.owner)
        turn = parsed.batch.turn if first is not None else None
        try:
            return await self._done(work, parsed.batch.turn)
        except (ChatBusy, LaneLost):
            raise
        except StoreUnavailable as away:
            if self._has_tried_enough(away, parsed.batch.turn):
                return await _fail(StoreError(str(away)), language, reply, turn)
            self.throttled_notices.say(lane.place, away.text, language)
            raise
        except ChatUnreachable as gone:
            return await self._note_unreachable(lane, gone)
        except BudgetSpent as spent:
            await _tell(first)
            return await _refuse(spent, parsed, reply, turn)
        except BotError as error:
            await _tell(reply.keep_shown if isinstance(error, ModelBusy) else None)
            await _tell(None if isinstance(error, DeliveryError) else first)
            return await _fail(error, language, reply, turn)
        except Exception:  # the edge: the person hears of it, the operator gets the traceback
            log.exception("failed unexpectedly")
            await _tell(first)
            await _apologise(reply, turn, BotError.text, {})
            return "failed"

    async def _done(self, work: Work, turn: int) -> State:
        state = await work() or "done"
        self.refused.pop(turn, None)
        return state

    def _has_tried_enough(self, failure: StoreUnavailable, turn: int) -> bool:
        """Whether the store has refused this turn as often as trying is worth.

        Where not even that could be written down, the turn comes again and is apologised for at
        twice that number, and so on.
        """
        if not isinstance(failure, StoreRefused):
            return False
        if len(self.refused) >= MAX_REFUSED_TURNS:
            self.refused.clear()
        self.refused[turn] += 1
        rounds, left = divmod(self.refused[turn], failure.tries)
        return not left and rounds.bit_count() == 1

    async def _note_unreachable(self, lane: Lane, gone: ChatUnreachable) -> State:
        """A group that cannot be reached tells nothing about its members."""
        log.info("nobody there: %s", gone)
        if lane.place.is_private:
            await self.owners.unreachable(lane.owner, self.clock.now())
        return "refused"


async def _tell(first: Tell | None) -> None:
    try:
        if first is not None:
            await first()
    except ChatBusy:
        raise
    except DeliveryError as error:
        log.info("what a failed turn has done could not be said: %s", error)


async def _refuse(
    spent: BudgetSpent, parsed: ParsedBatch, reply: TelegramReply, turn: int | None
) -> State:
    log.info(
        "no room in the budget: %d tokens needed, %d of %d left",
        spent.needed,
        spent.left,
        spent.budget,
    )
    sentence = refusal(spent, parsed.lane.place, parsed.language)
    await _apologise(reply, turn if spent.passes else None, *sentence)
    return "budget"


async def _fail(
    error: BotError, language: Language, reply: TelegramReply, turn: int | None
) -> State:
    log.warning("failed: %s: %s", type(error).__name__, error)
    # What cannot be stored would fail in the same way when tried again.
    can_try_again = not isinstance(error, Unstorable)
    await _apologise(reply, turn if can_try_again else None, *_apology(error, language))
    return "failed"


def _apology(error: BotError, language: Language) -> tuple[str, Mapping[str, str]]:
    """The key of the sentence for an error, and its values: a long wait is named."""
    wait = error.retry_after if isinstance(error, ModelBusy) else None
    if wait is None or wait < MIN_NAMED_SECONDS:
        return error.text, {}
    return "error_model_wait", {"wait": duration(rounded(timedelta(seconds=wait)), language)}


async def _apologise(
    reply: TelegramReply, turn: int | None, key: str, values: Mapping[str, str]
) -> None:
    try:
        if turn is None:
            await reply.notice(key, **values)
        else:
            await reply.fail(key, turn, **values)
    except ChatBusy:
        raise
    except DeliveryError as error:
        log.info("the apology could not be delivered: %s", error)
