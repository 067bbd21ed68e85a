"""What a commit writes: the one update by which a stored Session absorbs a turn, how much it may
grow by that, and how a turn is recognised that may have been stored already.
"""

from __future__ import annotations

from dataclasses import replace

from bot.content import clean
from bot.errors import SessionTooLarge
from bot.session import TURNS_REMEMBERED, ClosedTurn, Message, Session
from bot.store.documents import (
    Document,
    bson_datetime,
    from_message,
    from_prompt,
    from_task,
    more_usage,
    to_message,
    to_task,
)
from bot.store.stored_blocks import weight

MAX_BYTES = 1_000_000
MAX_MESSAGES = 400


def turn_update(session: Session, turn: ClosedTurn) -> Document:
    """The one update that makes the stored Session absorb `turn`.

    One that takes another's place sets the messages as a whole, since MongoDB does not take some
    out of an array and add others to it at once: then the filter must see to it that no compaction
    has changed them.
    """
    fields: Document = {"context": from_prompt(turn.prompt), "task": from_task(turn.task)}
    if turn.title and not session.title:
        fields["title"] = turn.title
    added = [from_message(message) for message in turn.messages]
    pushed: Document = {"turns": {"$each": list(turn.update_ids), "$slice": -TURNS_REMEMBERED}}
    counted = {"revision": 1} | more_usage(turn.usage)
    if turn.replaces is None:
        pushed["messages"] = {"$each": added}
        counted["nextSeq"] = len(added)
    else:
        fields["messages"] = [*(from_message(message) for message in session.messages), *added]
        fields["nextSeq"] = session.next_seq + len(added)
    return {
        "$push": pushed,
        "$inc": counted,
        "$max": {"lastActive": bson_datetime(turn.at)},
        "$set": fields,
    }


def as_stored(turn: ClosedTurn) -> ClosedTurn:
    """The turn as it will be read back."""
    return replace(
        turn,
        messages=tuple(to_message(from_message(message)) for message in turn.messages),
        task=to_task(from_task(turn.task)),
        title=clean(turn.title),
        at=bson_datetime(turn.at),
    )


def contains_turn(document: Document, turn: ClosedTurn) -> bool:
    """Whether exactly this turn was committed: ids alone could be those of another replica's try at
    it.
    """
    wanted = [from_message(message) for message in turn.messages]
    places = {message["seq"] for message in wanted}
    stored = [message for message in document["messages"] if message["seq"] in places]
    return stored == wanted and set(turn.update_ids) <= set(document["turns"])


def require_room(session: Session, turn: ClosedTurn) -> None:
    """Refuse a turn that MongoDB would take today but that makes every later load and commit
    dear.

    The Session in hand can only be larger than the stored one: nothing but a commit adds to it, and
    ours is next.
    """
    messages = (*session.messages, *turn.messages)
    summary = weight(session.summary.text) if session.summary else 0
    if len(messages) > MAX_MESSAGES or summary + sum(map(_message_weight, messages)) > MAX_BYTES:
        raise SessionTooLarge


def _message_weight(message: Message) -> int:
    return 80 + weight(message.content)
