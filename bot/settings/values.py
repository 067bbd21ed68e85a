"""The kinds of values settings have, and what makes each of them right.

A complaint never repeats the value.
"""

from __future__ import annotations

import re
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import SplitResult, urlsplit

from pydantic import AfterValidator, BeforeValidator, SecretStr

SHARED_IDS = {
    1087968824: "anonymous group admins",
    136817688: "channels",
    777000: "linked channels",
}
"""Senders that stand for many people at once; none of them may be let in or made an admin."""

_APPENDED = re.compile(r"/(bot[^/]*|file|v\d+|messages)$")
_TOKEN = re.compile(r"\d+:[\w-]+", re.ASCII)
_SECRET = re.compile(r"[A-Za-z0-9_-]{32,256}", re.ASCII)
_DATABASE = re.compile(r"[A-Za-z0-9_-]{1,63}", re.ASCII)
_OF_MONGODB = {"admin", "config", "local"}
_MONGODB = re.compile(r"mongodb(\+srv)?://[^/\s]+", re.ASCII)


def _root(value: str) -> str:
    """The part of an address that the bot's clients append their paths to."""
    root = _address(value).geturl().rstrip("/")
    if _APPENDED.search(root):
        raise ValueError("must be the root of the API: the bot appends the rest of the path itself")
    return root


def _address(value: str) -> SplitResult:
    try:
        parts = urlsplit(value)
        is_address = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_address = False
    if not is_address or re.search(r"\s", value):
        raise ValueError("must be an http:// or https:// address")
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise ValueError("must be a plain address, without a user name, '?' or '#'")
    return parts


def _telegram_token(value: SecretStr) -> SecretStr:
    if not _TOKEN.fullmatch(value.get_secret_value()):
        raise ValueError("must look like digits:letters, as @BotFather gave it")
    return value


def _mongodb_uri(value: SecretStr) -> SecretStr:
    if not _MONGODB.match(value.get_secret_value()):
        raise ValueError("must begin with mongodb:// or mongodb+srv:// and name a host")
    return value


def _database_name(value: str) -> str:
    if not _DATABASE.fullmatch(value):
        raise ValueError("must be 1 to 63 letters, digits, _ and -")
    if value.lower() in _OF_MONGODB:
        raise ValueError(f"must not be {value.lower()}, which is MongoDB's own")
    return value


def _one_word(value: str) -> str:
    if re.search(r"\s", value):
        raise ValueError("must be the name of a model, without spaces")
    return value


def _words(value: object) -> object:
    return (
        tuple(dict.fromkeys(value.replace(",", " ").split())) if isinstance(value, str) else value
    )


def _readable(path: Path) -> Path:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        text = ""
    if not text.strip():
        raise ValueError("must name a file with text (UTF-8) that the bot can read")
    return path


def _ip_address(value: str) -> str:
    try:
        return str(ip_address(value))
    except ValueError:
        raise ValueError(
            "must be an IP address of this machine, such as 127.0.0.1 or 0.0.0.0"
        ) from None


def _webhook_url(value: str) -> str:
    parts = _address(value)
    if parts.scheme != "https" and parts.hostname not in {"127.0.0.1", "localhost"}:
        raise ValueError("must be an https:// address: Telegram delivers to nothing else")
    return value


def _webhook_secret(value: SecretStr) -> SecretStr:
    if not _SECRET.fullmatch(value.get_secret_value()):
        raise ValueError(
            "must be 32 to 256 letters, digits, _ and -: make it with `openssl rand -hex 32`"
        )
    return value


def _user_ids(value: object) -> object:
    if not isinstance(value, str):
        return value
    words = value.replace(",", " ").split()
    if not all(word.isascii() and word.isdigit() and int(word) for word in words):
        raise ValueError("must be Telegram user ids (positive whole numbers), separated by commas")
    ids = frozenset(int(word) for word in words)
    for shared in sorted(ids & SHARED_IDS.keys()):
        raise ValueError(
            f"must not hold {shared}: Telegram uses it for all {SHARED_IDS[shared]}, not for one "
            f"person"
        )
    return ids


def _upper(value: object) -> object:
    return value.upper() if isinstance(value, str) else value


Address = Annotated[str, AfterValidator(_root)]
UserIds = Annotated[frozenset[int], BeforeValidator(_user_ids)]
ModelName = Annotated[str, AfterValidator(_one_word)]
ModelNames = Annotated[tuple[str, ...], BeforeValidator(_words)]
Level = Annotated[Literal["DEBUG", "INFO", "WARNING", "ERROR"], BeforeValidator(_upper)]
Token = Annotated[SecretStr, AfterValidator(_telegram_token)]
DatabaseName = Annotated[str, AfterValidator(_database_name)]
MongoUri = Annotated[SecretStr, AfterValidator(_mongodb_uri)]
IpAddress = Annotated[str, AfterValidator(_ip_address)]
WebhookUrl = Annotated[str, AfterValidator(_webhook_url)]
WebhookSecret = Annotated[SecretStr, AfterValidator(_webhook_secret)]
TextFile = Annotated[Path, AfterValidator(_readable)]
