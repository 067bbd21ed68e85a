"""Writes log lines, for people or as JSON objects, without secrets and people's words.

Secrets are removed from the finished text, so messages, arguments and tracebacks are all covered;
in JSON before quoting could change them. Below WARNING only the bot's own loggers are written,
since vendors log whole requests there, with the token and what people wrote. `bound` names the
current turn on every line that is logged inside it.
"""

from __future__ import annotations

import json
import logging
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from types import MappingProxyType, TracebackType
from typing import Literal, TextIO
from urllib.parse import quote

HIDDEN = "[secret]"
MIN_SECRET_CHARS = 4
"""Shorter ones would turn ordinary words into HIDDEN and protect nothing."""

Redact = Callable[[str], str]

_bound: ContextVar[Mapping[str, str | int]] = ContextVar("bound", default=MappingProxyType({}))


@contextmanager
def bound(*, turn: int, lane: str) -> Iterator[None]:
    """Name the turn and its lane on every line that this task and its subtasks log inside the
    block.
    """
    token = _bound.set({"turn": turn, "lane": lane})
    try:
        yield
    finally:
        _bound.reset(token)


def configure(
    level: str,
    log_format: Literal["console", "json"],
    secrets: Iterable[str],
    *,
    stream: TextIO | None = None,
) -> None:
    """Send all logging to `stream` (standard error), in one format and without the secrets.

    Call once, at start.
    """
    handler = logging.StreamHandler(stream)
    handler.setFormatter(_FORMATS[log_format](redactor(secrets)))
    handler.addFilter(_is_ours_or_serious)
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.getLogger("bot").setLevel(level)
    logging.captureWarnings(capture=True)
    logging.raiseExceptions = (
        False  # logging's report of a line it cannot format prints the arguments as they are
    )
    sys.excepthook = _log_crash


def redactor(secrets: Iterable[str]) -> Redact:
    """Return a function that hides the secrets in a text, also quoted for a URL or by `repr`."""
    long = [secret for secret in secrets if len(secret) >= MIN_SECRET_CHARS]
    forms = {form for one in long for form in (one, quote(one, safe=""), repr(one)[1:-1])}
    hidden = sorted(forms, key=len, reverse=True)  # one may contain another

    def redact(text: str) -> str:
        for secret in hidden:
            text = text.replace(secret, HIDDEN)
        return text

    return redact


def whereabouts(error: BaseException) -> str:
    """Describe an error by type and place, as a vendor's text may quote people or a secret."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f" at {frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}{place}"


class ConsoleFormatter(logging.Formatter):
    """`09:00:01 INFO    bot.worker: message  turn=17`, UTC."""

    def __init__(self, redact: Redact) -> None:
        super().__init__("{asctime} {levelname:<7} {name}: {message}", style="{")
        self._redact = redact

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:  # noqa: N802 - logging's name
        """Return the time of day in UTC."""
        return f"{datetime.fromtimestamp(record.created, UTC):{datefmt or '%H:%M:%S'}}"

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's name
        """Return the line before a traceback is added."""
        return "  ".join(
            [
                super().formatMessage(record),
                *(f"{name}={value}" for name, value in _bound.get().items()),
            ]
        )

    def format(self, record: logging.LogRecord) -> str:
        """Return the whole entry, redacted."""
        return self._redact(super().format(record))


class JsonFormatter(logging.Formatter):
    """One object a line: at, level, logger, message, what is bound, and the traceback as
    `error`.
    """

    def __init__(self, redact: Redact) -> None:
        super().__init__()
        self._redact = redact

    def format(self, record: logging.LogRecord) -> str:
        """Return the whole entry, redacted."""
        entry = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": self._redact(record.getMessage()),
            **_bound.get(),
        }
        if record.exc_info:
            entry["error"] = self._redact(self.formatException(record.exc_info))
        return json.dumps(entry, ensure_ascii=False)


_FORMATS = {"console": ConsoleFormatter, "json": JsonFormatter}


def _is_ours_or_serious(record: logging.LogRecord) -> bool:
    return record.levelno >= logging.WARNING or record.name.partition(".")[0] == "bot"


def _log_crash(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    """Log an uncaught error, since Python's own report would print vendor texts unredacted."""
    logging.getLogger("bot").critical(
        "The process ends on an error nobody caught.", exc_info=(kind, error, trace)
    )
