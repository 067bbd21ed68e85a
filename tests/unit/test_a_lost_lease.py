"""C24: a process that was frozen past its lease asks no model, commits nothing, says nothing, obeys
no command.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from bot.agent.scripted import says
from bot.errors import LaneLost
from bot.ports import Run
from bot.store.memory.inbox import MemoryRecord
from bot.telegram.outbound.replies import TelegramReply
from tests.builders import ANNA, ANNAS_CHAT, question
from tests.unit.conftest import StreamedText


class Frozen(MemoryRecord):
    """The record of a run whose lease is over once `woken` is set."""

    def __init__(self, *, woken=False):
        super().__init__()
        self.woken = woken

    def require_lease(self):
        if self.woken:
            raise LaneLost


class Meanwhile:
    """A model during whose call something else happens."""

    def __init__(self, model, operation):
        self.model, self.operation = model, operation

    async def complete(self, request, on_text, *more):
        await self.operation()
        return await self.model.complete(request, on_text, *more)


class Nobody:
    """Messages none of which may be sent."""

    @property
    def transport(self):
        return self

    def chat_lock(self, _place):
        return asyncio.Lock()

    async def send(self, *_args, **_options):
        raise AssertionError("something was said")


def during_the_call(at, operation):
    at.turns = replace(
        at.turns, agent=replace(at.turns.agent, model=Meanwhile(at.model, operation))
    )


async def test_no_model_is_asked(house):
    at = house(says("Too late."))
    with pytest.raises(LaneLost):
        await at.turns.answer(
            ANNA, ANNAS_CHAT, question(), StreamedText(), Run(Frozen(woken=True), asyncio.Event())
        )

    assert at.model.requests == []


async def test_nothing_is_committed(house):
    at, record = house(says("Too late.")), Frozen()

    async def wake_up():
        record.woken = True

    during_the_call(at, wake_up)
    with pytest.raises(LaneLost):
        await at.turns.answer(
            ANNA, ANNAS_CHAT, question(), StreamedText(), Run(record, asyncio.Event())
        )

    assert (await at.active()).messages == []


async def test_who_took_over_delivers_what_the_woken_one_still_committed(house):
    """It froze between its last look at the lease and the commit: the turn is in the Session, so it
    is not given to the model again, and the person gets that answer and no apology.
    """
    at = house(says("Of the woken one."), says("Of who took over."))

    async def other_commits():
        at.open()  # the other process
        await at.ask("hello", update_id=1)

    turns, model = at.turns, at.model
    during_the_call(at, other_commits)
    late, at.turns = at.turns, turns
    streamed = StreamedText()
    await late.answer(ANNA, ANNAS_CHAT, question(), streamed, Run(MemoryRecord(), asyncio.Event()))

    assert streamed.delivered == ["Of the woken one."]
    assert streamed.notices == []
    assert len(model.requests) == 2
    assert (await at.active()).revision == 1


async def test_no_notice_is_said():
    nobody: Any = Nobody()
    reply = TelegramReply(nobody, ANNAS_CHAT, "en", record=Frozen(woken=True))
    with pytest.raises(LaneLost):
        await reply.notice("error_session_gone")
