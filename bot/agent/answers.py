"""What comes of a turn: the agent's answer, and what is kept where it was stopped or had nothing to
answer.
"""

from __future__ import annotations

from dataclasses import dataclass

from bot.content import Block, Role, clean, plain_text, text_block, words
from bot.ports import CountTokens, Question, Reply, Run
from bot.session import ClosedTurn, PromptSize, Session, Task, number
from bot.title import title
from bot.tokens import message_tokens
from bot.usage import Usage

INTERRUPTED = "[interrupted]"
LATE_PIECE = "[this came after the album it belongs to had been answered]"

Exchange = tuple[tuple[Role, tuple[Block, ...]], ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of a turn."""

    exchange: Exchange
    """What follows the person's message in the Session: assistant, tool results, …, assistant;
    closed and legal.
    """
    text: str
    """What the person reads, Markdown.

    Empty where only the notice named by `ending` has anything to say.
    """
    usage: Usage
    """Summed over all calls of the turn, the failed ones as far as known."""
    prompt_tokens: int
    """Of the last call, prompt and answer, as reported by `model`; 0 where nothing was reported."""
    task: Task | None
    ending: str
    """Names the notice due after the text, "cut" or "limit" for example; empty where the turn ended
    as it should.
    """
    model: str = ""
    is_deputys: bool = False
    """Whether `model` answered in place of another one that was overloaded or out of reach."""

    async def close(self, session: Session, question: Question, count: CountTokens) -> ClosedTurn:
        """The whole turn, ready to be committed to `session`."""
        exchange: Exchange = (("user", question.content), *self.exchange)
        counted = [
            (role, content, await message_tokens(count, content)) for role, content in exchange
        ]
        return ClosedTurn(
            messages=number(session, question.turn, counted, question.at),
            update_ids=question.update_ids,
            usage=self.usage + Usage(turns=1),
            prompt=PromptSize(
                self.prompt_tokens, session.epoch, self.model or session.prompt.model
            ),
            task=self.task,
            title=title(words(question.content) or plain_text(question.content)),
            at=question.at,
            replaces=question.replaces.turn if question.replaces else None,
        )


def interrupted(shown: str, usage: Usage, task: Task | None) -> Answer:
    """What stays of a turn that was stopped: the words shown so far, marked; open tool calls are
    dropped.
    """
    return Answer(_said(f"{shown}\n\n{INTERRUPTED}".strip()), shown, usage, 0, task, "interrupted")


def late_piece(task: Task | None) -> Answer:
    """A late piece of an album is no new question: it is kept, so that the next one can be about
    it.
    """
    return Answer(_said(LATE_PIECE), "", Usage(), 0, task, "late_piece")


def _said(text: str) -> Exchange:
    return (("assistant", (text_block(clean(text)),)),)


async def finish_known(session: Session, question: Question, reply: Reply) -> Question | None:
    """What this Session has not answered yet; of what it has, only the delivery is finished."""
    for part in question.parts:
        if session.knows(part.update_id) and (answered := session.answer_to(part.update_id)):
            await reply.deliver(answered, turn=part.update_id)
    return question.unknown_to(session)


async def tell_effects(key: str, turn: int, reply: Reply, run: Run) -> None:
    """Say what tools had done when a turn failed or was stopped; the next one shows the model."""
    if effects := await run.record.effects(turn):
        await run.record.keep_effects(turn)
        await reply.notice(key, tools=", ".join(dict.fromkeys(one.tool for one in effects)))


async def tell_how_it_ended(answer: Answer, turn_id: int, reply: Reply, run: Run) -> None:
    """Say what is no part of the answer: why it stops, what was done, who answered."""
    if answer.ending:
        await reply.notice(f"ending_{answer.ending}")
    if answer.ending == "interrupted":
        await tell_effects("stopped_after_effects", turn_id, reply, run)
    if answer.is_deputys:
        await reply.notice("answered_by_deputy", name=answer.model)
