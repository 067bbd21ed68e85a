"""TRANSCRIBE_URL: what is spoken becomes the words of the question; without it, and where it fails, a sentence."""

from __future__ import annotations

import pytest

from bot.demo.transcribing import TranscribeServer
from bot.texts import text
from tests.scenarios.test_pictures_and_files import answered


@pytest.fixture
async def ears(world):
    async with TranscribeServer() as server:
        world.environ |= {"TRANSCRIBE_URL": server.url, "TRANSCRIBE_KEY": server.key}
        yield server


async def test_a_voice_message_is_answered_as_if_it_had_been_written(world, anna, ears):
    ears.words = "My name is Anna."
    async with world.bot():
        anna.sends_voice(b"OggS")
        assert await answered(world, anna) == "Nice to meet you, Anna!"
        assert await world.ask(anna, "What is my name?") == "Your name is Anna."
    [heard] = ears.heard
    assert (heard.name, heard.sound) == ("voice.ogg", b"OggS")
    [spoken, *_] = world.session(anna.id)["messages"]
    words = "[voice message, written down by a program]\nMy name is Anna."
    assert spoken["content"] == [{"type": "text", "text": words}]


async def test_one_that_cannot_be_made_out_now_can_be_tried_again(world, anna, ears):
    ears.fails = 503
    async with world.bot():
        anna.sends_voice(b"OggS")
        assert await answered(world, anna) == text("error_not_transcribed", "en")
        assert world.requests == []
        ears.fails, ears.words = 0, "Echo: I was heard."
        anna.presses("Try again")
        assert await answered(world, anna, 2) == "I was heard."


async def test_without_a_transcriber_it_is_a_sentence_and_nothing_is_fetched(world, anna):
    async with world.bot():
        anna.sends_voice(b"OggS")
        assert await answered(world, anna) == text("unreadable_voice", "en")
    assert world.requests == []
    assert world.telegram.journal.of("getFile") == []
    assert world.sessions() == []
