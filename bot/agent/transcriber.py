"""What was spoken, as words: asked of any server that speaks OpenAI's
`/v1/audio/transcriptions`.

One try: the message waits in the inbox, and its person can have it tried again. No text of the
server's gets into an error, for it may quote the key or what was said.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

import aiohttp

from bot.errors import NotTranscribed

log = logging.getLogger(__name__)

PATH = "/v1/audio/transcriptions"
SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Transcriber:
    """Implements Transcribe. `key` may be empty: a server of one's own seldom wants one."""

    url: str
    model: str
    key: str = ""
    seconds: float = SECONDS

    async def __call__(self, sound: bytes, name: str) -> str:
        """The words of the recording. Raises NotTranscribed."""
        form = aiohttp.FormData({"model": self.model, "response_format": "json"})
        form.add_field("file", sound, filename=name, content_type="application/octet-stream")
        headers = {"Authorization": f"Bearer {self.key}"} if self.key else {}
        try:
            async with (
                aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=self.seconds)) as session,
                session.post(
                    f"{self.url}{PATH}", data=form, headers=headers, allow_redirects=False
                ) as response,
            ):
                if not response.ok:
                    raise NotTranscribed(f"status {response.status}", was_refused=True)
                return _transcript_of(await response.json(content_type=None))
        except aiohttp.ClientConnectorError as away:
            raise NotTranscribed(type(away).__name__, was_refused=True) from None
        except (aiohttp.ClientError, TimeoutError, ValueError) as failure:
            raise NotTranscribed(type(failure).__name__) from None


def _transcript_of(answer: object) -> str:
    words = answer.get("text") if isinstance(answer, dict) else None
    if not isinstance(words, str):
        raise NotTranscribed("the answer has no text")
    return words
