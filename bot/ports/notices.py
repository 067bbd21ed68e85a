"""What is said to people who get no answer."""

from __future__ import annotations

from typing import Protocol

from bot.owner import Place
from bot.texts import Language


class Notices(Protocol):
    """Sentences for people who get no answer; nobody waits until they are sent."""

    def say(self, place: Place, key: str, language: Language) -> None:
        """Say the sentence in the Place, unless it was said there recently."""

    def answer(self, query_id: str, place: Place, key: str, language: Language) -> None:
        """Say the sentence above the button that was pressed, where there is room."""

    def leave(self, place: Place, key: str, language: Language) -> None:
        """Say the sentence and leave the chat."""
