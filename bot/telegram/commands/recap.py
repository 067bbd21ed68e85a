"""Where a dialogue stood: its title, when it was active, and its last exchanges, shortened."""

from __future__ import annotations

from datetime import datetime

from bot.session import Session
from bot.texts import Language, ago, text

EXCHANGES = 2
MAX_SHOWN = 200
"""Characters of each question and answer."""


def recap(session: Session, now: datetime, language: Language) -> str:
    """What a person reads when a dialogue goes on."""
    last = session.messages[-1].at if session.messages else session.last_active
    head = text(
        "recap_head",
        language,
        title=title_of(session.title, language),
        age=ago(now - last, language),
    )
    turns = list(dict.fromkeys(message.turn for message in session.messages))[-EXCHANGES:]
    return "\n\n".join([head, *(_exchange(session, turn, language) for turn in turns)])


def title_of(title: str, language: Language) -> str:
    """The title, or what stands for one where the dialogue began without words."""
    return title or text("sessions_untitled", language)


def _exchange(session: Session, turn: int, language: Language) -> str:
    """One question and its answer; the person's own words come last in a question."""
    texts = [block["text"] for block in session.question_of(turn) if block["type"] == "text"]
    asked = _shortened(texts[-1]) if texts else text("recap_no_words", language)
    answered = _shortened(session.answer_to(turn)) or "…"
    return text("recap_exchange", language, asked=asked, answered=answered)


def _shortened(words: str) -> str:
    line = " ".join(words.split())
    return line if len(line) <= MAX_SHOWN else f"{line[: MAX_SHOWN - 1].rstrip()}…"
