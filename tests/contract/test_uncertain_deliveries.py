"""An answer of which nobody knows whether it arrived is not sent again unasked: the next one offers
to repeat it.
"""

from __future__ import annotations

import pytest

from bot.owner import Place
from bot.standins.telegram.faults import Fault
from bot.store.memory.inbox import MemoryRecord
from bot.telegram.outbound.messages import Messages
from bot.telegram.outbound.replies import TelegramReply
from bot.telegram.outbound.transport import Transport
from tests.telegrams import PENALTIES_WARN, Naps, telegram

pytestmark = PENALTIES_WARN

HERE = Place(7)
TWO_PARTS = "\n\n".join("words " * 600 for _ in range(2))
LABELS = {"en": "Repeat the previous answer", "ru": "Повторить предыдущий ответ"}


@pytest.fixture
async def line():
    async with telegram() as (server, bot):
        yield server, bot


@pytest.fixture
def anna(line):
    person = line[0].person(7, "Anna")
    person.starts()
    return person


@pytest.fixture
def lose(line):
    """Telegram delivers so many messages, and its answers are lost."""
    return lambda number=1: line[0].faults.next("sendMessage", *[Fault.dropped("after")] * number)


@pytest.fixture
def answer(line, anna):
    """Answer in Anna's chat; the buttons under what was sent."""
    record = MemoryRecord()

    async def answered(turn, markdown="An answer.", language="en"):
        before = len(anna.chat.answers)
        reply = TelegramReply(
            Messages(Transport(line[1], sleep=Naps())), HERE, language, record=record
        )
        await reply.deliver(markdown, turn=turn)
        return [
            [(button.text, button.data) for button in shown.buttons]
            for shown in anna.chat.answers[before:]
        ]

    return answered


@pytest.mark.parametrize("language", LABELS)
async def test_the_next_answer_offers_to_repeat_it_and_the_one_after_does_not(
    answer, lose, language
):
    lose()
    assert await answer(1) == [[]]
    assert await answer(2, language=language) == [[(LABELS[language], "repeat:1")]]
    assert await answer(3) == [[]]


async def test_the_rest_of_the_same_answer_offers_nothing(answer, lose):
    lose()
    assert await answer(1, TWO_PARTS) == [[], []]


async def test_the_offer_stands_under_the_last_part(answer, lose):
    lose()
    await answer(1)
    assert await answer(2, TWO_PARTS) == [[], [(LABELS["en"], "repeat:1")]]


async def test_an_offer_that_may_not_have_arrived_is_not_made_for_ever(answer, lose):
    """The latest uncertain answer is the one that is offered."""
    lose(2)
    await answer(1)
    assert await answer(2) == [[(LABELS["en"], "repeat:1")]]
    assert await answer(3) == [[(LABELS["en"], "repeat:2")]]
    assert await answer(4) == [[]]


async def test_an_answer_that_certainly_did_not_arrive_is_sent_again_and_nothing_is_offered(
    answer, line
):
    line[0].faults.next("sendMessage", Fault.too_many(1))
    assert await answer(1) == [[]]
    assert await answer(2) == [[]]
