"""The transcriber speaks as OpenAI's server wants it, and gives away neither its key nor the
server's words.
"""

from __future__ import annotations

import traceback

import pytest
from aiohttp import ClientSession, FormData

from bot.agent.transcriber import PATH, Transcriber
from bot.errors import NotTranscribed
from bot.standins.transcriber import Heard, TranscribeServer


@pytest.fixture
async def server():
    async with TranscribeServer() as running:
        yield running


async def test_what_was_spoken_comes_back_as_words(server):
    server.words = "Hello there."
    assert (
        await Transcriber(server.url, "whisper-1", server.key)(b"OggS", "voice.ogg")
        == "Hello there."
    )
    assert server.heard == [Heard("voice.ogg", b"OggS", "whisper-1")]


@pytest.mark.parametrize(
    ("key", "name", "fails"),
    [
        pytest.param("wrong", "voice.ogg", 0, id="a wrong key"),
        pytest.param("", "voice.ogg", 0, id="no key"),
        pytest.param("transcribe-key", "voice.exe", 0, id="an unknown format"),
        pytest.param("transcribe-key", "voice.ogg", 500, id="a broken server"),
    ],
)
async def test_what_the_server_refuses_is_worth_another_try_and_says_nothing_of_it(
    server, key, name, fails
):
    server.fails = fails
    with pytest.raises(NotTranscribed) as caught:
        await Transcriber(server.url, "whisper-1", key)(b"OggS", name)
    told = "".join(traceback.format_exception(caught.value))
    assert "status" in told
    assert "transcribe-key" not in told
    assert "API key" not in told


async def test_a_server_that_is_away_or_answers_nonsense_is_worth_another_try(server):
    server.words = None
    for url in (server.url, "http://127.0.0.1:9"):
        with pytest.raises(NotTranscribed):
            await Transcriber(url, "whisper-1", server.key, seconds=2)(b"OggS", "voice.ogg")


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"model": "x"}, 400),
        ({"file": b"x"}, 400),
        ({"model": "x", "file": b"x", "colour": "red"}, 400),
    ],
    ids=["no file", "no model", "an unknown field"],
)
async def test_the_stand_in_refuses_what_the_real_one_refuses(server, fields, status):
    form = FormData()
    for name, value in fields.items():
        form.add_field(name, value, **({"filename": "a.ogg"} if name == "file" else {}))
    headers = {"Authorization": f"Bearer {server.key}"}
    async with (
        ClientSession() as session,
        session.post(server.url + PATH, data=form, headers=headers) as answer,
    ):
        assert answer.status == status
