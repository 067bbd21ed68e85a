"""The small rule-based model: it answers in English and Russian, and only from the messages it was
given.

It thinks before it calls a tool, and always when thinking is asked for; the server removes thinking
that is not allowed. It knows nothing but its request, so an answer that remembers something proves
that the request held it. The first rule in RULES whose pattern matches the user's last words
answers.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

from bot.standins.claude.answers import Answer, Json, call, say, think
from bot.standins.claude.dialogue_view import DialogueView, arguments, read
from bot.standins.claude.essay import essay
from bot.standins.claude.facts import name_in, property_in, remembered
from bot.standins.claude.script import is_summary, last_words
from bot.standins.claude.summaries import USUAL, Style, summarise

ESSAY_CHARACTERS = 10_000
MAX_COUNT = 1000
Rule = Callable[[DialogueView, re.Match[str]], Answer]


def answer(body: Json, style: Style = USUAL) -> Answer:
    """The answer to this request; summaries are in that style."""
    if is_summary(body):
        return say(summarise(last_words(body), style))
    talk = read(body)
    spoken = _after_tools(talk) if talk.results else _by_rule(talk)
    asked = bool(body.get("thinking"))
    return (
        think("The user wrote; I look at what I was given.", spoken)
        if asked or spoken.calls
        else spoken
    )


def summarising(style: Style) -> Callable[[Json], Answer]:
    """The rule-based model with another style of summaries: give it to a server as `model`."""
    return partial(answer, style=style)


def _by_rule(talk: DialogueView) -> Answer:
    for pattern, rule in RULES:
        if found := pattern.search(talk.last):
            return rule(talk, found)
    return _small_talk(talk)


def _after_tools(talk: DialogueView) -> Answer:
    return say(
        "\n".join(
            _told(talk, result.tool, result.text, failed=result.failed) for result in talk.results
        )
    )


def _told(talk: DialogueView, tool: str, text: str, *, failed: bool) -> str:
    if failed:
        return talk.choose(
            f"The tool {tool} failed: {text}", f"Инструмент {tool} не сработал: {text}"
        )
    words = {
        "remember": talk.choose("Noted, I will remember it.", "Записал, буду помнить."),
        "recall": talk.choose(
            f"Here is what I have noted:\n{text}", f"Вот что у меня записано:\n{text}"
        ),
        "plan": talk.choose(f"The plan is set:\n{text}", f"План готов:\n{text}"),
        "set_plan": talk.choose(f"The plan is set:\n{text}", f"План готов:\n{text}"),
        "update_plan": talk.choose(
            f"Done; the plan now:\n{text}", f"Отмечено; теперь план такой:\n{text}"
        ),
    }
    return words.get(
        tool, talk.choose(f"The tool {tool} says: {text}", f"Инструмент {tool} ответил: {text}")
    )


def _tool_or(talk: DialogueView, name: str, words: str, otherwise: str) -> Answer:
    tool = talk.tools.get(name)
    return call(name, arguments(tool, words)) if tool else say(otherwise)


def _meet(talk: DialogueView, found: re.Match[str]) -> Answer:
    return say(talk.choose(f"Nice to meet you, {found[1]}!", f"Приятно познакомиться, {found[1]}!"))


def _name(talk: DialogueView, _found: re.Match[str]) -> Answer:
    name = name_in(talk.earlier)
    if name is None:
        return say(talk.choose("I do not know your name yet.", "Я пока не знаю, как вас зовут."))
    return say(talk.choose(f"Your name is {name}.", f"Вас зовут {name}."))


def _mine(talk: DialogueView, found: re.Match[str]) -> Answer:
    wanted = found[1].strip()
    value = property_in(talk.earlier, wanted)
    if value is None:
        return say(talk.choose(f"I do not know your {wanted}.", f"Я не знаю: {wanted}."))
    return say(talk.choose(f"Your {wanted} is {value}.", f"{wanted.capitalize()} — {value}."))


def _told_mine(talk: DialogueView, found: re.Match[str]) -> Answer:
    return say(talk.choose(f"I see, that is your {found[1]}.", f"Понял: {found[1]}."))


def _remember(talk: DialogueView, found: re.Match[str]) -> Answer:
    fact = found[1].strip()
    return _tool_or(
        talk, "remember", fact, talk.choose(f"I keep in mind: {fact}", f"Держу в уме: {fact}")
    )


def _recall(talk: DialogueView, _found: re.Match[str]) -> Answer:
    known = "; ".join(remembered(reversed(talk.earlier))) or talk.choose(
        "nothing so far", "пока ничего"
    )
    return _tool_or(
        talk, "recall", talk.last, talk.choose(f"I remember: {known}", f"Я помню: {known}")
    )


def _plan(talk: DialogueView, found: re.Match[str]) -> Answer:
    tool = "set_plan" if "set_plan" in talk.tools else "plan"
    advice = talk.choose("First think, then do.", "Сначала думаем, потом делаем.")
    return _tool_or(talk, tool, found[1].strip(), advice)


def _step_done(talk: DialogueView, found: re.Match[str]) -> Answer:
    if "update_plan" not in talk.tools:
        return _small_talk(talk)
    return call("update_plan", {"steps": [{"number": int(found[1]), "status": "done"}]})


def _show_plan(talk: DialogueView, _found: re.Match[str]) -> Answer:
    return say(talk.task or talk.choose("There is no plan.", "Плана нет."))


def _count(_talk: DialogueView, found: re.Match[str]) -> Answer:
    return say("\n".join(str(number) for number in range(1, min(int(found[1]), MAX_COUNT) + 1)))


def _essay(_talk: DialogueView, _found: re.Match[str]) -> Answer:
    return say(essay(ESSAY_CHARACTERS))


def _echo(_talk: DialogueView, found: re.Match[str]) -> Answer:
    return say(found[1].strip())


def _small_talk(talk: DialogueView) -> Answer:
    if talk.seen:
        files = "; ".join(talk.seen)
        return say(talk.choose(f"I was given: {files}.", f"Мне прислали: {files}."))
    seen = len(talk.said)
    return say(
        talk.choose(
            f"I am listening; I can see {seen} of your messages.",
            f"Слушаю вас; сообщений от вас вижу: {seen}.",
        )
    )


def _rule(pattern: str, rule: Rule) -> tuple[re.Pattern[str], Rule]:
    return re.compile(pattern, re.IGNORECASE | re.DOTALL), rule


RULES: tuple[tuple[re.Pattern[str], Rule], ...] = (
    _rule(r"^(?:echo|повтори)[\s:,]+(.+)", _echo),
    _rule(r"\b(?:count to|посчитай до|сосчитай до)\s+(\d+)", _count),
    _rule(r"\blong answer\b|длинный ответ|\bessay\b", _essay),
    _rule(r"what(?:'s| is) my name|do you know my name|как меня зовут|какое мо[её] имя", _name),
    _rule(
        r"what is (?:the|our|my) plan|where were we|какой (?:у нас )?план|на ч[её]м мы "
        r"остановились",
        _show_plan,
    ),
    _rule(r"what(?:'s| is| are) my ([\w ]+?)\s*\?*\s*$", _mine),
    _rule(r"(?:как(?:ой|ая|ое|ие)|что за)\s+(?:у меня|мо[ийяеё])\s+([\w ]+?)\s*\?*\s*$", _mine),
    _rule(
        r"what (?:do|did) you (?:remember|note)|my notes|что ты (?:помнишь|запомнил)|мои "
        r"(?:заметки|записи)",
        _recall,
    ),
    _rule(r"\b(?:remember(?: that)?|запомни(?:те)?(?:,? что)?)[\s,:]+(.+)", _remember),
    _rule(r"(?:step|шаг)\s+(\d+)\s+(?:is\s+)?(?:done|готов|сделан)", _step_done),
    _rule(r"^(?:please\s+)?(?:plan|make a plan(?: for)?|спланируй|составь план)[\s:,]+(.+)", _plan),
    _rule(r"(?:my name is|call me|меня зовут)\s+([\w-]+)", _meet),
    _rule(r"\bmy ([\w ]{2,40}?) (?:is|are) \S", _told_mine),
    _rule(r"\b(?:мой|моя|мо[её]|мои)\s+([\w ]{2,40}?)\s*(?:—|–|-|:|это)\s*\S", _told_mine),
)
