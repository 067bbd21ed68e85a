"""A turn, from what a person sent to the answer: load, run, commit, reply. This is the spine; start
reading here.

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
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from bot.agent.answers import Answer, interrupted, late_piece
from bot.agent.attachments import are_late, files_of
from bot.agent.loop import Agent
from bot.agent.prompt import effects_text, user_content
from bot.aio import run_until
from bot.compaction import Compactor
from bot.errors import AlreadyActive, PromptTooLong, SessionGone, StoreUnavailable, TooLate
from bot.inbox import Effect, Run
from bot.owner import Owner, Place
from bot.plain_text import plain_text, title
from bot.ports import Clock, CountTokens, NewId, Question, Reply, SessionStore
from bot.session import (
    Block,
    ClosedTurn,
    Lifetime,
    PromptSize,
    Role,
    Session,
    Usage,
    number,
    text_block,
    words,
)
from bot.tokens import message_tokens

log = logging.getLogger(__name__)

OPENING_TRIES = 5


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
    announces: bool = False
    """Say once, after the next answer, that a compaction has taken place."""

    async def answer(
        self, owner: Owner, place: Place, question: Question, reply: Reply, run: Run
    ) -> None:
        """Run one turn.

        Setting `run.stop` ends it early, keeping what was shown. Raises a BotError, nothing stored.
        """
        loaded = await self._load(owner, place, question, reply, run)
        if loaded is None:
            return
        session, asked = loaded
        asked = _with_effects(asked, await run.record.unseen_effects(session.created_at))
        try:
            session, answer = await self._run(owner, session, asked, reply, run)
            is_news = self.announces and session.epoch > session.prompt.epoch
            await self._commit(owner, session, asked, answer, run)
        except SessionGone:
            if (
                asked.replaces is None
                and await self.sessions.find_by_update_ids(owner, asked.update_ids) is None
            ):
                raise
            # The run before, frozen on its way here, woke up and committed: its answer is the one
            # that counts. Or a compaction came between: what the corrected question was asked in is
            # no longer what is stored.
            reply.restart()
            await self.answer(owner, place, replace(question, is_retry=True), reply, run)
            return
        finally:
            if (
                self.agent.token_budget is not None
            ):  # however the turn ended, what it has cost is booked
                await self.agent.token_budget.settle(owner, asked.turn, run.meter)
        await _send(reply, asked.turn, answer)
        if is_news:
            await reply.notice("compaction_done")
        self.compactor.consider(owner, session)

    # ----------------------------------------------------------------------------------------- load

    async def _load(
        self, owner: Owner, place: Place, question: Question, reply: Reply, run: Run
    ) -> tuple[Session, Question] | None:
        """The active Session and what is to be answered in it, files opened; None: nothing is left
        to answer.
        """
        unanswered = await self.resume(owner, question, reply)
        if unanswered is None:
            return None
        readable = (
            await run_until(run.stop, self._examined(owner, unanswered, reply, run)) or unanswered
        )
        if not user_content(readable):
            return None
        session = await self._active(owner, place, readable, reply)
        fresh = await _finish_known(session, readable, reply)
        if fresh is None:
            return None
        return fresh.opened_for(session), fresh.completed(session, user_content(fresh))

    async def _examined(self, owner: Owner, question: Question, reply: Reply, run: Run) -> Question:
        return await self.agent.attachments.resolve(owner, question, reply, run.record)

    async def resume(self, owner: Owner, question: Question, reply: Reply) -> Question | None:
        """What of the question no Session has answered. Where an earlier run died, its turn may be
        in any of them.

        Files are opened only for what is not answered yet: a second time they may be gone, and the
        answer with them.
        """
        if not question.is_retry and not files_of(user_content(question)):
            return question
        committed = await self.sessions.find_by_update_ids(owner, question.update_ids)
        return question if committed is None else await _finish_known(committed, question, reply)

    async def _active(
        self, owner: Owner, place: Place, question: Question, reply: Reply
    ) -> Session:
        """The active Session, or a new one where none is left or the question comes too late for
        it.
        """
        now = self._latest(question)
        for _ in range(OPENING_TRIES):
            found = await self.sessions.load(
                owner, place, at=question.at, now=now, lifetime=self.lifetime
            )
            if found is not None:
                return found
            if question.replaces is not None:
                raise TooLate
            expired = await self.sessions.expire(
                owner, place, at=question.at, now=now, lifetime=self.lifetime
            )
            session = Session.begin(self.new_id(), owner, place, now)
            try:
                await self.sessions.create(owner, session)
            except AlreadyActive:
                continue  # another replica began one at the same moment: load that
            if expired is not None and not expired.is_empty:
                await reply.notice("session_expired")
            return session
        raise StoreUnavailable("the active Session could neither be loaded nor begun")

    def _latest(self, question: Question) -> datetime:
        """The later of the host's time and Telegram's: the next question's date is compared with
        it.
        """
        return max(self.clock.now(), question.at)

    # ------------------------------------------------------------------------------------------ run

    async def _run(
        self, owner: Owner, session: Session, question: Question, reply: Reply, run: Run
    ) -> tuple[Session, Answer]:
        """The answer, and the Session it is for; room is made in that first, or where the prompt
        proved too long.
        """
        if self.compactor.is_full(
            session, await message_tokens(self.count, user_content(question))
        ):
            session = await self._with_room(owner, session, question, reply, run)
        if are_late(user_content(question), session):
            return session, late_piece(session.task)
        try:
            answer = await run_until(run.stop, self.agent.run(owner, session, question, reply, run))
        except PromptTooLong:
            roomier = await self._with_room(owner, session, question, reply, run)
            if run.stop.is_set():
                return session, interrupted(reply.shown, run.meter.total, session.task)
            if roomier is session:
                raise
            session = roomier
            answer = await run_until(run.stop, self.agent.run(owner, session, question, reply, run))
        return session, answer or interrupted(reply.shown, run.meter.total, session.task)

    async def _with_room(
        self, owner: Owner, session: Session, question: Question, reply: Reply, run: Run
    ) -> Session:
        """The Session after room was made in it; the very same where none was."""
        await run_until(run.stop, self.compactor.make_room(owner, session))
        now = self._latest(question)
        found = await self.sessions.load(
            owner, session.place, at=question.at, now=now, lifetime=self.lifetime
        )
        if found is None or (found.id, found.revision) != (session.id, session.revision):
            raise SessionGone
        found = question.opened_for(found)
        if found.epoch == session.epoch:
            return session
        if found.summary is not None and found.summary.gaps:
            await reply.notice("compaction_gap")
        return found

    # --------------------------------------------------------------------------------------- commit

    async def _commit(
        self, owner: Owner, session: Session, question: Question, answer: Answer, run: Run
    ) -> None:
        turn = await self._closed(session, question, answer)
        if answer.prompt_tokens:
            self.compactor.estimator.learn(session, turn)
        run.record.require_lease()
        await self.sessions.commit(owner, session, turn)
        run.meter.add(Usage(turns=1))
        await run.record.effects_seen()
        log.info("committed revision %d of Session %s", session.revision, session.id)

    async def _closed(self, session: Session, question: Question, answer: Answer) -> ClosedTurn:
        asked = user_content(question)
        entries: list[tuple[Role, tuple[Block, ...]]] = [("user", asked), *answer.exchange]
        counted = [
            (role, content, await message_tokens(self.count, content)) for role, content in entries
        ]
        size = answer.prompt_tokens or self.compactor.estimator.expected(
            session, sum(tokens for *_, tokens in counted)
        )
        return ClosedTurn(
            messages=number(session, question.turn, counted, question.at),
            update_ids=question.update_ids,
            usage=answer.usage + Usage(turns=1),
            prompt=PromptSize(size, session.epoch, answer.model or session.prompt.model),
            task=answer.task,
            title=title(words(asked) or plain_text(asked)),
            at=self._latest(question),
            replaces=question.replaces.turn if question.replaces else None,
        )


# -------------------------------------------------------------------------------------------- reply


async def _finish_known(session: Session, question: Question, reply: Reply) -> Question | None:
    """What this Session has not answered yet; of what it has, only the delivery is finished."""
    for part in question.parts:
        if session.knows(part.update_id) and (answered := session.answer_to(part.update_id)):
            await reply.deliver(answered, turn=part.update_id)
    return question.unknown_to(session)


def _with_effects(question: Question, effects: Sequence[Effect]) -> Question:
    """The question, and behind it what tools did in earlier turns of the lane that failed."""
    if not effects:
        return question
    *parts, last = question.parts
    told = replace(last, content=(*last.content, text_block(effects_text(effects))))
    return replace(question, parts=(*parts, told))


async def _send(reply: Reply, turn: int, answer: Answer) -> None:
    if answer.text:
        await reply.deliver(answer.text, turn=turn)
    if answer.ending:
        await reply.notice(f"ending_{answer.ending}")
