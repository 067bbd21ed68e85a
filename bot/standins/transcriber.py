"""A strict stand-in for OpenAI's `/v1/audio/transcriptions`: it refuses what the real one refuses.

    async with TranscribeServer() as server:
        server.words = "Hello there."

`heard` has what it was given, `fails` is a status it answers with instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from aiohttp import BodyPartReader, web

FORMATS = {"flac", "m4a", "mp3", "mp4", "mpeg", "mpga", "oga", "ogg", "wav", "webm"}
MAX_BYTES = 25 * 2**20
FIELDS = {"file", "model", "language", "prompt", "response_format", "temperature"}


@dataclass(frozen=True, slots=True)
class Heard:
    """One recording it was given."""

    name: str
    sound: bytes
    model: str


class TranscribeServer:
    """The server; `url` serves as TRANSCRIBE_URL."""

    def __init__(self, *, key: str = "transcribe-key") -> None:
        self.key = key
        self.url = ""
        self.words = ""
        self.fails = 0
        self.heard: list[Heard] = []

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=2 * MAX_BYTES)
        app.router.add_post("/v1/audio/transcriptions", self._answer)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()

    async def _answer(self, request: web.Request) -> web.Response:
        if request.headers.get("Authorization") != f"Bearer {self.key}":
            return _refused(401, "Incorrect API key provided")
        if not request.content_type.startswith("multipart/form-data"):
            return _refused(400, "Could not parse multipart form")
        fields = await _fields(request)
        file, sound, model = (
            fields.get("file"),
            fields.get("sound", b""),
            str(fields.get("model", "")),
        )
        if unknown := fields.keys() - FIELDS - {"sound"}:
            return _refused(400, f"Unrecognized request argument supplied: {min(unknown)}")
        if not file or not model:
            return _refused(400, f"you must provide a {'model parameter' if file else 'file'}")
        if len(sound) > MAX_BYTES:
            return _refused(
                413, f"Maximum content size limit ({MAX_BYTES}) exceeded ({len(sound)} bytes read)"
            )
        if str(file).rpartition(".")[2] not in FORMATS:
            return _refused(400, f"Invalid file format. Supported formats: {sorted(FORMATS)}")
        if self.fails:
            return _refused(self.fails, "The server had an error while processing your request")
        self.heard.append(Heard(str(file), sound, model))
        return web.json_response({"text": self.words})


async def _fields(request: web.Request) -> dict[str, Any]:
    """The form: texts by their names, the file's name as `file`, its bytes as `sound`."""
    fields: dict[str, Any] = {}
    async for part in await request.multipart():
        if isinstance(part, BodyPartReader) and part.name == "file":
            fields |= {"file": part.filename, "sound": bytes(await part.read())}
        elif isinstance(part, BodyPartReader) and part.name:
            fields[part.name] = await part.text()
    return fields


def _refused(status: int, message: str) -> web.Response:
    error = {"message": message, "type": "invalid_request_error", "param": None, "code": None}
    return web.json_response({"error": error}, status=status)
