"""The people's side, as the worker sees it: reads an entry, has it answered or carried out, and
says how it ended.

This is the one place where an error becomes a sentence: a BotError names its own, whatever else
goes wrong gets a general one and a traceback in the log. Nobody is told about a chat that cannot be
reached any more.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from datetime import timedelta

from telegram import CallbackQuery, Update

from bot.errors import (
    BotError,
    BudgetSpent,
    ChatBusy,
    ChatUnreachable,
    DeliveryError,
    LaneLost,
    ModelBusy,
    ModelError,
    SessionGone,
    SessionTooLarge,
    StoreUnavailable,
    TooLate,
    Unstorable,
)
from bot.inbox import Batch, Entry, Record, Run, State
from bot.telegram.callbacks import run_callback
from bot.telegram.commands import corrections
from bot.telegram.commands.names import COMMANDS
from bot.telegram.commands.table import RUN, CommandDependencies, Invocation
from bot.telegram.commands.usage import refusal
from bot.telegram.inbound.identity import identify
from bot.telegram.inbound.parsing import Account, Reading, command_of, read
from bot.telegram.outbound.chat_actions import answer_callback_query
from bot.telegram.outbound.messages import Messages
from bot.telegram.outbound.replies import TelegramReply
from bot.telegram.outbound.throttled_notices import ThrottledNotices
from bot.texts import Language, duration, language_of, rounded, text
from bot.turn import TurnRunner

log = logging.getLogger(__name__)

Work = Callable[[TelegramReply], Awaitable[State | None]]
"""What has to be done; how it ended, where that is not plainly done."""

WORTH_NAMING = 10.0
"""A shorter wait is over before it has been read."""


class TelegramFrontend:
    """Implements the Frontend port."""

    def __init__(
        self,
        turns: TurnRunner,
        needs: CommandDependencies,
        messages: Messages,
        throttled_notices: ThrottledNotices,
        account: Account,
    ) -> None:
        self._turns = turns
        self._needs = needs
        self._messages = messages
        self._throttled_notices = throttled_notices
        self._account = account

    async def answer(self, batch: Batch, run: Run) -> State:
        """Run one turn for the messages of the batch."""

        async def work(reply: TelegramReply) -> None:
            reading = _reading(batch)
            if reading.question is not None:
                question = replace(
                    reading.question,
                    is_retry=batch.claim.is_retry,
                    replaces=batch.entries[0].replaces,
                )
                try:
                    await self._turns.answer(
                        batch.lane.owner, batch.lane.place, question, reply, run
                    )
                except TooLate as late:
                    await reply.notice(
                        late.text
                    )  # and no button: another try would come later still
                except (ModelError, SessionTooLarge, SessionGone):
                    await self._say_what_was_done(batch, reply, run.record)
                    raise
            for key in reading.unreadable:
                await reply.notice(key)

        async with self._reply(batch, run.record).showing(batch.turn) as reply:
            return await self._outcome(work, reply, batch, can_try_again=True)

    async def _say_what_was_done(self, batch: Batch, reply: TelegramReply, record: Record) -> None:
        """Before it is said that a turn failed: what its tools had done by then, which the next one
        is to know.
        """
        if effects := await record.effects(batch.turn):
            await record.keep_effects(batch.turn)
            await reply.notice(
                "failed_after_effects", tools=", ".join(dict.fromkeys(one.tool for one in effects))
            )

    async def run_command(self, batch: Batch, run: Run) -> State:
        """Carry out one command or press; see what became of an edited question."""
        update, reply = _update(batch.entries[0]), self._reply(batch, run.record)
        if batch.entries[0].kind == "edit":
            return await self._outcome(lambda reply: self._offer(batch, reply), reply, batch)
        if update.callback_query is not None:
            query = update.callback_query
            return await self._outcome(lambda reply: self._press(batch, query, reply), reply, batch)
        return await self._outcome(
            lambda reply: self._run_command(batch, update, reply), reply, batch
        )

    async def skip_superseded(self, batch: Batch, run: Run) -> State:
        """Say that a later command overtook these messages; what was committed before it came is
        still delivered.
        """

        async def work(reply: TelegramReply) -> None:
            question = _reading(batch).question
            if question is not None:
                question = await self._turns.resume(
                    batch.lane.owner, replace(question, is_retry=True), reply
                )
            if question is not None:
                await reply.notice("turn_declined")

        await self._outcome(work, self._reply(batch, run.record), batch)
        return "cancelled"

    async def give_up(self, batch: Batch, run: Run) -> State:
        """Apologise for a message whose handling keeps breaking the process."""
        log.error(
            "update %d has ended %d processes that ran it alone and is parked",
            batch.turn,
            batch.claim.deaths_alone,
        )

        async def work(reply: TelegramReply) -> None:
            if batch.entries[0].kind == "content":
                await reply.fail("turn_buried", batch.turn)
            else:
                await reply.notice("turn_buried")

        await self._outcome(work, self._reply(batch, run.record), batch)
        return "dead"

    async def _press(self, batch: Batch, query: CallbackQuery, reply: TelegramReply) -> None:
        language = _language(_update(batch.entries[0]))
        effect = await run_callback(self._needs, batch.lane, language, query.data or "")
        sentence = text("button_expired", language) if effect is None else ""
        await answer_callback_query(self._messages.transport, query.id, sentence)
        if effect is not None and effect.answer:
            await reply.deliver(effect.answer, turn=batch.turn, again=effect.turn)
        if effect is not None and effect.instead and query.message is not None:
            await reply.replace(query.message.message_id, effect.instead)

    async def _offer(self, batch: Batch, reply: TelegramReply) -> State:
        language = _language(_update(batch.entries[0]))
        is_offered = await corrections.offer(
            self._needs, batch.entries[0], _reading(batch), language, reply
        )
        return "offered" if is_offered else "done"

    async def _run_command(self, batch: Batch, update: Update, reply: TelegramReply) -> None:
        command_text = (
            command_of(update.message, self._account) if update.message is not None else None
        )
        if command_text is None:
            return
        if (command := COMMANDS.get(command_text.name)) is not None:
            await RUN[command.name](
                self._needs, Invocation(batch.lane, _language(update), command_text.argument, reply)
            )
        elif command_text.addressed:
            await reply.notice("unknown_command")

    def _reply(self, batch: Batch, record: Record) -> TelegramReply:
        """In a group an answer names the message it answers; in private there is only one it can
        be.
        """
        update, place = _update(batch.entries[-1]), batch.lane.place
        reply_to = None if place.is_private or update.message is None else update.message.message_id
        return TelegramReply(
            self._messages, place, _language(update), reply_to=reply_to, record=record
        )

    async def _outcome(
        self, work: Work, reply: TelegramReply, batch: Batch, *, can_try_again: bool = False
    ) -> State:
        """Do the work, and tell the person where it failed.

        What can go on later is for the worker.
        """
        if batch.claim.unreachable:
            await self._needs.found(batch.lane)
        language, turn = _language(_update(batch.entries[0])), batch.turn if can_try_again else None
        try:
            return await work(reply) or "done"
        except (ChatBusy, LaneLost):
            raise
        except StoreUnavailable as away:
            self._throttled_notices.say(batch.lane.place, away.text, language)
            raise
        except ChatUnreachable as gone:
            log.info("nobody there: %s", gone)
            await self._needs.lost(batch.lane)
            return "refused"
        except BudgetSpent as spent:
            log.info(
                "no room in the budget: %d tokens needed, %d of %d left",
                spent.needed,
                spent.left,
                spent.budget,
            )
            await _apologise(
                reply, turn if spent.passes else None, *refusal(spent, batch.lane.place, language)
            )
            return "budget"
        except BotError as error:
            log.warning("failed: %s: %s", type(error).__name__, error)
            turn = (
                None if isinstance(error, Unstorable) else turn
            )  # trying it again would end the same way
            await _apologise(reply, turn, *apology(error, language))
            return "failed"
        except Exception:  # the edge: the person hears of it, the operator gets the traceback
            log.exception("failed unexpectedly")
            await _apologise(reply, turn, BotError.text, {})
            return "failed"


def _reading(batch: Batch) -> Reading:
    return read([_update(entry) for entry in batch.entries])


def _update(entry: Entry) -> Update:
    return Update.de_json(dict(entry.update))


def _language(update: Update) -> Language:
    sender = identify(update)
    return language_of(None) if sender is None else sender.language


def apology(error: BotError, language: Language) -> tuple[str, Mapping[str, str]]:
    """The sentence for an error, and what stands in it: where the provider asks for a long wait,
    until when.
    """
    wait = error.retry_after if isinstance(error, ModelBusy) else None
    if wait is None or wait < WORTH_NAMING:
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
