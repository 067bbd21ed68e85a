"""TRANSCRIBE_URL: what is spoken becomes the words of the question; without it, and where it fails,
a sentence.
"""

from __future__ import annotations

import pytest

from bot.standins.transcriber import TranscribeServer
from bot.texts import text
from tests.scenarios.test_pictures_and_files import answered


@pytest.fixture
async def ears(state):
    async with TranscribeServer() as server:
        state.environ |= {"TRANSCRIBE_URL": server.url, "TRANSCRIBE_KEY": server.key}
        yield server


async def test_a_voice_message_is_answered_as_if_it_had_been_written(state, anna, ears):
    ears.words = "My name is Anna."
    async with state.bot():
        anna.sends_voice(b"OggS")
        assert await answered(state, anna) == "Nice to meet you, Anna!"
        assert await state.ask(anna, "What is my name?") == "Your name is Anna."
    [heard] = ears.heard
    assert (heard.name, heard.sound) == ("voice.ogg", b"OggS")
    [spoken, *_] = state.session(anna.id)["messages"]
    words = "[voice message, written down by a program]\nMy name is Anna."
    assert spoken["content"] == [{"type": "text", "text": words}]


async def test_one_that_cannot_be_made_out_now_can_be_tried_again(state, anna, ears):
    ears.fails = 503
    async with state.bot():
        anna.sends_voice(b"OggS")
        assert await answered(state, anna) == text("error_not_transcribed", "en")
        assert state.requests == []
        ears.fails, ears.words = 0, "Echo: I was heard."
        anna.presses("Try again")
        assert await answered(state, anna, 2) == "I was heard."


async def test_without_a_transcriber_it_is_a_sentence_and_nothing_is_fetched(state, anna):
    async with state.bot():
        anna.sends_voice(b"OggS")
        assert await answered(state, anna) == text("unreadable_voice", "en")
    assert state.requests == []
    assert state.telegram.journal.of("getFile") == []
    assert state.sessions() == []
