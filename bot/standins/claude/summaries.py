"""The summary the rule-based model writes: facts of the previous summary and of the transcript
verbatim, then details.

Facts of the oldest summary come first and are never pushed out by newer details, so that what was
said once is still there after many compactions. By default it is written in English in up to some
hundred words; a Style makes it short, long, a repetition of the one before, or one in another
language, also where words have no blanks between them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from bot.standins.claude.dialogue_view import STAMP, TAG
from bot.standins.claude.facts import DETAIL, facts, sentences

PREVIOUS = re.compile(r"<previous_summary\b[^>]*>(.*?)</previous_summary>", re.DOTALL)
TRANSCRIPT = re.compile(r"<transcript\b[^>]*>(.*?)(?:</transcript>|\Z)", re.DOTALL)
ROLE = re.compile(
    r"^\s*(?:\[?(?:seq\s*)?\d*\]?\s*)?\[?(user|assistant|human)\b[^\]:\n]{0,20}[\]:]+\s*",
    re.IGNORECASE,
)
OPENING = "The user and the assistant"
HEADINGS = ("User and stable facts", "Details", "Open tasks and next step")
MAX_CHARACTERS = 1800


@dataclass(frozen=True, slots=True)
class Style:
    """How summaries are written. `wording`: one of WORDINGS; empty: the usual page in English.

    `min_characters`: say the same again and again until it is so long.
    """

    wording: str = ""
    min_characters: int = 0
    repeats: bool = False
    """Give the previous summary back, whatever came."""


USUAL = Style()
WORDINGS: Mapping[str, str] = {
    "en": "They talked about this and that, {lines} lines.",
    "ru": "Они говорили о разных вещах, строк: {lines}.",
    "zh": "两人闲聊了{lines}行，没有别的约定。",
    "ja": "二人は{lines}行ほど雑談をした。約束は特にない。",
    "th": "ทั้งสองคุยกันเรื่องทั่วไป{lines}บรรทัดโดยไม่มีข้อตกลงอื่น",
    "fi": "Keskustelukumppanit juttelivat kaikenlaisista arkipäiväisistä asioista {lines} rivin "
    "verran.",
    "ar": "تحدثا عن أمور متفرقة في {lines} سطرا دون أي وعد آخر.",
}
"""What there is to say of a talk besides its facts."""


def summarise(text: str, style: Style = USUAL) -> str:
    """A summary of the transcript in `text`."""
    previous = "\n".join(PREVIOUS.findall(text))
    if style.repeats and previous:
        return previous.strip()
    spoken = _spoken("\n".join(TRANSCRIPT.findall(text)))
    lines = [*spoken["user"], *spoken["assistant"]]
    kept = _within(facts((previous, *lines)), MAX_CHARACTERS)
    if style.wording:
        return _told(style, kept, len(lines))
    details = [one for one in _details(previous, lines) if one not in kept]
    return _page(text, kept, _within(details, MAX_CHARACTERS - sum(map(len, kept))), len(lines))


def _spoken(transcript: str) -> dict[str, list[str]]:
    """The lines of each side, without roles, stamps, tags and tool traffic; a line without a role
    goes on.
    """
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


def _told(style: Style, kept: list[str], lines: int) -> str:
    """The facts and one sentence, as often as the length asks for."""
    sentence = WORDINGS[style.wording].format(lines=lines)
    missing = style.min_characters - sum(len(one) + 1 for one in kept)
    return "\n".join([*kept, *[sentence] * max(1, missing // (len(sentence) + 1))])


def _page(text: str, kept: list[str], details: list[str], lines: int) -> str:
    language = "Russian" if re.search("[а-яё]", text, re.IGNORECASE) else "English"
    facts_told, details_told = (
        "\n".join(f"- {one}" for one in many) or "- none so far" for many in (kept, details)
    )
    return (
        f"{OPENING} talk in {language}; the part summarised here has {lines} lines.\n"
        f"{HEADINGS[0]}:\n{facts_told}\n{HEADINGS[1]}:\n{details_told}\n"
        f"{HEADINGS[2]}: nothing is promised beyond the above, the talk simply goes on."
    )
