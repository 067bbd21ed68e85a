"""Many replicas begin a Session at the same moment: one wins, the others load it, and none tries
for ever.
"""

from __future__ import annotations

import pytest

from bot.agent.scripted import says
from bot.errors import AlreadyActive, StoreUnavailable
from bot.lifecycle import MAX_OPENINGS
from bot.store.memory.sessions import MemorySessions


class Beaten(MemorySessions):
    """Another replica begins a Session whenever one is begun here, and it is over before it can be
    loaded.
    """

    def __init__(self, times):
        super().__init__()
        self.left, self.begun = times, 0

    async def create(self, owner, session):
        self.begun += 1
        if self.left:
            self.left -= 1
            raise AlreadyActive
        await super().create(owner, session)


def beaten(house, times):
    at = house(says("Hello, Anna!"))
    at.sessions = Beaten(times)
    at.open()
    return at


async def test_whoever_is_beaten_tries_again(house):
    at = beaten(house, MAX_OPENINGS - 1)
    streamed = await at.ask("Hello!")
    assert streamed.delivered == ["Hello, Anna!"]
    assert at.sessions.begun == MAX_OPENINGS == 5


async def test_whoever_is_always_beaten_leaves_the_question_for_later(house):
    at = beaten(house, MAX_OPENINGS)
    with pytest.raises(StoreUnavailable):
        await at.ask("Hello!")
    assert at.sessions.begun == MAX_OPENINGS
    assert at.model.requests == []
