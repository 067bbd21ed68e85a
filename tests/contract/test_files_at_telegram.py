"""Files come from Telegram whole, bounded and in time, and no error gives the token away."""

from __future__ import annotations

import asyncio
import traceback

import pytest

from bot.errors import FileGone, FileTooLarge, FileUnavailable
from bot.standins.telegram.faults import Fault
from bot.standins.telegram.person_actions import PNG
from bot.telegram.connection import Connection
from bot.telegram.inbound.files import AT_A_TIME, TelegramFiles
from tests.telegrams import PENALTIES_WARN, telegram


@pytest.fixture
async def office():
    async with telegram() as (server, bot):
        yield server, bot, server.person(7, "Anna")


def sent(anna, content=PNG):
    return anna.sends_document(content).raw["document"]["file_id"]


async def test_a_file_is_read_whole(office):
    _, bot, anna = office
    content = PNG + bytes(300_000)
    assert await TelegramFiles(bot).read(sent(anna, content)) == content


async def test_one_that_is_gone_or_unknown_is_gone(office):
    server, bot, anna = office
    file_id = sent(anna)
    server.state.forget(file_id)
    for one in (file_id, "nothing"):
        with pytest.raises(FileGone):
            await TelegramFiles(bot).read(one)


async def test_one_that_vanishes_between_the_question_and_the_answer_is_gone(office):
    server, bot, anna = office
    file_id, gate = sent(anna), asyncio.Event()
    server.faults.next("getFile", Fault.hold(gate, when="after"))
    reading = asyncio.create_task(TelegramFiles(bot).read(file_id))
    await server.until(lambda: [call for call in server.journal.of("getFile") if call.status])
    server.state.forget(file_id)
    gate.set()
    with pytest.raises(FileGone):
        await reading


async def test_one_over_20_mb_is_too_large(office):
    _, bot, anna = office
    with pytest.raises(FileTooLarge):
        await TelegramFiles(bot).read(sent(anna, bytes(20 * 2**20 + 1)))


async def test_whatever_a_server_says_no_more_is_read_than_the_bound(office):
    _, bot, anna = office
    file = await bot.get_file(sent(anna, bytes(100_000)))
    assert isinstance(bot.request, Connection)
    assert len(await bot.request.fetch(file.file_path, 100_000)) == 100_000
    with pytest.raises(FileTooLarge):
        await bot.request.fetch(file.file_path, 99_999)


async def test_a_telegram_that_hangs_holds_up_many_files_no_longer_than_one(office):
    server, bot, anna = office
    server.faults.always("getFile", Fault.delay(5))
    files, file_id = TelegramFiles(bot, seconds=0.5), sent(anna)
    async with asyncio.timeout(1.4):
        outcomes = await asyncio.gather(
            *(files.read(file_id) for _ in range(3 * AT_A_TIME)), return_exceptions=True
        )
    assert {type(outcome) for outcome in outcomes} == {FileUnavailable}


@pytest.mark.parametrize(
    ("method", "fault"),
    [
        pytest.param("getFile", Fault.broken(), id="a proxy's page"),
        pytest.param("getFile", Fault.dropped(), id="no answer"),
        pytest.param("getFile", Fault.too_many(30), marks=PENALTIES_WARN, id="a penalty"),
        pytest.param("getFile", Fault.delay(5), id="too late"),
        pytest.param("download", Fault.broken(500), id="a broken download"),
        pytest.param("download", Fault.dropped(), id="a torn download"),
        pytest.param("download", Fault.delay(5), id="a download that takes too long"),
    ],
)
async def test_one_that_cannot_be_had_now_is_worth_another_try(office, caplog, method, fault):
    server, bot, anna = office
    server.faults.next(method, fault)
    with pytest.raises(FileUnavailable) as caught:
        await TelegramFiles(bot, seconds=0.3).read(sent(anna))
    told = "".join(traceback.format_exception(caught.value)) + caplog.text
    assert server.token not in told
    assert server.token.partition(":")[2] not in told
