"""Events that no person writes: the bot joins, is removed, a group migrates, rare kinds of update.

A mask replaces the sender by the one that Telegram shows instead: `says(**mask)`.
"""

from __future__ import annotations

from dataclasses import dataclass

from bot.standins.telegram.chats import Chat, Shown, Standing, shown_message
from bot.standins.telegram.people import Person
from bot.standins.telegram.rules import ANONYMOUS_ADMIN, CHANNEL_BOT, LINKED_CHANNEL, Json
from bot.standins.telegram.state import TelegramState


def anonymous(chat: Chat) -> Json:
    """The mask of an anonymous admin of `chat`: one id for all of them, everywhere."""
    bot = {
        "id": ANONYMOUS_ADMIN,
        "is_bot": True,
        "first_name": "Group",
        "username": "GroupAnonymousBot",
    }
    return {"from": bot, "sender_chat": chat.json()}


def as_channel(channel: Chat) -> Json:
    """The mask of somebody who posts as a channel."""
    bot = {"id": CHANNEL_BOT, "is_bot": True, "first_name": "Channel", "username": "Channel_Bot"}
    return {"from": bot, "sender_chat": channel.json()}


def linked(channel: Chat) -> Json:
    """The mask of an automatic forward from the linked channel: it looks human."""
    telegram = {"id": LINKED_CHANNEL, "is_bot": False, "first_name": "Telegram"}
    return {"from": telegram, "sender_chat": channel.json(), "is_automatic_forward": True}


@dataclass(frozen=True, slots=True)
class ServiceMessages:
    """Events of chats."""

    state: TelegramState

    def join(self, chat: Chat, by: Person) -> None:
        """Somebody adds the bot to a group."""
        self._move(chat, "member", by)

    def expel(self, chat: Chat, by: Person) -> None:
        """Somebody throws the bot out."""
        self._move(chat, "kicked", by)

    def promote(self, chat: Chat, by: Person) -> None:
        """Somebody makes the bot an administrator."""
        self._move(chat, "administrator", by)

    def _move(self, chat: Chat, standing: Standing, by: Person) -> None:
        before, chat.standing = chat.standing, standing
        self.state.bot_moved(chat, before, by.user)

    def migrate(self, group: Chat, by: Person) -> Chat:
        """The group becomes a supergroup under a new id; the old id answers with where it went."""
        new = self.state.add_chat("supergroup", group.name, members=set(group.members))
        self.note(group, by, migrate_to_chat_id=new.id)
        group.migrated_to = new.id
        self.note(new, by, migrate_from_chat_id=group.id)
        return new

    def note(self, chat: Chat, by: Person, **fields: object) -> Shown:
        """A message without words that the chat itself shows."""
        message = self.state.put(chat, {"from": by.user, **fields})
        self.state.updates.add("message", message)
        return shown_message(message, self.state.bot_id)

    def post(self, channel: Chat, text: str) -> Shown:
        """A post in a channel: it has no sender."""
        message = self.state.put(channel, {"sender_chat": channel.json(), "text": text})
        self.state.updates.add("channel_post", message)
        return shown_message(message, self.state.bot_id)

    def poll(self, question: str) -> None:
        """The state of a poll: an update of nobody in no chat."""
        options = [
            {"text": word, "voter_count": 0, "persistent_id": word} for word in ("yes", "no")
        ]
        self.state.updates.add(
            "poll",
            {"id": str(self.state.number()), "question": question, "options": options, **_POLL},
        )

    def business_message(self, person: Person, text: str) -> None:
        """Somebody writes to a person on whose behalf the bot could answer."""
        self._foreign("business_message", person, text, business_connection_id="BC1")

    def guest_message(self, person: Person, text: str) -> None:
        """Somebody calls the bot into a chat it is not in."""
        self._foreign("guest_message", person, text, guest_query_id=str(self.state.number()))

    def _foreign(self, kind: str, person: Person, text: str, **fields: str) -> None:
        chat = {"id": person.id, "type": "private", "first_name": person.user["first_name"]}
        message = {
            "message_id": self.state.number(),
            "date": self.state.stamp,
            "chat": chat,
            "from": person.user,
        }
        self.state.updates.add(kind, {**message, "text": text, **fields})


_POLL = {
    "total_voter_count": 0, "is_closed": False, "is_anonymous": True, "type": "regular",
    "allows_multiple_answers": False, "allows_revoting": False, "members_only": False,
}  # fmt: skip
