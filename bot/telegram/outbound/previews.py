"""An answer while it grows: a draft in a private chat, a message that is edited in a group.

A preview is a courtesy: it is rendered beside the turn and never delays it, and not faster than
Telegram likes. Where drafts are refused, messages are edited for the rest of the turn; after any
other failure nothing more is shown. The answer itself is sent by others, when it is committed. What
is being rendered when the preview ends is finished first, so that no preview comes after the
answer.

While a tool runs, a few words after the text say what is being done; they are no part of the
answer.

A draft is named after its turn, so a press on its Stop button says which turn to stop. The messages
in a group are written down with the turn: the parts of the answer take their places, also after a
crash.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from bot.aio import cancel_and_wait, run_until
from bot.errors import BotError, ChatBusy, ChatUnreachable, DeliveryError
from bot.owner import Place
from bot.ports import Record
from bot.telegram.outbound.formatting import chunks_of
from bot.telegram.outbound.messages import Messages
from bot.telegram.outbound.splitting import PART_UNITS, Chunk
from bot.telegram.utf16 import utf16_len

log = logging.getLogger(__name__)

FIRST_SECONDS = 0.6
"""An answer that is there by then needs no preview."""
NO_ROOM_SECONDS = 0.4
CHARS_A_SECOND = 4000
"""How much longer a long text is shown before the next look at it: each is formatted anew, from its
beginning.
"""
RESTS = 10
"""How many times as long as the formatting took it rests, so that a text that is hard to format
costs nobody else.
"""
KEEP_ALIVE_SECONDS = 20.0
"""A draft is seen for half a minute."""


@dataclass(slots=True)
class GrowingText:
    """An answer as far as it has been written."""

    pieces: list[str] = field(default_factory=list)
    status: str = ""
    """What is being done beside writing."""

    @property
    def text(self) -> str:
        return "".join(self.pieces)


@dataclass(frozen=True, slots=True)
class DraftTarget:
    """A draft in a private chat, with a Stop button.

    Of a long text it shows the part that is being written.
    """

    messages: Messages
    place: Place
    turn: int
    pace: float = 1.2
    opens_with_status: bool = True

    async def render(self, chunks: Sequence[Chunk]) -> bool:
        return await self.messages.draft(self.place, self.turn, chunks[-1])


class MessageTarget:
    """Messages in a group, one for each part; at each look at most one of them is sent or changed.

    What follows a file would stand before it in the end, so it is not shown beforehand.
    """

    pace = 3.0
    opens_with_status = False

    def __init__(
        self, messages: Messages, place: Place, turn: int, record: Record, reply_to: int | None
    ) -> None:
        self._messages = messages
        self._place = place
        self._turn = turn
        self._record = record
        self._reply_to = reply_to
        self._shown: dict[int, Chunk] = {}

    async def render(self, chunks: Sequence[Chunk]) -> bool:
        first_file = next(
            (at for at, chunk in enumerate(chunks) if chunk.file is not None), len(chunks)
        )
        parts = [replace(chunk, file=None) for chunk in chunks[: first_file + 1]]
        stale = [at for at, part in enumerate(parts) if self._shown.get(at) != part]
        return not stale or (await self._render_part(stale[0], parts[stale[0]]) and len(stale) == 1)

    async def _render_part(self, at: int, chunk: Chunk) -> bool:
        known = self._record.previews(self._turn)
        shown = known[at] if at < len(known) else None
        reply_to = None if at else self._reply_to
        message_id = await self._messages.send_preview(
            self._place, chunk, message_id=shown, reply_to=reply_to
        )
        if message_id is None:
            return False
        if message_id not in known:
            await self._record.previewed(self._turn, *known, message_id)
        self._shown[at] = chunk
        return True


PreviewTarget = DraftTarget | MessageTarget
"""Where a preview is shown. `pace`: seconds between two looks. `opens_with_status`: whether it may
show what is being done before there is any word of the answer. `render` shows the text as far as it
has grown; False: there is more of it than room now.
"""


class Preview:
    """Shows a growing text, and what is being done, on a target, until it is ended."""

    def __init__(
        self,
        targets: Sequence[PreviewTarget],
        messages: Messages,
        record: Record,
        growing: GrowingText,
    ) -> None:
        """Each of the targets takes the place of the one before once that is refused."""
        self._target, *self._others = targets
        self._messages = messages
        self._record = record
        self._growing = growing
        self._changed = asyncio.Event()
        self._over = asyncio.Event()
        self._render_lock = asyncio.Lock()
        self._painting: asyncio.Task[None] | None = None
        self.is_seen = False
        """Whether a person sees by it that an answer is being written."""

    def changed(self) -> None:
        """The text is another one now, or was wiped off. Returns at once."""
        self._changed.set()
        if self._painting is None and not self._over.is_set():
            self._painting = asyncio.create_task(self._render(), name="preview")

    async def settled(self) -> None:
        """Return when nothing is being painted."""
        async with self._render_lock:
            return

    async def end(self) -> None:
        """Paint nothing any more."""
        self._over.set()
        if self._painting is not None:
            try:
                await asyncio.wait({self._painting})
            finally:
                await cancel_and_wait(self._painting)

    async def _render(self) -> None:
        try:
            await self._pause(FIRST_SECONDS)
            while not self._over.is_set():
                if await self._renders():
                    await run_until(self._over, self._news())
        except BotError as failure:
            log.info("no more previews in this turn: %s", failure)
        finally:
            self.is_seen = False

    async def _renders(self) -> bool:
        """Show what there is, and pause; False where it is to be shown elsewhere."""
        try:
            await self._pause(await self._render_once())
        except DeliveryError as refusal:
            self._change_target(refusal)
            return False
        return True

    def _change_target(self, refusal: DeliveryError) -> None:
        """Go on elsewhere where one kind of preview is refused. Raises `refusal` where none is
        left.
        """
        if not self._others or isinstance(refusal, ChatBusy | ChatUnreachable):
            raise refusal
        log.info("another kind of preview in this turn: %s", refusal)
        self._target = self._others.pop(0)

    async def _render_once(self) -> float:
        """Show what there is; the seconds until the next look."""
        self._record.require_lease()
        self._changed.clear()
        text, status, began = self._growing.text, self._growing.status, _now()
        words = await chunks_of(text)
        spent = _now() - began
        chunks = _with_status(words, status, apart=self._target.opens_with_status)
        if chunks and not self._over.is_set():
            async with self._render_lock:
                is_seen = await self._target.render(chunks)
            if not is_seen:
                self._changed.set()
                return NO_ROOM_SECONDS
            self.is_seen = True
        return self._target.pace + len(text) / CHARS_A_SECOND + spent * RESTS

    async def _pause(self, seconds: float) -> None:
        await run_until(self._over, self._messages.transport.sleep(seconds))

    async def _news(self) -> None:
        """Until the text has changed, or what is shown would fade."""
        await run_until(self._changed, self._messages.transport.sleep(KEEP_ALIVE_SECONDS))


def _with_status(words: tuple[Chunk, ...], status: str, *, apart: bool) -> tuple[Chunk, ...]:
    """The text with what is being done below it; `apart`: where it does not fit, in a part of its
    own.
    """
    below = [
        replace(last, text=f"{last.text}\n\n{status}") for last in words[-1:] if last.file is None
    ]
    if not status:
        return words
    if below and utf16_len(below[0].text) <= PART_UNITS:
        return (*words[:-1], *below)
    return (*words, Chunk(status)) if apart else words


def preview_targets(
    messages: Messages, place: Place, turn: int, record: Record, reply_to: int | None
) -> Sequence[PreviewTarget]:
    """What a preview can be shown on in this place, best first."""
    edited = MessageTarget(messages, place, turn, record, reply_to)
    return (DraftTarget(messages, place, turn), edited) if place.is_private else (edited,)


def _now() -> float:
    return asyncio.get_running_loop().time()
