"""Telegram as the worker sees it: parses a batch, has it answered or carried out, and says how it
ended.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial

from telegram import CallbackQuery

from bot.agent.answers import tell_effects
from bot.errors import TooLate
from bot.ports import Batch, Question, Record, Run, State, TitlePrompt
from bot.telegram.callbacks import callbacks
from bot.telegram.commands import corrections
from bot.telegram.commands.invocation import Effect, Invocation, Press
from bot.telegram.commands.table import CommandDependencies, commands
from bot.telegram.commands.titles import take_titles
from bot.telegram.inbound.parsed_batch import ParsedBatch, parse
from bot.telegram.inbound.parsing import Account, command_of
from bot.telegram.outbound.chat_actions import answer_callback_query
from bot.telegram.outbound.messages import Messages
from bot.telegram.outbound.replies import TelegramReply
from bot.telegram.outbound.throttled_notices import ThrottledNotices
from bot.telegram.outcomes import Outcomes
from bot.texts import text
from bot.turn import TurnRunner

log = logging.getLogger(__name__)

Handle = Callable[[ParsedBatch, TelegramReply, Run], Awaitable[State | None]]


class TelegramFrontend:
    """Implements the Frontend port."""

    def __init__(
        self,
        turns: TurnRunner,
        parts: CommandDependencies,
        messages: Messages,
        throttled_notices: ThrottledNotices,
        account: Account,
    ) -> None:
        self._turns = turns
        self._commands = commands(parts)
        self._callbacks = callbacks(parts)
        self._offer = partial(corrections.offer, parts.sessions, parts.corrections)
        self._take_titles = partial(take_titles, parts.dialogues)
        self._messages = messages
        self._outcomes = Outcomes(parts.choices.owners, parts.lifecycle.clock, throttled_notices)
        self._account = account

    async def answer(self, batch: Batch, run: Run) -> State:
        """Run one turn for the messages of the batch."""
        if (parsed := parse(batch)) is None:
            return "dead"
        async with self._reply(parsed, run.record).show_typing(batch.turn) as reply:
            work = partial(self._answer, parsed, run, reply)
            first = partial(tell_effects, "failed_after_effects", batch.turn, reply, run)
            return await self._outcomes.of(work, parsed, reply, first=first)

    async def run_command(self, batch: Batch, run: Run) -> State:
        """Carry out one command or press, or offer to answer an edited question."""
        handle = {"edit": self._offer_again, "press": self._press}.get(
            batch.entries[0].kind, self._run_command
        )
        return await self._handle(handle, batch, run)

    async def skip_superseded(self, batch: Batch, run: Run) -> State:
        """Say that a later command overtook these messages; what was committed before it came is
        still delivered.
        """
        await self._handle(self._skip, batch, run)
        return "cancelled"

    async def give_up(self, batch: Batch, run: Run) -> State:
        """Apologise for a message whose handling keeps breaking the process."""
        log.error(
            "update %d has ended %d processes that ran it alone and is parked",
            batch.turn,
            batch.claim.deaths_alone,
        )
        await self._handle(_apologise, batch, run)
        return "dead"

    async def _handle(self, handle: Handle, batch: Batch, run: Run) -> State:
        if (parsed := parse(batch)) is None:
            return "dead"
        reply = self._reply(parsed, run.record)
        return await self._outcomes.of(partial(handle, parsed, reply, run), parsed, reply)

    async def _answer(self, parsed: ParsedBatch, run: Run, reply: TelegramReply) -> None:
        if (asked := await self._take_titles(parsed, reply, run.record)) is None:
            return
        reading = asked.reading()
        if reading.question is not None:
            await self._run_turn(parsed.batch, reading.question, reply, run)
        for key in reading.unreadable:
            await reply.notice(key)

    async def _run_turn(
        self, batch: Batch, question: Question, reply: TelegramReply, run: Run
    ) -> None:
        question = replace(
            question, is_retry=batch.claim.is_retry, replaces=batch.entries[0].replaces
        )
        try:
            await self._turns.answer(batch.lane.owner, batch.lane.place, question, reply, run)
        except TooLate as late:
            # Without a button: another try would come later still.
            await reply.notice(late.text)

    async def _skip(self, parsed: ParsedBatch, reply: TelegramReply, _run: Run) -> None:
        question = parsed.reading().question
        if question is not None:
            question = replace(question, is_retry=True)
            lane = parsed.lane
            question = await self._turns.resume(lane.owner, lane.place, question, reply)
        if question is not None:
            await reply.notice("turn_declined")

    async def _press(self, parsed: ParsedBatch, reply: TelegramReply, run: Run) -> None:
        if (query := parsed.query) is None:
            return
        name, _, token = (query.data or "").partition(":")
        press = Press(parsed.lane, parsed.language, token)
        effect = await self._callbacks[name](press) if name in self._callbacks else None
        sentence = text("button_expired", parsed.language) if effect is None else ""
        await answer_callback_query(self._messages.transport, query.id, sentence)
        if effect is not None:
            await _show(effect, query, parsed.batch.turn, reply)
            await _ask(effect, reply, run.record)

    async def _offer_again(self, parsed: ParsedBatch, reply: TelegramReply, _run: Run) -> State:
        if (message := parsed.message) is None:
            return "done"
        question = parsed.reading().question
        edit = corrections.Edit(parsed.batch.turn, message.message_id, question)
        call = Invocation(parsed.lane, parsed.language, "", reply)
        return "offered" if await self._offer(edit, call) else "done"

    async def _run_command(self, parsed: ParsedBatch, reply: TelegramReply, run: Run) -> None:
        if parsed.message is None:
            return
        if (given := command_of(parsed.message, self._account)) is None:
            return
        if (command := self._commands.get(given.name)) is not None:
            lane, stopped = parsed.lane, run.has_stopped_turn
            await command(Invocation(lane, parsed.language, given.argument, reply, stopped))
        elif given.addressed:
            await reply.notice("unknown_command")

    def _reply(self, parsed: ParsedBatch, record: Record) -> TelegramReply:
        return TelegramReply(
            self._messages,
            parsed.lane.place,
            parsed.language,
            record,
            reply_to=parsed.reply_to,
        )


async def _apologise(parsed: ParsedBatch, reply: TelegramReply, _run: Run) -> None:
    if parsed.batch.entries[0].kind == "content":
        await reply.fail("turn_buried", parsed.batch.turn)
    else:
        await reply.notice("turn_buried")


async def _ask(effect: Effect, reply: TelegramReply, record: Record) -> None:
    """Ask for the words an effect needs, and remember what they are for."""
    if effect.asks and (message := await reply.ask(effect.asks)) is not None:
        await record.asked_title(TitlePrompt(message, effect.renames))


async def _show(effect: Effect, query: CallbackQuery, turn: int, reply: TelegramReply) -> None:
    if effect.answer:
        await reply.deliver(effect.answer, turn=turn, again=effect.turn)
    if effect.instead and query.message is not None:
        await reply.replace(query.message.message_id, effect.instead, effect.markup)
