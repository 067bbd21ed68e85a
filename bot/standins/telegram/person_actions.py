"""What a person can send: texts, pastes, forwards, files, albums."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bot.standins.telegram.chats import Chat, Shown, shown_message
from bot.standins.telegram.entities import detected, units
from bot.standins.telegram.privacy import hears
from bot.standins.telegram.rules import TEXT_UNITS, Json
from bot.standins.telegram.state import TelegramState

PNG = b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
"""A photo, for those who do not look at it: one dot."""
ALBUM = range(2, 11)
"""How many items an album has."""


@dataclass(frozen=True, slots=True, eq=False)
class PersonActions:
    """Somebody who can send.

    `chat` is the private chat with the bot, where words go unless told otherwise.
    """

    state: TelegramState
    id: int
    chat: Chat

    @property
    def user(self) -> Json:
        """The sender as updates show it."""
        return self.state.users[self.id]

    def says(
        self,
        text: str,
        *,
        chat: Chat | None = None,
        thread: int | None = None,
        reply_to: Shown | int | None = None,
        kind: str = "message",
        **fields: Any,
    ) -> Shown:
        """Send a text.

        `fields` overlay the message: a mask (see `service_messages`), forward_origin, entities.
        """
        if not text.strip() or units(text) > TEXT_UNITS:
            raise ValueError("a client sends 1 to 4096 UTF-16 units; see `pastes`")
        content = {**_worded(text, "text"), **fields}
        return self.sends(content, chat=chat, thread=thread, reply_to=reply_to, kind=kind)

    def starts(self, payload: str = "") -> Shown:
        """Press Start, with the payload of a deep link."""
        return self.says(f"/start {payload}".strip())

    def pastes(
        self, text: str, *, chat: Chat | None = None, thread: int | None = None
    ) -> list[Shown]:
        """Send a text of any length, split as clients split it: at 4096 units, with nothing that
        says so.
        """
        return [self.says(part, chat=chat, thread=thread) for part in _parts(text)]

    def forwards(self, text: str, origin: Json, *, chat: Chat | None = None) -> Shown:
        """Send on what somebody else wrote; `origin` is a MessageOrigin."""
        return self.says(text, chat=chat, forward_origin={"date": self.state.stamp, **origin})

    def sends_photo(
        self, content: bytes = PNG, caption: str = "", *, chat: Chat | None = None, **fields: Any
    ) -> Shown:
        """Send a photo; Telegram lists it in two sizes, the larger one last."""
        stored = self.state.store(content, "photo.png", "image/png", "photos")
        sizes = [{**stored.json(), "width": side, "height": side} for side in (90, 800)]
        return self.sends({"photo": sizes, **_worded(caption, "caption"), **fields}, chat=chat)

    def sends_document(
        self,
        content: bytes,
        name: str = "notes.txt",
        mime: str = "text/plain",
        caption: str = "",
        *,
        chat: Chat | None = None,
        **fields: Any,
    ) -> Shown:
        """Send a file."""
        stored = self.state.store(content, name, mime, "documents")
        document = {**stored.json(), "file_name": name, "mime_type": mime}
        return self.sends(
            {"document": document, **_worded(caption, "caption"), **fields}, chat=chat
        )

    def sends_voice(self, content: bytes, seconds: int = 3, *, chat: Chat | None = None) -> Shown:
        """Send a voice note."""
        stored = self.state.store(content, "voice.ogg", "audio/ogg", "voice")
        return self.sends(
            {"voice": {**stored.json(), "duration": seconds, "mime_type": "audio/ogg"}}, chat=chat
        )

    def sends_album(
        self, photos: Sequence[bytes], caption: str = "", *, chat: Chat | None = None
    ) -> list[Shown]:
        """Send photos at once: one message each, one media_group_id, no end mark; the caption is on
        the first.
        """
        if len(photos) not in ALBUM:
            raise ValueError("an album has 2 to 10 items")
        group = {"media_group_id": str(13_000_000_000 + self.state.number())}
        captions = [caption, *[""] * (len(photos) - 1)]
        return [
            self.sends_photo(photo, words, chat=chat, **group)
            for photo, words in zip(photos, captions, strict=True)
        ]

    def sends(
        self,
        content: Json,
        *,
        chat: Chat | None = None,
        thread: int | None = None,
        reply_to: Shown | int | None = None,
        kind: str = "message",
    ) -> Shown:
        """Send a message with any content."""
        place = chat or self.chat
        self._enter(place)
        fields = {"from": self.user, **_placed(place, thread), **_reply(place, reply_to), **content}
        message = self.state.put(place, fields)
        if hears(self.state, place, message):
            self.state.updates.add(kind, message)
        return shown_message(message, self.state.bot_id)

    def _enter(self, place: Chat) -> None:
        if place.type != "private":
            place.members.add(self.id)
        elif place.standing in {"unstarted", "stranger"}:
            place.standing = "member"
        elif place.standing != "member":
            raise ValueError("a person who blocked the bot cannot write to it")


def _worded(text: str, words: str) -> Json:
    """A text or caption with what Telegram finds in it."""
    found = [entity.json() for entity in detected(text)]
    entities = {"text": "entities", "caption": "caption_entities"}[words]
    return {**({words: text} if text else {}), **({entities: found} if found else {})}


def _parts(text: str) -> Sequence[str]:
    parts, part, size = [], "", 0
    for char in text:
        if size + units(char) > TEXT_UNITS:
            parts.append(part)
            part, size = "", 0
        part += char
        size += units(char)
    return [*parts, part]


def _placed(place: Chat, thread: int | None) -> Json:
    """A topic's messages say so; a reply chain of a plain supergroup has a thread id but no
    topic.
    """
    if thread is None:
        return {}
    return {
        "message_thread_id": thread,
        **({"is_topic_message": True} if thread in place.topics else {}),
    }


def _reply(place: Chat, reply_to: Shown | int | None) -> Json:
    if reply_to is None:
        return {}
    found = place.messages[reply_to.message_id if isinstance(reply_to, Shown) else reply_to]
    flat = {key: value for key, value in found.items() if key != "reply_to_message"}
    root = found.get("message_thread_id", found["message_id"])
    thread = {"message_thread_id": root} if place.type == "supergroup" else {}
    topic = {"is_topic_message": True} if root in place.topics else {}
    return {"reply_to_message": flat, **thread, **topic}
