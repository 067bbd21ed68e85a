"""What was spoken, as words: paid for before a recording is sent to be written down, and written
down only once.

The words are kept with the message that brought the recording, so that a turn which is tried again,
or whose process died, neither pays nor asks twice. What was paid stays paid where nobody can say
whether it was written down (a stop, a crash, a timeout); it is given back where the server refused
it.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from math import ceil

from bot.budget import TokenBudget
from bot.content import FileBlock, clean
from bot.errors import NotTranscribed
from bot.owner import Owner
from bot.ports import Record, Transcribe

BYTES_PER_SECOND = 40_000
"""Of the densest MP3 (320 kbit/s): no recording is shorter than its bytes, whatever its sender's
client claims.
"""
MIN_OGG_BYTES_PER_SECOND = 16
"""Of the sparsest Opus that the format allows: what says that it lasts longer is damaged, and says
nothing.
"""
OGG_PAGE = b"OggS"
OGG_TICKS_PER_SECOND = 48_000
_TICKS_AT = slice(6, 14)


@dataclass(frozen=True, slots=True)
class Fee:
    """Who pays for recordings, and how much.

    `beside`: tokens that the answer to one takes at least.
    """

    token_budget: TokenBudget
    tokens_per_minute: int
    beside: int = 0

    def of(self, seconds: float) -> int:
        """Tokens, by minutes that have begun."""
        return ceil(seconds / 60) * self.tokens_per_minute


@dataclass(frozen=True, slots=True)
class Recordings:
    """The recordings of one turn."""

    owner: Owner
    turn: int
    record: Record
    transcribe: Transcribe | None = None
    """None: nobody can write them down."""
    fee: Fee | None = None
    """None: nobody counts."""
    paying: asyncio.Lock = field(default_factory=asyncio.Lock)
    """A turn has one reservation, so its recordings are paid for one after the other."""

    def known(self, block: FileBlock) -> str | None:
        """The words of one that was written down before."""
        return self.record.transcript(block["unique_id"])

    async def words(self, block: FileBlock, sound: bytes, part: int) -> str:
        """The words of one that came with the update `part`.

        Raises NotTranscribed or BudgetSpent.
        """
        if self.transcribe is None:
            raise NotTranscribed
        tokens = self.fee.of(seconds_of(block, sound)) if self.fee else 0
        await self._pay(tokens)
        self.record.require_lease()
        try:
            said: str = clean(await self.transcribe(sound, block["name"]))
        except NotTranscribed as failure:
            if failure.was_refused:
                await self._take_back(tokens)
            raise
        await self.record.transcribed(part, block["unique_id"], said)
        return said

    async def _pay(self, tokens: int) -> None:
        if self.fee is not None:
            async with self.paying:
                await self.fee.token_budget.spend(
                    self.owner, self.turn, tokens, beside=self.fee.beside
                )

    async def _take_back(self, tokens: int) -> None:
        if self.fee is not None:
            await self.fee.token_budget.give_back(self.owner, self.turn, tokens)


def seconds_of(block: FileBlock, sound: bytes) -> float:
    """How long a recording lasts: as its sender's client says, and no less than its own bytes
    tell.
    """
    claimed: float = block.get("seconds", 0)
    return max(claimed, len(sound) / BYTES_PER_SECOND, _ogg_seconds(sound), 1)


def _ogg_seconds(sound: bytes) -> float:
    """What the last page of an Ogg Opus file says, which is what Telegram's voice messages are."""
    last_page = sound[sound.rfind(OGG_PAGE) :] if sound.startswith(OGG_PAGE) else b""
    seconds = int.from_bytes(last_page[_TICKS_AT], "little", signed=True) / OGG_TICKS_PER_SECOND
    return seconds if seconds <= len(sound) / MIN_OGG_BYTES_PER_SECOND else 0.0
