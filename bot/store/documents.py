"""Between entities and documents: the camelCase names of stored fields are known only here, in
`turn_documents` and in `people_documents`.

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

from bot.content import clean
from bot.owner import Place
from bot.ports import DIALOGUES_A_PAGE, Cursor, DialoguePage, Hit, Overview
from bot.session import (
    SCHEMA_VERSION,
    CompactionState,
    Fact,
    Gap,
    Message,
    PromptSize,
    Session,
    Step,
    Summary,
    Task,
)
from bot.store.filters import matches
from bot.store.stored_blocks import pack, unpack
from bot.usage import Usage

log = logging.getLogger(__name__)

Document = dict[str, Any]
Upgrade = Callable[[Document], Document]

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


def to_overview(document: Document) -> Overview:
    return Overview(
        id=document["_id"],
        title=document.get("title", ""),
        place=Place(document["chatId"], document.get("threadId")),
        status=document["status"],
        created_at=document["createdAt"],
        last_active=document["lastActive"],
        messages=document["nextSeq"],
    )


def to_page(found: Sequence[Document], cursor: Cursor | None) -> DialoguePage:
    """A page of what was found in the cursor's direction: one more than fits says there is more."""
    rows = [to_overview(one) for one in found[:DIALOGUES_A_PAGE]]
    is_more = len(found) > DIALOGUES_A_PAGE
    if cursor is not None and cursor.newer:
        return DialoguePage(rows[::-1], has_newer=is_more, has_older=True)
    return DialoguePage(rows, has_newer=cursor is not None, has_older=is_more)


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
        **({"previous": clean(session.previous)} if session.previous else {}),
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
        previous=document.get("previous", ""),
    )
    return _with_honest_summary(session)


def upgraded(
    document: Document, steps: Mapping[int, Upgrade] = UPGRADES, version: int = SCHEMA_VERSION
) -> Document:
    """`document` as the running version would have written it; a newer one is left as it is."""
    for number in range(document.get("schemaVersion", version), version):
        document = steps[number](document)
    return document


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
