"""What comes of a turn: the agent's answer, and what is kept where it was stopped or had nothing to
answer.
"""

from __future__ import annotations

from dataclasses import dataclass

from bot.session import Block, Role, Task, Usage, clean, text_block

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


def _said(words: str) -> Exchange:
    return (("assistant", (text_block(clean(words)),)),)
