"""How fast Telegram may be called: told by Telegram's rules beforehand, and by its 429s.

What has to be said (an answer, a notice) waits for its turn: never longer than the process as a
whole, or the chat itself, is too fast, and in a chat that Telegram has slowed down a second after
the call before. No chat can use up what all of them share: who asks two thousand times is answered
at a chat's own pace. What is a mere courtesy (a preview, the typing indicator) goes out only where
there is plenty of room, and never delays the rest. A penalty belongs to one chat: no other chat
waits for it.
"""

from __future__ import annotations

from bisect import insort
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from math import ceil

GLOBAL_CALLS_PER_SECOND = 28
"""Calls a second, of 30 that Telegram grants."""
MAX_CHAT_CALLS_PER_SECOND = 5
"""Of one chat, where Telegram grants one in the long run and more in a burst."""
PREVIEW_CALLS_PER_SECOND = 15
"""Calls within a second beside which a courtesy still has room."""
IDLE_AFTER_SECONDS = 3.0
"""A chat without a call for so long comes before those that have just been shown something."""
PREVIEW_CALLS_TO_IDLE_CHATS = 20
"""The same for such a chat: where many are written to at once, nobody is left without a sign of
life.
"""
GROUP_CALLS_PER_MINUTE = 10
"""Calls within a minute beside which a courtesy still has room in a group, where Telegram grants
20.
"""
MIN_GAP_SECONDS = 0.9
"""Seconds between a courtesy and the call before it in the same chat."""
SLOW_MODE_SECONDS = 60.0
"""How long after a penalty its chat gets a call a second and no courtesies."""
REMEMBERED = 10_000


@dataclass(slots=True)
class _Chat:
    last: float = float("-inf")
    of_late: deque[float] = field(default_factory=lambda: deque(maxlen=GROUP_CALLS_PER_MINUTE))
    until: float = 0.0
    slow_until: float = 0.0

    def is_forgettable(self, now: float) -> bool:
        return max(self.last + SLOW_MODE_SECONDS, self.until, self.slow_until) < now


class Limiter:
    """The calls of this process, as far as they matter for the next one."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._calls: list[float] = []
        """The latest, in the order of their times, some of which are still to come."""
        self._chats: dict[int, _Chat] = {}

    def reserve(self, chat_id: int) -> float:
        """Take the next turn for something that has to be said; the seconds until it comes."""
        now, chat = self._now(), self._chat(chat_id)
        turn = now
        if len(chat.of_late) >= MAX_CHAT_CALLS_PER_SECOND:
            turn = max(turn, chat.of_late[-MAX_CHAT_CALLS_PER_SECOND] + 1.0)
        if turn < chat.slow_until:
            turn = max(turn, chat.last + 1.0)
        if len(self._calls) == GLOBAL_CALLS_PER_SECOND:
            turn = max(turn, self._calls[0] + 1.0)
        self._note(chat, turn)
        return turn - now

    def has_room(self, chat_id: int) -> bool:
        """Whether a courtesy may go out now; if so, it counts."""
        now, chat = self._now(), self._chat(chat_id)
        if now < max(chat.until, chat.slow_until, chat.last + MIN_GAP_SECONDS):
            return False
        is_idle = now - chat.last >= IDLE_AFTER_SECONDS
        maximum = PREVIEW_CALLS_TO_IDLE_CHATS if is_idle else PREVIEW_CALLS_PER_SECOND
        if sum(at > now - 1.0 for at in self._calls) >= maximum:
            return False
        if chat_id < 0 and sum(at > now - 60.0 for at in chat.of_late) >= GROUP_CALLS_PER_MINUTE:
            return False
        self._note(chat, now)
        return True

    def penalise(self, chat_id: int, seconds: float) -> None:
        """Telegram wants no call to this chat for so long."""
        chat = self._chat(chat_id)
        chat.until = self._now() + seconds
        chat.slow_until = chat.until + SLOW_MODE_SECONDS

    def penalty(self, chat_id: int) -> float:
        """The seconds that are left of a penalty, rounded up as Telegram counts them."""
        return float(max(ceil(self._chat(chat_id).until - self._now()), 0))

    def served(self, chat_id: int) -> None:
        """The penalty was waited out."""
        self._chat(chat_id).until = 0.0

    def _note(self, chat: _Chat, turn: float) -> None:
        insort(self._calls, turn)
        del self._calls[:-GLOBAL_CALLS_PER_SECOND]
        chat.of_late.append(turn)
        chat.last = turn

    def _chat(self, chat_id: int) -> _Chat:
        if len(self._chats) >= REMEMBERED:
            now = self._now()
            self._chats = {
                known: chat for known, chat in self._chats.items() if not chat.is_forgettable(now)
            }
        return self._chats.setdefault(chat_id, _Chat())
