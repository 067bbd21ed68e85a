"""Which URLs Telegram accepts behind a text link or a button, and how it writes them down.

Only http, https, tg and ton. A missing scheme is read as http; a host needs a dot. `tg://user?id=N`
is no link but a mention of a person.
"""

from __future__ import annotations

import re
from urllib.parse import parse_qs, urlsplit

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(?!\d+(?:[/?#]|$))")
_HOST = re.compile(r"[^\s/?#@\\<>\"]+\.[^\s/?#@\\<>\".]+")


class WrongLink(Exception):
    """The URL is not one Telegram opens."""


def checked_link(url: str) -> str:
    """The URL as Telegram writes it; raises WrongLink in Telegram's words."""
    scheme = _SCHEME.match(url)
    name = scheme.group(1).lower() if scheme else "http"
    if name in {"tg", "ton", "tonsite"}:
        return url
    if name not in {"http", "https"}:
        raise WrongLink("Unsupported URL protocol")
    return _web(url if scheme else f"http://{url}")


def _web(url: str) -> str:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise WrongLink("Wrong HTTP URL") from None
    if not parts.hostname:
        raise WrongLink("URL host is empty")
    if (
        port == 0
        or any(char.isspace() for char in url)
        or not (_HOST.fullmatch(parts.hostname) or ":" in parts.hostname)
    ):
        raise WrongLink("Wrong HTTP URL")
    return url if parts.path or parts.query or parts.fragment else f"{url}/"


def mentioned_user(url: str) -> int:
    """The person a `tg://user?id=` link stands for; 0 when it is any other URL."""
    parts = urlsplit(url) if url.lower().startswith("tg:") else None
    if parts is None or "user" not in {parts.netloc, parts.path.strip("/")}:
        return 0
    ids = parse_qs(parts.query).get("id", [""])
    return int(ids[0]) if ids[0].isdecimal() else 0
