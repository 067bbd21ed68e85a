"""The summary the rule-based mind writes: facts of the previous summary and of the transcript verbatim, then details.

Facts of the oldest summary come first and are never pushed out by newer details, so that what was said once is still
there after many compactions. From 20 to about 400 words, and small enough for an answer of 900 tokens.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from bot.demo.claude.facts import DETAIL, facts, sentences
from bot.demo.claude.talk import STAMP, TAG

PREVIOUS = re.compile(r"<previous_summary\b[^>]*>(.*?)</previous_summary>", re.DOTALL)
TRANSCRIPT = re.compile(r"<transcript\b[^>]*>(.*?)(?:</transcript>|\Z)", re.DOTALL)
ROLE = re.compile(r"^\s*(?:\[?(?:seq\s*)?\d*\]?\s*)?\[?(user|assistant|human)\b[^\]:\n]{0,20}[\]:]+\s*", re.IGNORECASE)
OPENING = "The user and the assistant"
HEADINGS = ("User and stable facts", "Details", "Open tasks and next step")
MOST_CHARACTERS = 1800


def summarise(text: str) -> str:
    """A summary of the transcript in `text`."""
    previous = "\n".join(PREVIOUS.findall(text))
    spoken = _spoken("\n".join(TRANSCRIPT.findall(text)))
    lines = [*spoken["user"], *spoken["assistant"]]
    kept = _within(facts((previous, *lines)), MOST_CHARACTERS)
    details = [one for one in _details(previous, lines) if one not in kept]
    return _page(text, kept, _within(details, MOST_CHARACTERS - sum(map(len, kept))), len(lines))


def _spoken(transcript: str) -> dict[str, list[str]]:
    """The lines of each side, without roles, stamps, tags and tool traffic; a line without a role goes on."""
    spoken: dict[str, list[str]] = {"user": [], "assistant": []}
    role = "user"
    for line in transcript.splitlines():
        if opening := ROLE.match(line):
            role = "assistant" if opening[1].lower() == "assistant" else "user"
        plain = STAMP.sub("", ROLE.sub("", STAMP.sub("", TAG.sub("", line)))).strip()
        if plain and not plain.startswith(("[tool", "[result")):
            spoken[role].append(plain)
    return spoken


def _details(previous: str, lines: Iterable[str]) -> list[str]:
    """Sentences with numbers or links; those of the previous summary first."""
    old = [one for one in sentences(previous) if not one.startswith((*HEADINGS, OPENING))]
    new = [one for line in lines for one in sentences(line)]
    return list(dict.fromkeys(one for one in (*old, *new) if DETAIL.search(one)))


def _within(found: Iterable[str], characters: int) -> list[str]:
    kept = []
    for one in found:
        characters -= len(one)
        if characters < 0:
            break
        kept.append(one)
    return kept


def _page(text: str, kept: list[str], details: list[str], lines: int) -> str:
    language = "Russian" if re.search("[а-яё]", text, re.IGNORECASE) else "English"
    facts_told, details_told = ("\n".join(f"- {one}" for one in many) or "- none so far" for many in (kept, details))
    return (
        f"{OPENING} talk in {language}; the part summarised here has {lines} lines.\n"
        f"{HEADINGS[0]}:\n{facts_told}\n{HEADINGS[1]}:\n{details_told}\n"
        f"{HEADINGS[2]}: nothing is promised beyond the above, the talk simply goes on."
    )
