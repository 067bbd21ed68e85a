"""Finds the requests to the stand-in model by person and place, and lays them out for a reader.

A request carries an opaque name of its person and no place. The person is the one whose opaque name
it is; the place is where that person last wrote the words that the request ends with.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from hashlib import sha256
from typing import Any

from bot.agent.prompt import end_user
from bot.demo.event_log import About, EventLog
from bot.demo.json_values import to_json
from bot.owner import Owner
from bot.standins.claude.journal import Exchange, Journal
from bot.standins.claude.prompt import blocks_of, canonical
from bot.standins.telegram.state import TelegramState

MAX_WAIT_SECONDS = 3600.0
SUMMARY = "<conversation_summary "
ADDED = ("<sent ", "<task ", "<file ", SUMMARY)
"""How a text begins that the program has put beside a person's words."""
Json = dict[str, Any]


class Requests:
    """Keeps the latest request of each person in each place, and the one before it."""

    def __init__(
        self, journal: Journal, state: TelegramState, key: bytes, event_log: EventLog
    ) -> None:
        self._journal = journal
        self._state = state
        self._key = key
        self._event_log = event_log
        self._latest: dict[tuple[int, int, int | None], tuple[int, ...]] = {}

    async def run(self) -> None:
        """Assign each request to its person and place as it arrives, until cancelled."""
        seen = 0
        while True:
            try:
                exchanges = await self._journal.until(partial(_is_known, seen), MAX_WAIT_SECONDS)
            except TimeoutError:
                continue
            self._sort(exchanges[seen])
            seen += 1

    def latest(self, about: About) -> Json | None:
        """The last request made for this person in this place."""
        if about.person is None or about.chat is None:
            return None
        numbers = self._latest.get((about.person, about.chat, about.thread))
        if not numbers:
            return None
        *before, last = (self._journal.exchanges[number] for number in numbers)
        return _laid_out(last, before[0] if before else None)

    def _sort(self, exchange: Exchange) -> None:
        about = self._about(exchange)
        if about is None or about.person is None or about.chat is None:
            return
        place = (about.person, about.chat, about.thread)
        self._latest[place] = (*self._latest.get(place, ())[-1:], exchange.number)
        if exchange.prompt:
            messages, prompt = len(exchange.body["messages"]), exchange.prompt
            self._event_log.note(
                "asked", about, messages=messages, cached=prompt.read, prompt=prompt.total
            )

    def _about(self, exchange: Exchange) -> About | None:
        name = (exchange.body.get("metadata") or {}).get("user_id")
        people = (one for one in self._state.users if one > 0)
        person = next((one for one in people if end_user(Owner(one), self._key) == name), None)
        if person is None:
            return None
        said = _last_said(exchange.body["messages"])
        found = (where for chat in self._state.chats for where in self._written(person, chat, said))
        *_, chat, thread = max(found, default=(False, 0, person, None), key=lambda where: where[:2])
        return About(person, chat, thread)

    def _written(
        self, person: int, chat: int, said: Sequence[str]
    ) -> Iterator[tuple[bool, int, int, int | None]]:
        """Where in the chat the person wrote this last: whether word for word, when, and the
        place.
        """
        for message in reversed(self._state.chats[chat].messages.values()):
            text = str(message.get("text") or message.get("caption") or "").strip()
            if (
                message.get("from", {}).get("id") == person
                and text
                and any(text in block for block in said)
            ):
                thread = (
                    message.get("message_thread_id") if message.get("is_topic_message") else None
                )
                yield text in said, message["date"], chat, thread
                return


def _is_known(number: int, exchanges: Sequence[Exchange]) -> bool:
    """Whether this one has arrived, and was either understood or has come to its end."""
    return len(exchanges) > number and (
        exchanges[number].prompt is not None or exchanges[number].state != "open"
    )


def _last_said(messages: Sequence[Mapping[str, Any]]) -> list[str]:
    """The texts of the last message a person wrote, without what the program put around it."""
    for message in reversed(messages):
        blocks = blocks_of(message["content"])
        if message["role"] == "user" and not any(
            block["type"] == "tool_result" for block in blocks
        ):
            texts = [block["text"].strip() for block in blocks if block["type"] == "text"]
            return [text for text in texts if not text.startswith(ADDED)]
    return []


# ------------------------------------------------------------------------------------- for a reader


def _laid_out(exchange: Exchange, before: Exchange | None) -> Json:
    body, old = _light(exchange.body), _light(before.body) if before else {}
    usage = {name: count for name, count in exchange.usage.items() if name.endswith("_tokens")}
    return {
        "at": to_json(exchange.at),
        "model": exchange.body.get("model"),
        "state": exchange.state,
        "parts": _parts(body, old),
        "usage": usage,
        "body": body,
    }


def _light(value: Any) -> Any:
    """Replace the bytes of pictures and documents by their number."""
    if isinstance(value, Mapping):
        if value.get("type") == "base64":
            return {
                **value,
                "data": f"[{len(value['data'])} characters, "
                f"{sha256(value['data'].encode()).hexdigest()[:8]}]",
            }
        return {key: _light(inner) for key, inner in value.items()}
    return [_light(inner) for inner in value] if isinstance(value, list | tuple) else value


def _parts(body: Mapping[str, Any], before: Mapping[str, Any]) -> list[Json]:
    """Split the prompt as the model reads it, and mark what repeats the request before."""
    old = [_bare(part) for part in _walk(before)]
    parts, repeated = [], body.get("model") == before.get("model")
    for place, part in enumerate(_walk(body)):
        repeated = repeated and place < len(old) and old[place] == _bare(part)
        marked = any(block.get("cache_control") for block in part["content"])
        parts.append({**part, "marked": marked, "repeated": repeated})
    return parts


def _bare(part: Json) -> tuple[str, str, list[str]]:
    return part["section"], part["role"], [canonical(block) for block in part["content"]]


def _walk(body: Mapping[str, Any]) -> Iterator[Json]:
    if tools := body.get("tools"):
        yield {"section": "tools", "role": "", "content": list(tools)}
    if system := body.get("system"):
        yield {"section": "system", "role": "", "content": blocks_of(system)}
    for message in body.get("messages", ()):
        blocks = blocks_of(message["content"])
        if blocks and blocks[0].get("text", "").startswith(SUMMARY):
            yield {"section": "summary", "role": message["role"], "content": blocks[:1]}
            blocks = blocks[1:]
        yield {"section": "messages", "role": message["role"], "content": blocks}
