"""People: what a person does in a client besides sending, and the updates it causes."""

from __future__ import annotations

from dataclasses import dataclass

from bot.standins.telegram.chats import GENERAL_TOPIC, Chat, Shown, Standing, shown_message
from bot.standins.telegram.entities import detected
from bot.standins.telegram.person_actions import PersonActions
from bot.standins.telegram.privacy import hears
from bot.standins.telegram.rules import Json
from bot.standins.telegram.state import Query


@dataclass(frozen=True, slots=True, eq=False)
class Person(PersonActions):
    """Somebody with a client."""

    def edits(self, message: Shown, text: str) -> Shown:
        """Correct a message, or the caption of one that carries something."""
        place = self.state.chats[message.chat_id]
        old = place.messages[message.message_id]
        words, entities = ("text", "entities") if "text" in old else ("caption", "caption_entities")
        changed = {key: value for key, value in old.items() if key != entities}
        changed |= {words: text, "edit_date": self.state.stamp}
        if found := [entity.json() for entity in detected(text)]:
            changed[entities] = found
        return self._edited(place, changed)

    def touches(self, message: Shown) -> Shown:
        """An edit without new words, as a link preview that arrives late causes."""
        place = self.state.chats[message.chat_id]
        return self._edited(
            place, {**place.messages[message.message_id], "edit_date": self.state.stamp}
        )

    def _edited(self, place: Chat, changed: Json) -> Shown:
        self.state.replace(place, changed)
        if hears(self.state, place, changed):
            self.state.updates.add("edited_message", changed)
        return shown_message(changed, self.state.bot_id)

    def deletes(self, message: Shown) -> None:
        """Delete a message for everybody; no update tells the bot."""
        del self.state.chats[message.chat_id].messages[message.message_id]
        self.state.signal.ring()

    def presses(
        self, button: str, *, on: Shown | None = None, data: str = "", chat: Chat | None = None
    ) -> Query:
        """Press the newest button of that label; with `data`, send exactly that, as a forged client
        can.
        """
        message = on or _with_button(button, chat or self.chat)
        pressed = data or next(known.data for known in message.buttons if known.text == button)
        query = Query(str(self.state.number() + 4_000_000), self.state.now, self.id)
        self.state.queries[query.id] = query
        place = self.state.chats[message.chat_id]
        raw = place.find(message.message_id) or _inaccessible(message)
        payload = {
            "id": query.id,
            "from": self.user,
            "message": raw,
            "chat_instance": str(place.id),
            "data": pressed,
        }
        self.state.updates.add("callback_query", payload)
        return query

    def stops(self) -> None:
        """Press Stop under the draft that is being written."""
        draft = self.chat.draft(self.state.now)
        if draft is None or not draft.can_stop:
            raise LookupError("no draft that can be stopped")
        if not draft.keep_on_stop:
            del self.chat.drafts[draft.draft_id]
        thread = {"message_thread_id": draft.thread_id} if draft.thread_id else {}
        payload = {"chat": self.chat.json(), "draft_id": draft.draft_id, **thread}
        self.state.updates.add("stopped_message_generation", payload)

    def blocks(self) -> None:
        """Block the bot."""
        self._stand("kicked")

    def unblocks(self) -> None:
        """Let the bot write again."""
        self._stand("member")

    def _stand(self, standing: Standing) -> None:
        before, self.chat.standing = self.chat.standing, standing
        self.state.bot_moved(self.chat, before, self.user)

    def deletes_account(self) -> None:
        """Go for good; the bot is not told."""
        self.chat.standing = "deactivated"
        self.state.signal.ring()

    def topic(self, name: str, chat: Chat | None = None) -> int:
        """Open a topic; its id."""
        place = chat or self.chat
        place.last_id = max(place.last_id, GENERAL_TOPIC)  # that number is never another topic's
        number = place.last_id + 1
        place.topics[number] = name
        self.sends(
            {"forum_topic_created": {"name": name, "icon_color": 7322096}},
            chat=place,
            thread=number,
        )
        return number

    def deletes_topic(self, thread: int, chat: Chat | None = None) -> None:
        """Delete a topic with all its messages."""
        place = chat or self.chat
        del place.topics[thread]
        for message in [
            raw for raw in place.messages.values() if raw.get("message_thread_id") == thread
        ]:
            del place.messages[message["message_id"]]
        self.state.signal.ring()


def _with_button(label: str, chat: Chat) -> Shown:
    for message in reversed(chat.shown):
        if any(button.text == label for button in message.buttons):
            return message
    raise LookupError(f"no button {label!r} in chat {chat.id}")


def _inaccessible(message: Shown) -> Json:
    """A message that was deleted while its button was being pressed."""
    return {"chat": message.raw["chat"], "message_id": message.message_id, "date": 0}
