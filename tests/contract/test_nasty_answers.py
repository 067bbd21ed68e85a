"""Answers other bots lost words of, each of their prefixes included, as Telegram takes and shows
them.
"""

from __future__ import annotations

import asyncio

import pytest

from bot.owner import Place
from bot.store.memory.inbox import MemoryRecord
from bot.telegram.outbound.formatting import format_chunks
from bot.telegram.outbound.limiter import Limiter
from bot.telegram.outbound.messages import Messages
from bot.telegram.outbound.replies import TelegramReply
from bot.telegram.outbound.transport import Transport
from tests.telegrams import Naps, telegram
from tests.unit.test_formatting import NASTY

HERE = Place(7)
AT_ONCE = 16
CODE = "".join(f"print({number})\n" for number in range(1500))


@pytest.fixture
async def line():
    async with telegram() as (server, bot):
        server.person(7, "Anna").starts()
        yield server, bot


@pytest.fixture
def messages(line):
    naps = Naps(hold=4)
    return Messages(Transport(line[1], sleep=naps, limiter=Limiter(naps.now)))


async def test_every_prefix_of_every_answer_is_taken_as_it_is_formatted(line):
    """C83, C97, C98: not one is refused, so none had to be sent again as plain text."""
    server, bot = line
    prefixes = [text[:end] for text in NASTY.values() for end in range(1, len(text) + 1)]
    free = asyncio.Semaphore(AT_ONCE)

    async def send(chunk):
        async with free:
            await bot.send_message(7, chunk.text, entities=chunk.entities)

    chunks = [chunk for prefix in prefixes for chunk in format_chunks(prefix)]
    await asyncio.gather(*(send(chunk) for chunk in chunks))
    sent = server.journal.of("sendMessage")
    assert (len(sent), {call.status for call in sent}) == (len(chunks), {200})
    assert len(prefixes) > 1000


@pytest.mark.parametrize("name", NASTY)
async def test_what_is_shown_is_what_was_formatted(line, messages, name):
    server, _ = line
    await TelegramReply(messages, HERE, "en", MemoryRecord()).deliver(NASTY[name], turn=1)
    shown = server.people[7].chat.answers
    assert [message.text for message in shown] == [
        chunk.text for chunk in format_chunks(NASTY[name])
    ]
    assert len(server.journal.of("sendMessage")) == len(shown)


async def test_very_long_code_arrives_as_a_file_between_the_words(line, messages):
    server, bot = line
    await TelegramReply(messages, HERE, "en", MemoryRecord()).deliver(
        f"Here:\n\n```py\n{CODE}```\n\nThat is all.", turn=1
    )
    before, file, after = server.people[7].chat.answers
    assert (before.text, file.text, after.text) == (
        "Here:",
        f"code-1.py ({len(CODE) // 1024} KB)",
        "That is all.",
    )
    sent = await bot.get_file(file.raw["document"]["file_id"])
    assert bytes(await sent.download_as_bytearray()).decode() == CODE
    assert file.raw["document"]["file_name"] == "code-1.py"


async def test_a_file_that_comes_first_follows_its_label_in_a_group(line, messages):
    """No message can be edited into a file: the preview becomes the label."""
    server, _ = line
    group = server.supergroup(members=[server.people[7]])
    reply = TelegramReply(messages, Place(group.id), "en", MemoryRecord())
    async with reply.show_typing(1):
        reply.grow("```py\nprint(0)")
        await server.until(lambda: group.answers)
        await reply.deliver(f"```py\n{CODE}```", turn=1)
    label, file = group.answers
    assert label.text == file.text == f"code-1.py ({len(CODE) // 1024} KB)"
    assert "document" in file.raw
