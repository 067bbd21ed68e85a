"""What becomes of the files of a question before its turn, and where they stand in a request."""

from __future__ import annotations

import asyncio
import base64
from dataclasses import replace

import pytest

from bot.agent.attachments import LARGE_AT_A_TIME, Attachments, are_late, without_files
from bot.agent.attachments.file_cache import FileCache
from bot.agent.attachments.limits import MAX_FILES, fitting, shown
from bot.agent.scripted import Scripted, fails, says
from bot.content import as_block, words
from bot.errors import FileGone, FilesRefused, FileTooLarge, FileUnavailable, NotTranscribed
from bot.ports import Part, Question
from bot.session import Message
from bot.store.memory.inbox import MemoryRecord
from tests import agents
from tests.builders import ANNA, NOON, message, session, text
from tests.samples import pdf, png, sent

SECOND = 10**6


class Drawer:
    """Implements Files: some bytes by their ids, or what goes wrong with them."""

    def __init__(self, **held):
        self.held = held
        self.asked = []

    async def read(self, file_id):
        self.asked.append(file_id)
        found = self.held.get(file_id, FileGone())
        if isinstance(found, Exception):
            raise found
        return found


class Crowd:
    """Implements Files: everybody waits until the gate is open."""

    def __init__(self, content):
        self.content = content
        self.gate = asyncio.Event()
        self.waiting = 0

    async def read(self, file_id):
        self.waiting += 1
        await self.gate.wait()
        return self.content


class Ear:
    """Implements Transcribe."""

    def __init__(self, words):
        self.words = words

    async def __call__(self, sound, name):
        if isinstance(self.words, Exception):
            raise self.words
        return self.words


class Told:
    """A Reply of which only the notices are looked at."""

    def __init__(self):
        self.notices = []

    async def notice(self, key, **values):
        self.notices.append(key)


def asked(*blocks, update_id=1):
    return Question((Part(update_id, tuple(blocks), NOON),))


async def examined(attachments, *blocks):
    told = Told()
    question = await attachments.resolve(ANNA, asked(*blocks), told, MemoryRecord())
    return list(question.parts[0].content), told.notices


def said(*contents):
    return [{"role": "user", "content": list(content)} for content in contents]


# ------------------------------------------------------------------------------------ before a turn


async def test_a_file_that_can_be_read_is_kept_by_its_name_with_what_it_will_take():
    files = Drawer(F1=png(750, 10), F2=pdf(3), F3=b"some words")
    blocks = sent("picture", 1), sent("pdf", 2, name="a.pdf"), sent("text", 3, name="b.txt")
    found, notices = await examined(Attachments(files), *blocks)
    assert [{**block, "tokens": 0, "bytes": 0} for block in found] == [
        {**block, "tokens": 0, "bytes": 0} for block in blocks
    ]
    assert [block["tokens"] for block in found[:2]] == [10, 6_000]
    assert found[2]["tokens"] > 10
    assert [block["bytes"] for block in found] == [len(png(750, 10)), len(pdf(3)), 10]
    assert notices == []


@pytest.mark.parametrize(
    ("kind", "content", "notice", "told"),
    [
        pytest.param("picture", FileGone(), "file_gone", "[picture x: no longer there]", id="gone"),
        pytest.param(
            "pdf",
            FileTooLarge(),
            "file_too_large",
            "[pdf x: too large to be opened]",
            id="too large",
        ),
        pytest.param(
            "pdf",
            pdf(101),
            "file_too_many_pages",
            "[pdf x: too many pages to be shown]",
            id="pages",
        ),
        pytest.param(
            "picture",
            b"?",
            "file_broken",
            "[picture x: damaged, or not what its name says]",
            id="broken",
        ),
        pytest.param(
            "voice", b"Ogg", "unreadable_voice", "[voice x: you cannot hear it]", id="nobody hears"
        ),
    ],
)
async def test_what_cannot_be_read_is_a_sentence_for_the_person_and_one_for_the_model(
    kind, content, notice, told
):
    found, notices = await examined(
        Attachments(Drawer(F1=content)), sent(kind, name="x"), text("What is it?")
    )
    assert (found, notices) == ([text(told), text("What is it?")], [notice])


async def test_a_question_of_nothing_that_can_be_read_is_none():
    found, notices = await examined(Attachments(Drawer()), sent(number=1), sent(number=2))
    assert (found, notices) == ([], ["file_gone"])


async def test_the_rest_of_an_album_is_looked_at_where_one_piece_cannot():
    found, notices = await examined(Attachments(Drawer(F2=png())), sent(number=1), sent(number=2))
    assert [block["type"] for block in found] == ["text", "file"]
    assert notices == ["file_gone"]


async def test_a_file_that_cannot_be_fetched_now_is_worth_another_try():
    with pytest.raises(FileUnavailable):
        await examined(Attachments(Drawer(F1=FileUnavailable())), sent(), text("What is it?"))


async def test_more_files_than_a_request_may_have_are_not_even_fetched():
    files = Drawer(**{f"F{number}": png() for number in range(30)})
    found, notices = await examined(
        Attachments(files), *(sent(number=number) for number in range(30))
    )
    assert [block["type"] for block in found] == ["file"] * MAX_FILES + ["text"] * (30 - MAX_FILES)
    assert notices == ["files_too_many"]
    assert len(files.asked) == MAX_FILES


@pytest.mark.parametrize(
    ("size", "at_once"), [(3 * SECOND, LARGE_AT_A_TIME), (SECOND, 8)], ids=["large", "small"]
)
async def test_of_large_files_only_a_few_are_in_memory_at_a_time(size, at_once):
    """A storm of them must not cost the process its life; what is small does not wait."""
    files = Crowd(png())
    attachments = Attachments(files)
    caller = [asyncio.create_task(examined(attachments, sent(size=size))) for _ in range(8)]
    for _ in range(50):
        await asyncio.sleep(0)
    assert files.waiting == at_once
    files.gate.set()
    await asyncio.gather(*caller)
    for _ in range(LARGE_AT_A_TIME + 1):
        async with attachments.room(said([sent(size=size)])):
            pass


async def test_pdfs_that_are_too_long_together_are_not_all_shown():
    """The provider counts the pages of all of them."""
    files = Drawer(F1=pdf(60), F2=pdf(60), F3=pdf(40))
    found, notices = await examined(
        Attachments(files), *(sent("pdf", number) for number in (1, 2, 3))
    )
    assert [block["type"] for block in found] == ["file", "text", "file"]
    assert notices == ["files_too_many"]
    assert shown([[found[0]], [found[2]], [as_block({**found[2], "unique_id": "U4"})]]) == {"U4"}


async def test_what_was_spoken_becomes_words():
    found, notices = await examined(
        Attachments(Drawer(F1=b"Ogg"), Ear(" Hello there. ")), sent("voice")
    )
    assert (found, notices) == (
        [text("[voice message, written down by a program]\nHello there.")],
        [],
    )


async def test_a_recording_without_a_word_is_said_to_be_none():
    found, notices = await examined(Attachments(Drawer(F1=b"Ogg"), Ear(" ")), sent("voice"))
    assert (found, notices) == ([], ["file_broken"])


async def test_words_that_cannot_be_made_out_now_are_worth_another_try():
    with pytest.raises(NotTranscribed):
        await examined(Attachments(Drawer(F1=b"Ogg"), Ear(NotTranscribed())), sent("voice"))


# ------------------------------------------------------------------------------------- in a request


async def test_files_stand_where_they_were_sent():
    files = Attachments(Drawer(F1=png(), F2=b"words"))
    [first, second] = await files.inline(
        said([sent("picture", 1), text("this")], [sent("text", 2, name="a.txt")])
    )
    assert [block["type"] for block in first["content"]] == ["image", "text"]
    assert first["content"][1] == text("this")
    assert "words" in words(second["content"][:1])


@pytest.mark.parametrize(
    ("found", "told"),
    [
        (FileGone(), "[picture: no longer there]"),
        (FileUnavailable(), "[picture: cannot be fetched at the moment]"),
        (b"?", "[picture: damaged, or not what its name says]"),
    ],
    ids=["gone", "away", "broken"],
)
async def test_a_file_of_an_earlier_turn_that_cannot_be_had_is_a_sentence(found, told):
    [message] = await Attachments(Drawer(F1=found)).inline(said([sent(), text("this")]))
    assert message["content"] == [text(told), text("this")]


async def test_a_file_that_turns_up_again_is_carried_once():
    files = Drawer(F1=png())
    [first, second] = await Attachments(files).inline(said([sent()], [sent(), text("And this?")]))
    assert first["content"][0]["type"] == "image"
    assert second["content"] == [text("[picture: the same as above]"), text("And this?")]
    assert files.asked == ["F1"]


def test_the_front_of_the_prompt_changes_once_in_many_files():
    """A sawtooth: past the bound half of them give way, so the provider's cache answers in
    between.
    """
    contents, changes, before = [], 0, shown([])
    for number in range(100):
        contents.append([sent(number=number)])
        now = shown(contents)
        assert f"U{number}" in now
        assert len(now) <= MAX_FILES
        changes += not before <= now
        before = now
    assert changes == 8


def test_bytes_are_bounded_as_well_and_the_latest_message_keeps_its_own():
    contents = [[sent(number=number, size=6 * SECOND)] for number in range(4)]
    assert shown(contents) == {"U3"}
    album = [sent(number=number, size=6 * SECOND) for number in range(5)]
    assert list(fitting(album)) == ["U0", "U1", "U2"]
    assert shown([*contents, album]) == {"U0", "U1", "U2"}


def test_a_model_that_sees_nothing_reads_what_there_was():
    [message] = without_files(said([sent("pdf", name="a.pdf"), text("this")]))
    assert message["content"] == [text("[pdf a.pdf: cannot be shown to you]"), text("this")]


# ------------------------------------------------------------------------------------- in the agent


def shown_before(block):
    return session(
        messages=[
            Message(0, 1, "user", (block, text("look")), NOON, 10),
            message(1, 1, "assistant"),
        ]
    )


async def test_a_file_the_model_refuses_fails_the_turn_it_came_with():
    asks = agents.agent(Scripted(fails(FilesRefused)), attachments=Attachments(Drawer(F1=png())))
    with pytest.raises(FilesRefused):
        await asks.run(ANNA, session(), asked(sent()), agents.StreamedText(), agents.a_run())


async def test_a_file_of_earlier_turns_that_is_refused_is_left_out():
    """Somebody may have changed to a model that sees nothing: the talk goes on."""
    model = Scripted(fails(FilesRefused), says("Fine."))
    asks = agents.agent(model, attachments=Attachments(Drawer(F1=png())))
    answer = await asks.run(
        ANNA, shown_before(sent()), asked(text("And now?")), agents.StreamedText(), agents.a_run()
    )
    assert answer.text == "Fine."
    kinds = [
        [block["type"] for block in request.messages[0]["content"]] for request in model.requests
    ]
    assert kinds == [["text", "image", "text"], ["text", "text", "text"]]
    assert base64.b64encode(png()).decode() in str(model.requests[0])


# ------------------------------------------------------------------------------------ late and kept


def test_a_piece_of_an_album_that_was_answered_is_late():
    """C101"""
    answered = shown_before(sent(album="a"))
    assert are_late([sent(number=2, album="a")], answered)
    assert are_late([text("[forwarded from News]"), sent(number=2, album="a")], answered)
    assert not are_late([sent(number=2, album="b")], answered)
    assert not are_late([sent(number=2)], shown_before(sent()))
    assert not are_late([sent(number=2, album="a"), text("And this?")], answered)
    assert not are_late([], answered)


async def test_a_file_is_fetched_once_while_it_is_wanted():
    now = [0.0]
    files = Drawer(F1=b"x" * 60, F2=b"y" * 60)
    file_cache = FileCache(files, lambda: now[0], max_bytes=100, seconds=600)
    assert [await file_cache.read("F1") for _ in range(3)] == [b"x" * 60] * 3
    assert files.asked == ["F1"]
    await file_cache.read("F2")
    await file_cache.read("F1")
    assert files.asked == ["F1", "F2", "F1"], "one gives way to the other"
    now[0] = 601
    await file_cache.read("F1")
    assert files.asked == ["F1", "F2", "F1", "F1"], "and age takes it"


async def test_what_went_wrong_is_not_kept():
    files = Drawer(F1=FileUnavailable())
    file_cache = FileCache(files, lambda: 0.0)
    with pytest.raises(FileUnavailable):
        await file_cache.read("F1")
    files.held["F1"] = b"x"
    assert await file_cache.read("F1") == b"x"


async def test_an_answer_that_is_delivered_again_needs_no_file(house):
    """Telegram asked to wait; when the lane goes on, the file may be gone, and the transcriber,
    too.
    """
    at, ear = house(says("The answer.")), Ear("The question?")
    attachments = Attachments(Drawer(F1=b"OggS"), ear)
    at.turns = replace(at.turns, agent=replace(at.turns.agent, attachments=attachments))
    await at.answer(asked(sent("voice")))
    ear.words = NotTranscribed()
    streamed = await at.answer(asked(sent("voice")))

    assert (streamed.delivered, streamed.notices) == (["The answer."], [])
    assert len(at.model.requests) == 1
