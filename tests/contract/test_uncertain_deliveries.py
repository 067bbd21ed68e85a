"""C143: an answer of which nobody knows whether it arrived is not sent again unasked: a sentence at
once, or else the next answer, offers to repeat it.
"""

from __future__ import annotations

import pytest

from bot.errors import ChatBusy
from bot.owner import Place
from bot.standins.telegram.faults import Fault
from bot.standins.telegram.rules import Refused
from bot.store.memory.inbox import MemoryRecord
from bot.telegram.outbound.messages import Messages
from bot.telegram.outbound.replies import TelegramReply
from bot.telegram.outbound.transport import MAX_TRIES, Transport
from bot.texts import text
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


def offered(turn, language="en"):
    return [(LABELS[language], f"repeat:{turn}")]


@pytest.mark.parametrize("language", LABELS)
async def test_a_sentence_offers_at_once_to_repeat_it_and_the_next_answer_does_not(
    answer, lose, anna, language
):
    lose()
    assert await answer(1, language=language) == [[], offered(1, language)]
    assert anna.chat.answers[-1].text == text("delivery_uncertain", language)
    assert await answer(2) == [[]]


@pytest.mark.parametrize("lost", [0, 1])
async def test_the_sentence_stands_behind_the_last_part(answer, line, lost):
    faults = [Fault.delay(0), Fault.delay(0)]
    faults[lost] = Fault.dropped("after")
    line[0].faults.next("sendMessage", *faults)
    assert await answer(1, TWO_PARTS) == [[], [], offered(1)]


async def test_where_the_sentence_may_be_lost_too_the_next_answer_offers_to_repeat_it(answer, lose):
    lose(2)
    assert await answer(1) == [[], offered(1)]
    assert await answer(2, TWO_PARTS) == [[], offered(1)]
    assert await answer(3) == [[]]


async def test_the_latest_uncertain_answer_is_the_one_that_is_offered(answer, lose):
    lose(4)
    await answer(1)
    assert await answer(2) == [offered(1), offered(2)]
    assert await answer(3) == [offered(2)]
    assert await answer(4) == [[]]


@pytest.mark.parametrize("status", [500, 502, 503])
async def test_an_answer_that_met_a_5xx_is_sent_again_and_nothing_is_offered(answer, line, status):
    """It was refused."""
    line[0].faults.next("sendMessage", Fault.broken(status), Fault.broken(status))
    assert await answer(1) == [[]]
    assert await answer(2) == [[]]


async def test_a_5xx_that_does_not_end_leaves_the_answer_uncertain(answer, line, anna):
    line[0].faults.next("sendMessage", *[Fault.broken(502)] * MAX_TRIES)
    assert await answer(1) == [offered(1)]


async def test_an_answer_that_certainly_did_not_arrive_is_sent_again_and_nothing_is_offered(
    answer, line
):
    line[0].faults.next("sendMessage", Fault.too_many(1))
    assert await answer(1) == [[]]
    assert await answer(2) == [[]]


async def test_an_answer_to_a_closed_topic_is_kept_and_offered_when_it_is_open_again(
    answer, line, anna
):
    line[0].faults.next("sendMessage", Fault.delay(0), Fault.refused("TOPIC_CLOSED"))
    assert await answer(1, TWO_PARTS) == [[]]
    assert await answer(2) == [offered(1)]


async def test_while_the_token_is_refused_the_answer_waits_as_in_an_outage(
    answer, line, anna, caplog
):
    line[0].faults.next("sendMessage", Fault(Refused(401, "Unauthorized")))
    with pytest.raises(ChatBusy):
        await answer(1)
    assert "Telegram refuses the token" in caplog.text
    assert await answer(1) == [[]]
