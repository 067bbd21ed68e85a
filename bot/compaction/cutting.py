"""When a Session is compacted, and where it is cut: pure rules over what the Session holds.

A sawtooth: past a trigger the Session falls back far below it, in one step. The cut lies between
turns, so a tool call is never parted from its result and the kept tail stays as it was, byte for
byte.

The token trigger also asks for a quarter of itself in removable material. That is the breaker
against loops: where the parts that cannot go (the fixed prompt, the summary, the last turns) are
alone above the trigger, no call is made until enough that is new has come, however often the
trigger is passed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby

from bot.session import Message, Session

TAIL_SHARE = 0.4
"""The kept tail holds at most this share of the token trigger: trigger and target must lie far
apart.
"""
WORTH_SHARE = 0.25
WINDOW_SHARE = 0.85
MAX_MESSAGES = 300
MAX_TEXT_BYTES = 700_000
"""Of text in the messages, in UTF-8, well below the store's own cap of 1 MB for a document."""


@dataclass(frozen=True, slots=True)
class CompactionPolicy:
    """When to compact, and what to keep. `tokens` is the size of the prompt as the model reported
    it.

    `window` is what the chat model can take in at all, less the longest answer: past a share of it,
    or past the greatest size of a document, no turn may begin without room being made first.
    """

    messages: int = 40
    tokens: int = 16_000
    keep_messages: int = 12
    window: int = 190_000


def is_due(
    session: Session, policy: CompactionPolicy, now: datetime, prompt: int, *, ratio: float = 1.0
) -> bool:
    """Whether the Session, whose next prompt has `prompt` tokens, is past a trigger and compacting
    it is worth a call.

    Not while a back-off is running. `ratio` makes the model's own tokens of the estimates that
    messages carry.
    """
    if session.compaction.next_at is not None and now < session.compaction.next_at:
        return False
    if len(session.messages) > policy.messages or has_gaps(session):
        return True
    removable = sum(
        message.tokens for message in removable_messages(session.messages, policy, ratio=ratio)
    )
    return prompt > policy.tokens and ratio * removable >= WORTH_SHARE * policy.tokens


def has_gaps(session: Session) -> bool:
    """Whether archived messages wait for a summary."""
    return session.summary is not None and bool(session.summary.gaps)


def is_full(session: Session, policy: CompactionPolicy, prompt: int) -> bool:
    """Whether a turn whose prompt has `prompt` tokens cannot begin before room is made."""
    return (
        prompt > WINDOW_SHARE * policy.window
        or len(session.messages) > MAX_MESSAGES
        or sum(map(_text_bytes, session.messages)) > MAX_TEXT_BYTES
    )


def removable_messages(
    messages: Sequence[Message], policy: CompactionPolicy, *, minimum: int = 1, ratio: float = 1.0
) -> tuple[Message, ...]:
    """The oldest whole turns, all but the newest that fit the policy; at least `minimum` stay."""
    turns, kept, tokens = whole_turns(messages), 0, 0
    for position, turn in enumerate(reversed(turns)):
        kept += len(turn)
        tokens += sum(message.tokens for message in turn)
        is_full = kept > policy.keep_messages or ratio * tokens > TAIL_SHARE * policy.tokens
        if is_full and position >= minimum:
            return tuple(message for old in turns[: len(turns) - position] for message in old)
    return ()


def whole_turns(messages: Sequence[Message]) -> list[tuple[Message, ...]]:
    """The messages by turn, in order."""
    return [tuple(turn) for _, turn in groupby(messages, key=lambda message: message.turn)]


def _text_bytes(message: Message) -> int:
    return sum(len(str(value).encode()) for block in message.content for value in block.values())
