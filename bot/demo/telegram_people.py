"""People: what a person does in a client, and the updates it causes.

A person's verbs are plain functions; each returns the message as the chat shows it. In groups the bot in privacy mode
hears only commands for it, mentions, and replies to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bot.demo.telegram_chats import Chat, Shown, shown_message
from bot.demo.telegram_entities import cut, detected, units
from bot.demo.telegram_rules import TEXT_UNITS, Json
from bot.demo.telegram_world import Query, World

PNG = b"\x89PNG\r\n\x1a\n"
"""What a photo begins with when a test does not care."""


@dataclass(frozen=True, slots=True, eq=False)
class Person:
    """Somebody with a client. `chat` is the private chat with the bot."""

    world: World
    id: int
    chat: Chat

    @property
    def user(self) -> Json:
        """The person as updates show them."""
        return self.world.users[self.id]

    # ------------------------------------------------------------------------------------------------- words

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
        """Send a text. `fields` overlay the message: a mask (see `telegram_masks`), forward_origin, entities."""
        if not text.strip() or units(text) > TEXT_UNITS:
            raise ValueError("a client sends 1 to 4096 UTF-16 units; see `pastes`")
        content: Json = {"text": text}
        if found := [entity.json() for entity in detected(text)]:
            content["entities"] = found
        return self.sends({**content, **fields}, chat=chat, thread=thread, reply_to=reply_to, kind=kind)

    def starts(self, payload: str = "") -> Shown:
        """Press Start, with the payload of a deep link."""
        return self.says(f"/start {payload}".strip())

    def pastes(self, text: str, *, chat: Chat | None = None, thread: int | None = None) -> list[Shown]:
        """Send a text of any length, split as clients split it: at 4096 units, with nothing that says so."""
        return [self.says(part, chat=chat, thread=thread) for part in _parts(text)]

    def forwards(self, text: str, origin: Json, *, chat: Chat | None = None) -> Shown:
        """Send on what somebody else wrote; `origin` is a MessageOrigin."""
        return self.says(text, chat=chat, forward_origin={"date": self.world.stamp, **origin})

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
        message = self.world.put(place, fields)
        if self._heard(place, message):
            self.world.updates.add(kind, message)
        return shown_message(message, self.world.bot_id)

    def edits(self, message: Shown, text: str) -> Shown:
        """Correct an own message."""
        place = self.world.chats[message.chat_id]
        changed = {**place.messages[message.message_id], "text": text, "edit_date": self.world.stamp}
        changed.pop("entities", None)
        if found := [entity.json() for entity in detected(text)]:
            changed["entities"] = found
        self.world.replace(place, changed)
        if self._heard(place, changed):
            self.world.updates.add("edited_message", changed)
        return shown_message(changed, self.world.bot_id)

    def deletes(self, message: Shown) -> None:
        """Delete a message for everybody; no update tells the bot."""
        del self.world.chats[message.chat_id].messages[message.message_id]
        self.world.bell.ring()

    # --------------------------------------------------------------------------------------------- the client

    def presses(self, button: str, *, on: Shown | None = None, data: str = "", chat: Chat | None = None) -> Query:
        """Press the newest button of that label; with `data`, send exactly that, as a forged client can."""
        message = on or self._with_button(button, chat or self.chat)
        pressed = data or next(known.data for known in message.buttons if known.text == button)
        query = Query(str(self.world.number() + 4_000_000), self.world.now, self.id)
        self.world.queries[query.id] = query
        place = self.world.chats[message.chat_id]
        raw = place.find(message.message_id) or {**message.raw, "date": 0}
        payload = {"id": query.id, "from": self.user, "message": raw, "chat_instance": str(place.id), "data": pressed}
        self.world.updates.add("callback_query", payload)
        return query

    def _with_button(self, label: str, chat: Chat) -> Shown:
        for message in reversed(chat.shown):
            if any(button.text == label for button in message.buttons):
                return message
        raise LookupError(f"no button {label!r} in chat {chat.id}")

    def stops(self) -> None:
        """Press Stop under the draft that is being written."""
        draft = self.chat.draft(self.world.now)
        if draft is None or not draft.can_stop:
            raise LookupError("no draft that can be stopped")
        if not draft.keep_on_stop:
            del self.chat.drafts[draft.draft_id]
        thread = {"message_thread_id": draft.thread_id} if draft.thread_id else {}
        payload = {"chat": self.chat.json(), "draft_id": draft.draft_id, **thread}
        self.world.updates.add("stopped_message_generation", payload)

    def blocks(self) -> None:
        """Block the bot."""
        self._stand("kicked")

    def unblocks(self) -> None:
        """Let the bot write again."""
        self._stand("member")

    def deletes_account(self) -> None:
        """Go for good."""
        self.chat.standing = "deactivated"
        self.world.bell.ring()

    def topic(self, name: str, chat: Chat | None = None) -> int:
        """Open a topic; its id."""
        place = chat or self.chat
        made = self.sends({"forum_topic_created": {"name": name, "icon_color": 7322096}}, chat=place)
        place.topics[made.message_id] = name
        made.raw.update(message_thread_id=made.message_id, is_topic_message=True)
        return made.message_id

    def _stand(self, standing: Any) -> None:
        before, self.chat.standing = self.chat.standing, standing
        member = self.world.member
        payload = {"chat": self.chat.json(), "from": self.user, "date": self.world.stamp,
                   "old_chat_member": member(before, self.world.bot),
                   "new_chat_member": member(standing, self.world.bot)}  # fmt: skip
        self.world.updates.add("my_chat_member", payload)
        self.world.bell.ring()

    def _enter(self, place: Chat) -> None:
        if place.type != "private":
            place.members.add(self.id)
        elif place.standing in {"unstarted", "stranger"}:
            place.standing = "member"
        elif place.standing != "member":
            raise ValueError("a person who blocked the bot cannot write to it")

    def _heard(self, place: Chat, message: Json) -> bool:
        """Privacy mode."""
        if place.standing not in {"member", "administrator"}:
            return False
        if place.type in {"private", "channel"} or place.standing == "administrator" or not self.world.privacy:
            return True
        return "text" not in message or self._for_bot(message)

    def _for_bot(self, message: Json) -> bool:
        name = f"@{self.world.bot['username']}".lower()
        replied = message.get("reply_to_message", {}).get("from", {}).get("id")
        if replied == self.world.bot_id or message.get("via_bot", {}).get("id") == self.world.bot_id:
            return True
        marks = [
            (mark["type"], cut(message["text"], mark["offset"], mark["length"]).lower())
            for mark in message.get("entities", ())
        ]
        commands = (word for kind, word in marks if kind == "bot_command")
        return ("mention", name) in marks or any("@" not in word or word.endswith(name) for word in commands)


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
    """A topic's messages say so; a reply chain of a plain supergroup has a thread id but no topic."""
    if thread is None:
        return {}
    return {"message_thread_id": thread, **({"is_topic_message": True} if thread in place.topics else {})}


def _reply(place: Chat, reply_to: Shown | int | None) -> Json:
    if reply_to is None:
        return {}
    found = place.messages[reply_to.message_id if isinstance(reply_to, Shown) else reply_to]
    flat = {key: value for key, value in found.items() if key != "reply_to_message"}
    root = found.get("message_thread_id", found["message_id"])
    thread = {"message_thread_id": root} if place.type == "supergroup" else {}
    topic = {"is_topic_message": True} if root in place.topics else {}
    return {"reply_to_message": flat, **thread, **topic}
