"""What is kept of a turn outside its Session while it runs, for the run that follows a crash."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from bot.ports.dialogues import TitlePrompt


@dataclass(frozen=True, slots=True)
class Effect:
    """What a tool did to the world outside.

    `arguments` is a hash; `result` None: nobody knows what came of it.
    """

    tool: str
    arguments: str
    result: str | None = None


class Record(Protocol):
    """What is kept of a running turn (or press) outside its Session, so that the next run knows
    what this one did.
    """

    def require_lease(self) -> None:
        """Raise LaneLost when the lease has run out: another worker may be at it already."""

    def parts_sent(self, turn: int) -> int:
        """How many parts of this turn's answer earlier runs have sent."""

    async def part_sent(self, turn: int, message_id: int | None) -> None:
        """One more part of this turn's answer was sent; None: nobody can say whether it arrived."""

    def previews(self, turn: int) -> Sequence[int]:
        """The messages that show this turn's answer while it grows, in a place that has no
        drafts.
        """

    async def previewed(self, turn: int, *message_ids: int) -> None:
        """These are the messages now; none: they serve for something else, or are gone."""

    def uncertain(self) -> int | None:
        """The turn of this lane whose answer may not have arrived, until it was offered again."""

    async def mark_uncertain(self, turn: int | None) -> None:
        """This turn's answer may not have arrived; None: it was offered again, and need not be once
        more.
        """

    def title_prompt(self) -> TitlePrompt | None:
        """The last message of this lane that asked its person for a Session's title."""

    async def asked_title(self, prompt: TitlePrompt) -> None:
        """A reply to this message is a title from now on; earlier such messages count no more."""

    def transcript(self, file: str) -> str | None:
        """The words of this recording (Telegram's unique id) where an earlier run had it written
        down.
        """

    async def transcribed(self, turn: int, file: str, words: str) -> None:
        """A recording that came with this update was written down, and paid for."""

    async def effect_begins(self, turn: int, tool: str, arguments: str) -> bool:
        """A tool is about to act on the world outside. False: an earlier run came this far."""

    async def effect_ended(self, turn: int, tool: str, arguments: str, result: str) -> None:
        """It has acted, and this is what came of it."""

    async def effects(self, turn: int) -> Sequence[Effect]:
        """What tools have done in all runs of this turn, in order."""

    async def keep_effects(self, turn: int) -> None:
        """This turn has failed after its tools had acted: the next question of its lane is to show
        it.
        """

    async def unseen_effects(self, since: datetime) -> Sequence[Effect]:
        """What tools did in turns of this lane that have failed since then, until
        `effects_seen`.
        """

    async def effects_seen(self) -> None:
        """The Session holds now what tools did in turns that have failed."""
