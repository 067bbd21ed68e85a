"""Chats as people see them: messages after every edit and deletion, drafts, the typing line,
topics.

Message ids count per chat, so they repeat across chats, as they do in supergroups. A draft is seen
for 30 seconds and goes when a message of the bot arrives.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Literal

from bot.standins.telegram.rules import (
    DRAFT_SECONDS,
    THREAD_NOT_FOUND,
    UPGRADED,
    Json,
    Refused,
    bad,
    forbidden,
)

ChatType = Literal["private", "group", "supergroup", "channel"]
Standing = Literal[
    "unstarted", "stranger", "member", "administrator", "left", "kicked", "deactivated"
]
ACTION_SECONDS = 5
GENERAL_TOPIC = 1


@dataclass(frozen=True, slots=True)
class Button:
    """One button under a message.

    `data` is what pressing it sends; empty for links and the like.
    """

    text: str
    data: str


@dataclass(frozen=True, slots=True)
class Shown:
    """One message as a chat shows it now. `raw` is the Bot API's object."""

    chat_id: int
    message_id: int
    text: str
    entities: tuple[Json, ...]
    reply_markup: Json | None
    sender_id: int
    from_bot: bool
    edited: bool
    thread_id: int | None
    date: datetime
    raw: Json

    @property
    def buttons(self) -> tuple[Button, ...]:
        """Its inline buttons, row by row."""
        rows = (self.reply_markup or {}).get("inline_keyboard", ())
        return tuple(
            Button(button["text"], button.get("callback_data", ""))
            for row in rows
            for button in row
        )

    def json(self) -> Json:
        """For the control API."""
        return {"from_bot": self.from_bot, **self.raw}


def shown_message(raw: Json, bot_id: int) -> Shown:
    """The message a Bot API object describes."""
    sender = raw.get("from", {}).get("id", 0)
    return Shown(
        chat_id=raw["chat"]["id"],
        message_id=raw["message_id"],
        text=str(raw.get("text") or raw.get("caption") or ""),
        entities=tuple(raw.get("entities") or raw.get("caption_entities") or ()),
        reply_markup=raw.get("reply_markup"),
        sender_id=sender,
        from_bot=sender == bot_id,
        edited="edit_date" in raw,
        thread_id=raw.get("message_thread_id"),
        date=datetime.fromtimestamp(raw["date"], UTC),
        raw=raw,
    )


@dataclass(frozen=True, slots=True)
class Draft:
    """Text that is still being written."""

    draft_id: int
    text: str
    entities: tuple[Json, ...]
    thread_id: int | None
    at: datetime
    can_stop: bool = False
    keep_on_stop: bool = False

    def seen(self, now: datetime) -> bool:
        """Whether clients still show it."""
        return now - self.at < timedelta(seconds=DRAFT_SECONDS)


@dataclass(slots=True)
class Chat:
    """One chat. `standing` is the bot's place in it."""

    id: int
    type: ChatType
    name: str
    bot_id: int
    standing: Standing = "member"
    forum: bool = False
    username: str = ""
    members: set[int] = field(default_factory=set)
    topics: dict[int, str] = field(default_factory=dict)
    lost_topics: Literal["refuse", "main"] = "refuse"
    """What Telegram does with a send into a deleted topic: refuse it, or let it land in the main
    chat.
    """
    migrated_to: int = 0
    messages: dict[int, Json] = field(default_factory=dict)
    drafts: dict[int, Draft] = field(default_factory=dict)
    actions: list[tuple[datetime, str]] = field(default_factory=list)
    last_id: int = 0

    def json(self) -> Json:
        """As the Bot API shows it inside a message."""
        named = {"first_name": self.name} if self.type == "private" else {"title": self.name}
        found: Json = {"id": self.id, "type": self.type, **named}
        if self.username:
            found["username"] = self.username
        if self.forum:
            found["is_forum"] = True
        return found

    def next_id(self) -> int:
        """The id of the next message."""
        self.last_id += 1
        return self.last_id

    @property
    def shown(self) -> list[Shown]:
        """What the chat shows now, oldest first."""
        return [shown_message(raw, self.bot_id) for raw in self.messages.values()]

    @property
    def answers(self) -> list[Shown]:
        """What the bot wrote, as it looks now."""
        own = (
            raw for raw in self.messages.values() if raw.get("from", {}).get("id") == self.bot_id
        )
        return [shown_message(raw, self.bot_id) for raw in own]

    @property
    def text(self) -> str:
        """The bot's words, message by message."""
        return "\n".join(message.text for message in self.answers)

    def draft(self, now: datetime) -> Draft | None:
        """The draft people see."""
        return next((draft for draft in reversed(self.drafts.values()) if draft.seen(now)), None)

    def action(self, now: datetime) -> str:
        """The line under the title: `typing`, or nothing."""
        recent = (
            action
            for at, action in self.actions[-1:]
            if now - at < timedelta(seconds=ACTION_SECONDS)
        )
        return next(recent, "")

    def find(self, message_id: int | None) -> Json | None:
        """A message that is still there."""
        return self.messages.get(message_id or 0)

    def check_open(self) -> None:
        """Refuse what the bot may not reach."""
        if self.migrated_to:
            raise bad(UPGRADED, migrate_to_chat_id=self.migrated_to)
        if self.standing not in {"member", "administrator"}:
            raise self._closed()

    def _closed(self) -> Refused:
        if self.standing == "unstarted":
            return bad("chat not found")
        if self.type == "private":
            return forbidden(_PRIVATE[self.standing])
        verb = "was kicked from" if self.standing == "kicked" else "is not a member of"
        return forbidden(f"bot {verb} the {self.type} chat")

    def thread(self, thread_id: int | None) -> int | None:
        """The topic a message lands in; refuses one that is not there."""
        if thread_id is None:
            return None
        if thread_id in self.topics:
            return thread_id
        if self.lost_topics == "main" and self.topics:
            return None
        raise bad(THREAD_NOT_FOUND)


_PRIVATE = {
    "stranger": "bot can't initiate conversation with a user",
    "kicked": "bot was blocked by the user",
    "left": "bot was blocked by the user",
    "deactivated": "user is deactivated",
}
