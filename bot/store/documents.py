"""Between entities and documents: only here, and in `personal`, are the camelCase names of stored
fields known.

Reading is tolerant: unknown fields are ignored, absent ones get their defaults, an older
`schemaVersion` is lifted step by step, so that replicas of two versions can run side by side.
Writing is strict: real dates in UTC, cut to the millisecond BSON keeps, and strings that BSON can
carry. No driver is imported, so the in-memory store shares it all.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from bot.errors import SessionTooLarge
from bot.ports import Hit
from bot.session import (
    SCHEMA_VERSION,
    TURNS_REMEMBERED,
    ClosedTurn,
    CompactionState,
    Fact,
    Gap,
    Message,
    PromptSize,
    Session,
    Step,
    Summary,
    Task,
    Usage,
    clean,
)
from bot.store.filters import matches
from bot.store.stored_blocks import pack, unpack, weight

log = logging.getLogger(__name__)

Document = dict[str, Any]
Upgrade = Callable[[Document], Document]

MAX_BYTES = 1_000_000
MAX_MESSAGES = 400
UPGRADES: Mapping[int, Upgrade] = {}
"""By the version it starts from: how a document becomes one of the next version."""


def bson_datetime(at: datetime) -> datetime:
    """The moment as BSON keeps it: UTC, whole milliseconds."""
    if at.tzinfo is None:
        raise ValueError("a moment needs its time zone")
    return at.astimezone(UTC).replace(microsecond=at.microsecond // 1000 * 1000)


def from_message(message: Message) -> Document:
    return {
        "seq": message.seq,
        "turn": message.turn,
        "role": message.role,
        "content": [pack(block) for block in message.content],
        "at": bson_datetime(message.at),
        "tokens": message.tokens,
    }


def to_message(document: Document) -> Message:
    content = tuple(unpack(block) for block in document["content"])
    return Message(
        document["seq"],
        document["turn"],
        document["role"],
        content,
        document["at"],
        document.get("tokens", 0),
    )


def to_hit(row: Document) -> Hit:
    return Hit(row["sessionId"], to_message(row))


def hits_in(sessions: Iterable[Document], wanted: Sequence[str]) -> list[Hit]:
    """The messages in these Sessions that say all the words."""
    return [
        Hit(session["_id"], to_message(message))
        for session in sessions
        for message in session["messages"]
        if matches(message["content"], wanted)
    ]


def latest(hits: Iterable[Hit], maximum: int) -> list[Hit]:
    """The `maximum` latest of them, the latest first."""
    return sorted(hits, key=lambda hit: (hit.message.at, hit.message.seq), reverse=True)[:maximum]


def from_summary(summary: Summary) -> Document:
    return {
        "text": clean(summary.text),
        "upTo": summary.up_to,
        "epoch": summary.epoch,
        "tokens": summary.tokens,
        "model": summary.model,
        "at": bson_datetime(summary.at),
        "gaps": [{"from": gap.start, "to": gap.end} for gap in summary.gaps],
    }


def to_summary(document: Document) -> Summary:
    gaps = tuple(Gap(gap["from"], gap["to"]) for gap in document.get("gaps", ()))
    return Summary(
        text=document["text"],
        up_to=document["upTo"],
        epoch=document["epoch"],
        tokens=document.get("tokens", 0),
        model=document.get("model", ""),
        at=document["at"],
        gaps=gaps,
    )


def from_task(task: Task | None) -> Document | None:
    if task is None:
        return None
    return {
        "goal": clean(task.goal),
        "steps": [{"text": clean(step.text), "status": step.status} for step in task.steps],
        "facts": [{"name": clean(fact.name), "value": clean(fact.value)} for fact in task.facts],
    }


def to_task(document: Document | None) -> Task | None:
    if document is None:
        return None
    steps = tuple(Step(step["text"], step["status"]) for step in document["steps"])
    return Task(
        document["goal"],
        steps,
        tuple(Fact(fact["name"], fact["value"]) for fact in document["facts"]),
    )


def from_usage(usage: Usage) -> Document:
    return {
        "inputTokens": usage.input_tokens,
        "outputTokens": usage.output_tokens,
        "cacheReadTokens": usage.cache_read_tokens,
        "cacheWriteTokens": usage.cache_write_tokens,
        "turns": usage.turns,
    }


def more_usage(usage: Usage) -> Document:
    """`usage` as an increment of what a Session has used."""
    return {f"usage.{name}": count for name, count in from_usage(usage).items()}


def to_usage(document: Document) -> Usage:
    return Usage(*(document.get(field, 0) for field in from_usage(Usage())))


def from_prompt(prompt: PromptSize) -> Document:
    return {"tokens": prompt.tokens, "epoch": prompt.epoch, "model": clean(prompt.model)}


def from_compaction(state: CompactionState) -> Document:
    next_at = bson_datetime(state.next_at) if state.next_at else None
    return {
        "fails": state.fails,
        "nextAt": next_at,
        "recent": [bson_datetime(at) for at in state.recent],
    }


def to_compaction(document: Document) -> CompactionState:
    return CompactionState(
        document.get("fails", 0), document.get("nextAt"), tuple(document.get("recent", ()))
    )


def from_session(session: Session) -> Document:
    return {
        "_id": session.id,
        "ownerId": session.owner_id,
        "chatId": session.chat_id,
        "threadId": session.thread_id,
        "status": session.status,
        "title": clean(session.title),
        "createdAt": bson_datetime(session.created_at),
        "lastActive": bson_datetime(session.last_active),
        "revision": session.revision,
        "nextSeq": session.next_seq,
        "messages": [from_message(message) for message in session.messages],
        "summary": from_summary(session.summary) if session.summary else None,
        "task": from_task(session.task),
        "turns": list(session.turns),
        "usage": from_usage(session.usage),
        "context": from_prompt(session.prompt),
        "compaction": from_compaction(session.compaction),
        "schemaVersion": SCHEMA_VERSION,
    }


def to_session(document: Document) -> Session:
    document = upgraded(document)
    context = document.get("context") or {}
    session = Session(
        id=document["_id"],
        owner_id=document["ownerId"],
        chat_id=document["chatId"],
        thread_id=document.get("threadId"),
        created_at=document["createdAt"],
        last_active=document["lastActive"],
        status=document["status"],
        title=document.get("title", ""),
        revision=document["revision"],
        next_seq=document["nextSeq"],
        messages=[to_message(message) for message in document["messages"]],
        summary=to_summary(document["summary"]) if document.get("summary") else None,
        task=to_task(document.get("task")),
        turns=tuple(document.get("turns", ())),
        usage=to_usage(document.get("usage") or {}),
        prompt=PromptSize(
            context.get("tokens", 0), context.get("epoch", 0), context.get("model", "")
        ),
        compaction=to_compaction(document.get("compaction") or {}),
    )
    return _with_honest_summary(session)


def upgraded(
    document: Document, steps: Mapping[int, Upgrade] = UPGRADES, version: int = SCHEMA_VERSION
) -> Document:
    """`document` as the running version would have written it; a newer one is left as it is."""
    for number in range(document.get("schemaVersion", version), version):
        document = steps[number](document)
    return document


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


def _with_honest_summary(session: Session) -> Session:
    """A summary that claims a message which is still there must not hide it from the model."""
    first = session.messages[0].seq if session.messages else session.next_seq
    if session.summary and session.summary.up_to >= first:
        log.warning(
            "Session %s: its summary claims seq %d, its messages begin at %d",
            session.id,
            session.summary.up_to,
            first,
        )
        session.summary = replace(session.summary, up_to=first - 1)
    return session
