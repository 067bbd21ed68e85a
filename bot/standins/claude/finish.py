"""Finishes an answer: applies stop sequences and the token limit, adds ids and signatures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from bot.standins.claude.answers import Answer, Json, Piece, Text, Thought, ToolCall, Whole
from bot.standins.claude.prompt import Meter, sign

OVERHEAD_TOKENS = 3


def output_tokens(answer: Answer, meter: Meter) -> int:
    """What the answer cost to write."""
    return OVERHEAD_TOKENS + sum(meter.text(block.written) for block in answer.blocks)


def stopped(answer: Answer, body: Json) -> Answer:
    """The answer up to the first stop sequence in its words."""
    for place, block in enumerate(answer.blocks):
        if not isinstance(block, Text):
            continue
        found = [
            (block.text.index(word), word)
            for word in body.get("stop_sequences") or ()
            if word in block.text
        ]
        if found:
            end, word = min(found)
            return Answer((*answer.blocks[:place], *_text(block.text[:end])), "stop_sequence", word)
    return answer


def thoughtless(answer: Answer) -> Answer:
    """The answer of a model that is not to think."""
    return replace(
        answer, blocks=tuple(block for block in answer.blocks if not isinstance(block, Thought))
    )


def fitted(answer: Answer, limit: int, reason: str, meter: Meter) -> Answer:
    """The answer as far as it fits into `limit` tokens; a tool call may be cut in its JSON."""
    kept: list[Piece] = []
    room = limit - OVERHEAD_TOKENS
    for block in answer.blocks:
        size = meter.text(block.written)
        if size > room:
            return Answer((*kept, *_cut(block, max(room - 1, 0) / size)), stop=reason)
        kept.append(block)
        room -= size
    return answer


def _text(text: str) -> tuple[Piece, ...]:
    return (Text(text),) if text else ()


def _cut(block: Piece, share: float) -> tuple[Piece, ...]:
    end = int(len(block.written) * share)
    match block:
        case Text(text) if end:
            return (Text(text[:end]),)
        case ToolCall(name):
            return (ToolCall(name, {}, partial=block.written[:end]),)
        case Thought() | Whole() | Text():
            return ()


def signed(answer: Answer, body: Json, new_id: Callable[[str], str]) -> Answer:
    """The answer with an id for every call and a signature for every thought."""
    blocks: list[Piece] = []
    for block in answer.blocks:
        match block:
            case ToolCall(id=""):
                blocks.append(replace(block, id=new_id("toolu")))
            case Thought(text):
                shown = text if (body.get("thinking") or {}).get("display") == "summarized" else ""
                before = [done.wire() for done in blocks]
                blocks.append(
                    Thought(text, shown, sign(body, len(body["messages"]), before, shown))
                )
            case _:
                blocks.append(block)
    return replace(answer, blocks=tuple(blocks))
