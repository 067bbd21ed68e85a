"""Between what is kept of a person beyond their Sessions and its documents; the rules are those of
`documents`.
"""

from __future__ import annotations

from bot.content import clean
from bot.ports import Note, Preferences
from bot.store.documents import Document, bson_datetime


def from_preferences(preferences: Preferences) -> Document:
    """What was chosen; what was not stays as it is stored."""
    chosen = {"model": preferences.model, "persona": preferences.persona}
    return {name: clean(value) for name, value in chosen.items() if value is not None}


def to_preferences(document: Document) -> Preferences:
    return Preferences(document.get("model"), document.get("persona"))


def from_note(note: Note) -> Document:
    return {"operationId": clean(note.id), "text": clean(note.text), "at": bson_datetime(note.at)}


def to_note(document: Document) -> Note:
    return Note(document["operationId"], document["text"], document["at"])
