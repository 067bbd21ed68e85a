"""Builders with defaults: a test names only what it is about."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from bot.content import TextBlock
from bot.owner import Lane, Owner, Place
from bot.ports import Part, Question
from bot.session import ClosedTurn, Lifetime, Message, PromptSize, Session
from bot.usage import Usage

NOON = datetime(2026, 1, 5, 12, 0, tzinfo=UTC)
ANNA = Owner(1001)
BORIS = Owner(1002)
ANNAS_CHAT = Place(1001)
BORIS_CHAT = Place(1002)
GROUP = Place(-100500)
LIFETIME = Lifetime(idle=timedelta(minutes=30), max_age=timedelta(days=30))
ALIVE = Lifetime(timedelta(minutes=30), timedelta(days=30), timedelta(days=7)).at(NOON)


def lane(owner: Owner = ANNA, place: Place | None = None) -> Lane:
    return Lane(owner, place or Place(owner.id))


def text(words: str) -> TextBlock:
    return {"type": "text", "text": words}


def message(
    seq: int, turn: int = 1, role="user", words: str = "hello", tokens: int = 10
) -> Message:
    return Message(seq, turn, role, (text(words),), NOON, tokens)


def dialogue(
    turns: int, *, first_seq: int = 0, tokens: int = 10, words: str = "words of turn"
) -> list[Message]:
    """Plain turns of one question and one answer each, named 1, 2, 3 …"""
    return [
        message(
            first_seq + 2 * index + offset, index + 1, role, f"{role} {words} {index + 1}", tokens
        )
        for index in range(turns)
        for offset, role in enumerate(("user", "assistant"))
    ]


def session(
    session_id: str = "a" * 32, owner: Owner = ANNA, place: Place | None = None, **changes
) -> Session:
    made = Session.begin(session_id, owner, place or Place(owner.id), NOON)
    for name, value in changes.items():
        setattr(made, name, value)
    if made.messages:
        made.next_seq = max(made.next_seq, made.messages[-1].seq + 1)
    return made


def closed_turn(
    of: Session, update_id: int = 1, words: str = "hello", answer: str = "hi", **changes
) -> ClosedTurn:
    values = {
        "messages": (
            message(of.next_seq, update_id, "user", words),
            message(of.next_seq + 1, update_id, "assistant", answer),
        ),
        "update_ids": (update_id,),
        "usage": Usage(input_tokens=100, output_tokens=10, turns=1),
        "prompt": PromptSize(110, of.epoch),
        "task": None,
        "title": words,
        "at": NOON,
    }
    return ClosedTurn(**(values | changes))  # type: ignore[arg-type]  # a builder takes what the test names


def question(words: str = "hello", update_id: int = 1, at: datetime = NOON) -> Question:
    return Question((Part(update_id, (text(words),), at),))
