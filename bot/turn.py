"""A turn, from what a person sent to the answer: load, run, commit, reply, compact. This is the
spine; start reading at `Turn.complete`.

    load     the active Session, by its authenticated Owner and Place; too late for it? then a new
             one, with a notice
    run      the agent: model ⇄ tools; nothing is written while it runs
    commit   the whole turn in one update, compare-and-set on the Session's revision
    reply    only now is the answer sent: what a person has read is what the next turn will remember
    compact  if it is due, after the reply, holding nothing

Nothing is kept between two turns: everything a turn needs is in the Session, so any process may run
the next one. A turn is committed whole or not at all, so a Session never holds half a dialogue or a
tool call without its result.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable
from dataclasses import dataclass, field, replace

from bot.agent.answers import (
    Answer,
    finish_known,
    interrupted,
    late_piece,
    tell_how_it_ended,
)
from bot.agent.attachments import are_late
from bot.agent.loop import Agent
from bot.agent.prompt import effects_text
from bot.aio import STOPPED, run_until
from bot.compaction import Compactor
from bot.content import text_block
from bot.errors import PromptTooLong, SessionGone
from bot.lifecycle import ActiveSession
from bot.owner import Owner, Place
from bot.ports import NOTHING_USED, Clock, CountTokens, NewId, Question, Reply, Run, SessionStore
from bot.session import ClosedTurn, Lifetime, Session
from bot.tokens import message_tokens
from bot.usage import Usage

log = logging.getLogger(__name__)

MAX_LOADS = 5
"""Times that one turn is begun, because its Session changed before the answer was committed."""


@dataclass(frozen=True, slots=True)
class TurnRunner:
    """Answers questions; the same object serves every Owner and remembers none of them."""

    sessions: SessionStore
    agent: Agent
    compactor: Compactor
    count: CountTokens
    clock: Clock
    new_id: NewId
    lifetime: Lifetime
    recalls: bool = False
    """Tell the model in a new Session what the one before was about, where that ended by itself."""
    announces: bool = False
    """Say once, after the next answer, that a compaction has taken place."""

    async def answer(
        self, owner: Owner, place: Place, question: Question, reply: Reply, run: Run
    ) -> None:
        """Run one turn.

        Setting `run.stop` ends it early, keeping what was shown. Raises a BotError, nothing stored.
        """
        await Turn(self, self._active(owner, place), question, reply, run).complete()

    async def resume(
        self, owner: Owner, place: Place, question: Question, reply: Reply
    ) -> Question | None:
        """What of the question no Session has answered; of the rest the delivery is finished."""
        return await self._active(owner, place).unanswered(question, reply)

    def _active(self, owner: Owner, place: Place) -> ActiveSession:
        recall = self.count if self.recalls else None
        return ActiveSession(
            owner, place, self.sessions, self.clock, self.new_id, self.lifetime, recall
        )


@dataclass(slots=True)
class Turn:
    """One turn in progress: what it was given, and what has come of it so far."""

    runner: TurnRunner
    active: ActiveSession
    question: Question
    reply: Reply
    run: Run
    asked: Question = field(init=False)
    """What of the question is left to answer, with its files opened."""
    session: Session = field(init=False)
    answer: Answer = field(init=False)
    spent: Usage = NOTHING_USED
    """What was booked for a run whose answer was not committed."""
    was_compacted: bool = False

    async def complete(self) -> None:
        """All five steps; the first three again where the Session changed meanwhile."""
        for _ in range(MAX_LOADS):
            if not await self.load():
                return
            try:
                await self.ask()
                await self.commit()
                break
            except SessionGone:
                if not await self.can_restart():
                    raise
            finally:
                await self.settle()
        else:
            raise SessionGone
        await self.deliver()
        self.compact()

    async def load(self) -> bool:
        """Find the active Session and what is to be answered in it; False: nothing is left."""
        unanswered = await self.active.unanswered(self.question, self.reply)
        if unanswered is None:
            return False
        owner, attachments = self.active.owner, self.runner.agent.attachments
        opening = attachments.resolve(owner, unanswered, self.reply, self.run.record)
        resolved = await run_until(self.run.stop, opening)
        self.asked = unanswered if resolved is STOPPED else resolved
        if not self.asked.content:
            return False
        session = await self.active.open(self.asked, self.reply)
        if (fresh := await finish_known(session, self.asked, self.reply)) is None:
            return False
        self.session, self.asked = fresh.opened_for(session), fresh.completed(session)
        await self._add_effects()
        return True

    async def _add_effects(self) -> None:
        """Tell the model what tools did in earlier turns of the lane that failed."""
        if effects := await self.run.record.unseen_effects(self.session.created_at):
            self.asked = self.asked.followed_by(text_block(effects_text(effects)))

    async def ask(self) -> None:
        """Have the agent answer; where its person stops it, what was shown is the answer."""
        answer = await run_until(self.run.stop, self._ask_with_room())
        if answer is STOPPED:
            answer = interrupted(self.reply.shown, self.run.meter.total, self.session.task)
        self.answer = answer

    async def _ask_with_room(self) -> Answer:
        """The agent's answer; room is made first, or once the prompt has proved too long."""
        content, compactor = self.asked.content, self.runner.compactor
        if compactor.is_full(self.session, await message_tokens(self.runner.count, content)):
            await self._make_room()
        if are_late(content, self.session):
            return late_piece(self.session.task)
        try:
            return await self._ask_agent()
        except PromptTooLong:
            if not await self._make_room():
                raise
        return await self._ask_agent()

    def _ask_agent(self) -> Awaitable[Answer]:
        return self.runner.agent.run(
            self.active.owner, self.session, self.asked, self.reply, self.run
        )

    async def _make_room(self) -> bool:
        """Compact the Session now; whether it was. Raises SessionGone where it has gone on."""
        before, asked = self.session, self.asked
        await self.runner.compactor.make_room(self.active.owner, before)
        found = asked.opened_for(await self.active.reload(before, asked.at))
        if found.epoch == before.epoch:
            return False
        self.session = found
        if found.summary is not None and found.summary.gaps:
            await self.reply.notice("compaction_gap")
        return True

    async def commit(self) -> None:
        """Write the whole turn. Raises SessionGone where the Session is another one by now."""
        closed = await self._close()
        self.was_compacted = self.session.epoch > self.session.prompt.epoch
        self.run.record.require_lease()
        await self.active.commit(self.session, closed)
        self.run.meter.add(Usage(turns=1))
        await self.run.record.effects_seen()
        log.info("committed revision %d of Session %s", self.session.revision, self.session.id)

    async def _close(self) -> ClosedTurn:
        session, estimator = self.session, self.runner.compactor.estimator
        closed = await self.answer.close(session, self.asked, self.runner.count)
        at = self.active.latest(self.asked.at)
        closed = replace(closed, at=at, usage=self.spent + closed.usage)
        if closed.prompt.tokens:
            estimator.learn(session, closed)
            return closed
        expected = estimator.expected(session, closed.tokens)
        return replace(closed, prompt=replace(closed.prompt, tokens=expected))

    async def settle(self) -> None:
        """Book what this run has cost, however it ended."""
        if (budget := self.runner.agent.token_budget) is not None:
            self.spent += self.run.meter.total
            await budget.settle(self.active.owner, self.asked.turn, self.run.meter)

    async def can_restart(self) -> bool:
        """Whether the turn may begin anew, now that its Session is not what it was.

        An earlier run, frozen on its way here, may have woken up and committed: its answer counts.
        Or a compaction came between, and a corrected question is to be asked in what it left.
        """
        asked = self.asked
        if not asked.replaces and not await self.active.find_answered(asked.update_ids):
            return False
        self.reply.restart()
        self.question = replace(self.question, is_retry=True)
        return True

    async def deliver(self) -> None:
        """Send the answer, and the notices that are due."""
        if self.answer.text:
            await self.reply.deliver(self.answer.text, turn=self.asked.turn)
        await tell_how_it_ended(self.answer, self.asked.turn, self.reply, self.run)
        if self.was_compacted and self.runner.announces:
            await self.reply.notice("compaction_done")

    def compact(self) -> None:
        """Have the Session compacted in the background, where that is due."""
        self.runner.compactor.consider(self.active.owner, self.session)
