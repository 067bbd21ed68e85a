"""A file that a message carries, as the block that is stored of it: what it is, by what its
sender's client says.

Those are claims and cost no download: the agent looks at the bytes when a turn needs them. Of a
name only what can do no harm is kept, in a prompt, a log or a text. A photo comes in several sizes;
the one a model sees whole is taken.
"""

from __future__ import annotations

import re

from telegram import Audio, Document, ExternalReplyInfo, Message, PhotoSize, Voice

from bot.content import FileBlock
from bot.telegram.inbound.files import MAX_BYTES

LONG_EDGE = 1568
"""A larger picture is made smaller by the model's provider."""
NAME_CHARS = 80

_ODD_IN_A_NAME = re.compile(r"[^\w .()+-]+")
_IMAGE_TYPES = frozenset({"image/png", "image/jpeg", "image/jpg", "image/gif", "image/webp"})
_TEXTS = re.compile(
    r"text/.+|image/svg\+xml|application/(.+\+)?(json|xml)"
    r"|application/(x-)?(javascript|ecmascript|typescript|yaml|toml|sh|shellscript|sql|python|perl|php|tex|ndjson|subrip)"
)
_TEXT_ENDINGS = (
    "txt md markdown rst tex csv tsv log json jsonl ndjson xml html htm css svg yaml yml toml "
    "ini cfg conf env sql srt"
    " vtt ics vcf eml diff patch py js mjs ts tsx jsx java kt kts c h cc cpp hpp cs go rs rb php "
    "pl lua r jl swift"
    " scala clj ex exs erl hs ml dart vue sh bash zsh bat ps1 ipynb gradle tf proto graphql mk "
    "makefile dockerfile"
)
_BY_ENDING = {
    **dict.fromkeys(("png", "jpg", "jpeg", "gif", "webp"), "picture"),
    "pdf": "pdf",
    **dict.fromkeys(_TEXT_ENDINGS.split(), "text"),
}
_AUDIO_ENDINGS = frozenset(
    {"flac", "m4a", "mp3", "mp4", "mpeg", "mpga", "oga", "ogg", "wav", "webm"}
)


Carrier = Message | ExternalReplyInfo
"""A message, or what Telegram tells of one in another chat that is answered."""


def file_blocks(message: Carrier) -> FileBlock | None:
    """The file of a message; None where it has none that can be read."""
    if is_too_large(message) or message.animation:
        return None
    file, kind, name = _found(message)
    if file is None or not kind:
        return None
    block: FileBlock = {
        "type": "file",
        "kind": kind,
        "file_id": file.file_id,
        "unique_id": file.file_unique_id,
        "name": name,
        "bytes": file.file_size or 0,
    }
    if isinstance(file, Audio | Voice):
        # The attribute warns of a type that it will have one day; on the wire it is a number.
        block["seconds"] = file.to_dict()["duration"]
    if isinstance(message, Message) and message.media_group_id:
        block["album"] = message.media_group_id
    return block


def is_too_large(message: Carrier) -> bool:
    """Whether Telegram does not let a bot fetch it."""
    file = message.document or message.audio or message.voice
    return file is not None and (file.file_size or 0) > MAX_BYTES


def _found(message: Carrier) -> tuple[PhotoSize | Document | Audio | Voice | None, str, str]:
    """The file, its kind (empty where nobody can read it) and its name."""
    if message.photo:
        return _largest_useful(message.photo), "picture", ""
    if message.voice:
        return message.voice, "voice", "voice.ogg"
    if message.audio:
        return message.audio, "audio", _audio_name(message.audio.file_name)
    if message.document:
        document = message.document
        return (
            document,
            _document_kind(document.mime_type, document.file_name),
            _harmless(document.file_name),
        )
    return None, "", ""


def _largest_useful(sizes: tuple[PhotoSize, ...]) -> PhotoSize:
    useful = [size for size in sizes if max(size.width, size.height) <= LONG_EDGE]
    return max(useful or sizes, key=lambda size: size.width * size.height)


def _document_kind(mime: str | None, name: str | None) -> str:
    """Empty where nobody can read it.

    By its name first: Telegram's clients call TypeScript a video.
    """
    mime = (mime or "").lower()
    if kind := _BY_ENDING.get(_ending(name or "")):
        return kind
    if mime in _IMAGE_TYPES:
        return "picture"
    if mime == "application/pdf":
        return "pdf"
    return "text" if _TEXTS.fullmatch(mime) else ""


def _harmless(name: str | None) -> str:
    """The name without anything that could be taken for markup, a path or an instruction on a line
    of its own.
    """
    plain = " ".join(_ODD_IN_A_NAME.sub("_", name or "").split())
    if len(plain) <= NAME_CHARS:
        return plain
    return f"{plain[: NAME_CHARS - 10]}….{_ending(plain)[:8]}"


def _ending(name: str) -> str:
    """What stands after the last dot; the whole of a name without one, such as Makefile."""
    return name.lower().rpartition(".")[2]


def _audio_name(name: str | None) -> str:
    """A name whose ending a transcriber knows."""
    plain = _harmless(name)
    return plain if _ending(plain) in _AUDIO_ENDINGS else "audio.mp3"
