"""Sentences worth keeping, and how the rule-based model finds one again: "my X is Y", "меня зовут
…", "fact: …".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

NAME = re.compile(r"(?:my name is|call me|меня зовут|моё имя|мое имя)\s+([\w-]+)", re.IGNORECASE)
MINE = re.compile(
    r"\bmy ([\w ]{2,40}?) (?:is|are) (?!what\b)([^\n?]+?)(?=[.!]?(?:\s|$))", re.IGNORECASE
)
MINE_RU = re.compile(
    r"\b(?:мой|моя|моё|мое|мои)\s+([\w ]{2,40}?)\s*(?:—|–|-|:|это)\s*(?:это\s+)?([^\n?]+)",
    re.IGNORECASE,
)
REMEMBER = re.compile(
    r"(?:remember(?: that)?|запомни(?:те)?(?:,? что)?)[\s,:]+([^\n?]+)", re.IGNORECASE
)
FACT = re.compile(r"(?:fact|факт|fakta|事实|事実|ข้อเท็จจริง|حقيقة)[:：]\s*([^\n]+)", re.IGNORECASE)
KEEP = (NAME, MINE, MINE_RU, REMEMBER, FACT)
DETAIL = re.compile(r"https?://\S+|\d{2,}")
SENTENCE = re.compile(r"(?<=[.!?…])\s+|(?<=[。！？؟])\s*|\n+")


def sentences(text: str) -> Iterator[str]:
    """The sentences and lines of a text."""
    return (part for raw in SENTENCE.split(text) if (part := raw.strip(" \t-*•")))


def facts(texts: Iterable[str]) -> list[str]:
    """The sentences that state a fact, each once, in order."""
    found = (one for text in texts for one in sentences(text) if states_fact(one))
    return list(dict.fromkeys(found))


def states_fact(sentence: str) -> bool:
    """Whether it says something about the user, or is to be remembered; a question says nothing."""
    return not sentence.endswith("?") and any(pattern.search(sentence) for pattern in KEEP)


def name_in(texts: Iterable[str]) -> str | None:
    """The user's name, as last told."""
    return next((found[1] for text in texts for found in reversed(list(NAME.finditer(text)))), None)


def property_in(texts: Iterable[str], wanted: str) -> str | None:
    """What the user said of "my <wanted>", as last told."""
    wanted = wanted.casefold().strip()
    for text in texts:
        for sentence in reversed(list(sentences(text))):
            found = MINE.search(sentence) or MINE_RU.search(sentence)
            if found and found[1].casefold().strip() == wanted:
                return sentence[found.start(2) :].rstrip(" .!")
    return None


def remembered(texts: Iterable[str]) -> list[str]:
    """Everything that was to be remembered."""
    found = (
        match[1].strip(" .")
        for text in texts
        for match in (*REMEMBER.finditer(text), *FACT.finditer(text))
    )
    return list(dict.fromkeys(found))
