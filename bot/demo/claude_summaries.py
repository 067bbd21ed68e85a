"""The summary the rule-based mind writes: facts of the previous summary and of the transcript verbatim, then details.

Facts of the oldest summary come first and are never pushed out by newer details, so that what was said once is still
there after many compactions. At least 20 words, at most about 450.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from bot.demo.claude_facts import DETAIL, facts, sentences
from bot.demo.claude_talk import STAMP

PREVIOUS = re.compile(r"<previous_summary\b[^>]*>(.*?)</previous_summary>", re.DOTALL)
TRANSCRIPT = re.compile(r"<transcript\b[^>]*>(.*?)(?:</transcript>|\Z)", re.DOTALL)
TAG = re.compile(r"<[^>\n]{1,80}>")
ROLE = re.compile(r"^\s*(?:\[?(?:seq\s*)?\d*\]?\s*)?\[?(user|assistant|human)\b[^\]:\n]{0,20}[\]:]+\s*", re.IGNORECASE)
HEADINGS = ("User and stable facts", "Details", "Open tasks and next step")
MOST_WORDS = 450


def summarise(text: str) -> str:
    """A summary of the transcript in `text`."""
    previous = "\n".join(PREVIOUS.findall(text))
    lines = list(_lines("\n".join(TRANSCRIPT.findall(text))))
    kept = _within(facts((previous, *lines)), MOST_WORDS - 60)
    known = set(kept)
    details = [one for one in _details(previous, lines) if one not in known]
    room = MOST_WORDS - 60 - sum(len(one.split()) for one in kept)
    return _page(text, kept, _within(details, room), len(lines))


def _lines(transcript: str) -> Iterator[str]:
    """What was said, without roles, stamps, tags and tool traffic."""
    for line in transcript.splitlines():
        bare = STAMP.sub("", ROLE.sub("", STAMP.sub("", TAG.sub("", line)))).strip()
        if bare and not bare.startswith("[tool"):
            yield bare


def _details(previous: str, lines: Iterable[str]) -> list[str]:
    """Sentences with numbers or links; those of the previous summary first."""
    old = [one for one in sentences(previous) if not one.startswith(HEADINGS)]
    new = [one for line in lines for one in sentences(line)]
    return list(dict.fromkeys(one for one in (*old, *new) if DETAIL.search(one)))


def _within(found: Iterable[str], words: int) -> list[str]:
    kept = []
    for one in found:
        words -= len(one.split())
        if words < 0:
            break
        kept.append(one)
    return kept


def _page(text: str, kept: list[str], details: list[str], lines: int) -> str:
    language = "Russian" if re.search("[а-яё]", text, re.IGNORECASE) else "English"
    facts_told, details_told = ("\n".join(f"- {one}" for one in many) or "- none so far" for many in (kept, details))
    return (
        f"The user and the assistant talk in {language}; the part summarised here has {lines} lines.\n"
        f"{HEADINGS[0]}:\n{facts_told}\n{HEADINGS[1]}:\n{details_told}\n"
        f"{HEADINGS[2]}: nothing is promised beyond the above, the talk simply goes on."
    )
