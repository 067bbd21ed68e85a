"""The state behind the Bot API: the bot, chats, people, files, pressed buttons, commands.

One object holds all of it, and every change rings its signal. People change it through `people`,
the bot through `methods`; the two meet nowhere else.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import count
from typing import Any

from bot.standins.clock import Clock
from bot.standins.telegram.chats import Chat, ChatType, Standing
from bot.standins.telegram.rules import QUERY_SECONDS, Json, bad
from bot.standins.telegram.signal import Signal
from bot.standins.telegram.updates import Updates

SUPERGROUPS = -1_001_000_000_000
GROUPS = -5000
RIGHTS = (
    "can_be_edited", "is_anonymous", "can_manage_chat", "can_delete_messages", "can_manage_video_chats",  # noqa: E501
    "can_restrict_members", "can_promote_members", "can_change_info", "can_invite_users", "can_post_stories",  # noqa: E501
    "can_edit_stories", "can_delete_stories",
)  # fmt: skip
"""What an administrator may do; every one has to be told."""


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file Telegram holds."""

    file_id: str
    name: str
    path: str
    mime: str
    content: bytes

    def json(self) -> Json:
        """The fields every kind of file has."""
        return {
            "file_id": self.file_id,
            "file_unique_id": f"u{self.file_id}",
            "file_size": len(self.content),
        }


@dataclass(slots=True)
class Query:
    """A pressed button that waits for its answer."""

    id: str
    at: datetime
    user_id: int
    answer: Json | None = None

    def open(self, now: datetime) -> bool:
        """Whether Telegram still takes an answer."""
        return self.answer is None and now - self.at < timedelta(seconds=QUERY_SECONDS)


@dataclass(slots=True)
class Webhook:
    """Where updates are pushed to. Without a url they are polled."""

    url: str = ""
    secret: str = ""
    connections: int = 40
    last_error: tuple[datetime, str] | None = None
    gone_since: datetime | None = None


@dataclass(slots=True)
class TelegramState:
    """Everything there is."""

    clock: Clock
    bot: Json
    updates: Updates
    signal: Signal
    privacy: bool = True
    users: dict[int, Json] = field(default_factory=dict)
    chats: dict[int, Chat] = field(default_factory=dict)
    files: dict[str, StoredFile] = field(default_factory=dict)
    queries: dict[str, Query] = field(default_factory=dict)
    commands: dict[tuple[str, str], list[Json]] = field(default_factory=dict)
    descriptions: dict[tuple[str, str], str] = field(default_factory=dict)
    reactions: dict[tuple[int, int], list[Json]] = field(default_factory=dict)
    webhook: Webhook = field(default_factory=Webhook)
    poll: object | None = None
    poll_ended_by: str = ""
    _numbers: Any = field(default_factory=lambda: count(1))

    @property
    def now(self) -> datetime:
        """The present, by the clock of the test."""
        return self.clock.now()

    @property
    def stamp(self) -> int:
        """The present as messages carry it."""
        return int(self.now.timestamp())

    def number(self) -> int:
        """A number never given before."""
        return int(next(self._numbers))

    @property
    def bot_id(self) -> int:
        """The bot's own id."""
        return int(self.bot["id"])

    def add_chat(self, kind: ChatType, name: str, **extra: Any) -> Chat:
        """Make a group, a supergroup or a channel."""
        number = self.number()
        chat_id = extra.pop("id", None) or (
            GROUPS - number if kind == "group" else SUPERGROUPS - number
        )
        chat = Chat(id=chat_id, type=kind, name=name, bot_id=self.bot_id, **extra)
        self.chats[chat.id] = chat
        return chat

    def chat(self, chat_id: str) -> Chat:
        """The chat the bot names, by id or @name; refuses one it does not know or may not reach."""
        if not chat_id:
            raise bad("chat_id is empty")
        named = (
            chat for chat in self.chats.values() if chat.username and f"@{chat.username}" == chat_id
        )
        known = (
            self.chats.get(int(chat_id)) if chat_id.lstrip("-").isdecimal() else next(named, None)
        )
        if known is None:
            raise bad("chat not found")
        known.check_open()
        return known

    def put(self, chat: Chat, fields: Json) -> Json:
        """Add a message to a chat."""
        message = {"message_id": chat.next_id(), "date": self.stamp, "chat": chat.json(), **fields}
        chat.messages[message["message_id"]] = message
        self.signal.ring()
        return message

    def replace(self, chat: Chat, message: Json) -> Json:
        """Show an edited message."""
        chat.messages[message["message_id"]] = message
        self.signal.ring()
        return message

    def store(self, content: bytes, name: str, mime: str, folder: str) -> StoredFile:
        """Keep a file."""
        number = self.number()
        suffix = name.rpartition(".")[2] if "." in name else "bin"
        stored = StoredFile(
            f"FILE{number:06d}", name, f"{folder}/file_{number}.{suffix}", mime, content
        )
        self.files[stored.file_id] = stored
        return stored

    def forget(self, file_id: str) -> None:
        """Keep a file no longer, as Telegram does when nobody has asked for it in a long time."""
        self.files.pop(file_id)

    def bot_moved(self, chat: Chat, before: Standing, by: Json) -> None:
        """Tell the bot that its place in a chat changed."""
        old, new = (_member(self.bot, standing) for standing in (before, chat.standing))
        payload = {
            "chat": chat.json(),
            "from": by,
            "date": self.stamp,
            "old_chat_member": old,
            "new_chat_member": new,
        }
        self.updates.add("my_chat_member", payload)
        self.signal.ring()


def _member(bot: Json, standing: Standing) -> Json:
    """A ChatMember with the fields its status requires."""
    if standing in {"unstarted", "stranger", "deactivated"}:
        return {"user": bot, "status": "left"}
    more: dict[str, Json] = {
        "kicked": {"until_date": 0},
        "administrator": dict.fromkeys(RIGHTS, False),
    }
    return {"user": bot, "status": standing, **more.get(standing, {})}
