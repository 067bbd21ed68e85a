"""The parameters of a call: query, form, multipart or JSON, read by type or refused."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from aiohttp import BodyPartReader, web

from bot.standins.telegram.rules import bad


@dataclass(frozen=True, slots=True)
class Upload:
    """A file that came with a call."""

    name: str
    mime: str
    content: bytes

    def __str__(self) -> str:
        return f"<{self.name}, {len(self.content)} bytes>"


@dataclass(frozen=True, slots=True)
class Params:
    """What a method was called with."""

    values: Mapping[str, Any]

    def text(self, name: str) -> str:
        """A string; numbers are taken as they are written."""
        value = self.values.get(name)
        return "" if value is None or isinstance(value, Upload) else str(value)

    def number(self, name: str) -> int | None:
        """An integer, or None."""
        value = self.text(name)
        if not value:
            return None
        if not value.lstrip("-").isdecimal():
            raise bad(f"invalid {name} specified")
        return int(value)

    def flag(self, name: str) -> bool:
        """A boolean."""
        return self.text(name).lower() in {"true", "1", "yes"}

    def json(self, name: str) -> Any:
        """A JSON value; None when it is not there."""
        value = self.values.get(name)
        if not isinstance(value, str):
            return value
        try:
            return json.loads(value) if value else None
        except ValueError:
            raise bad(f"can't parse {name} JSON object") from None

    def upload(self, name: str) -> Upload | None:
        """A file: the field itself, or the one its `attach://` names."""
        value = self.values.get(name)
        if isinstance(value, str) and value.startswith("attach://"):
            value = self.values.get(value.removeprefix("attach://"))
        return value if isinstance(value, Upload) else None


async def read_params(request: web.Request) -> Params:
    """Everything a request carries."""
    values: dict[str, Any] = dict(request.query)
    if request.content_type == "application/json":
        body = await request.json()
        values |= body if isinstance(body, dict) else {}
    elif request.content_type == "multipart/form-data":
        async for part in await request.multipart():
            if isinstance(part, BodyPartReader):
                values[part.name or ""] = await _part(part)
    elif request.can_read_body:
        values |= dict(await request.post())
    return Params(values)


async def _part(part: BodyPartReader) -> str | Upload:
    content = bytes(await part.read(decode=True))
    if part.filename is None:
        return content.decode()
    return Upload(
        part.filename, part.headers.get("Content-Type", "application/octet-stream"), content
    )
