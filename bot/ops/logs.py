"""Log lines: short ones for people, or one JSON object a line, and never a secret or a person's
words.

Secrets are taken out of the finished text, so that messages, arguments and tracebacks are covered
alike, in JSON before quoting could change their look. Below WARNING only the bot's own loggers are
heard: at lower levels vendors print whole requests, which hold the token and what people wrote.
`bound` names the turn at hand on every line logged inside it.
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
    """Name the turn and its lane on every line that this task, and the tasks it starts, log inside
    the block.
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
    """A function that hides the secrets in a text, also where they were quoted for an address or by
    `repr`.
    """
    long = [secret for secret in secrets if len(secret) >= MIN_SECRET_CHARS]
    forms = {
        form for secret in long for form in (secret, quote(secret, safe=""), repr(secret)[1:-1])
    }
    hidden = sorted(forms, key=len, reverse=True)  # one may contain another

    def redact(text: str) -> str:
        for secret in hidden:
            text = text.replace(secret, HIDDEN)
        return text

    return redact


def whereabouts(error: BaseException) -> str:
    """An error's type and place: a foreign error's text may quote what people wrote, or a
    secret.
    """
    frames = traceback.extract_tb(error.__traceback__)
    place = f" at {frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}{place}"


class ConsoleFormatter(logging.Formatter):
    """`09:00:01 INFO    bot.worker: message  turn=17`, UTC."""

    def __init__(self, redact: Redact) -> None:
        super().__init__("{asctime} {levelname:<7} {name}: {message}", style="{")
        self._redact = redact

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:  # noqa: N802 - logging's name
        """The time of day, UTC whatever the machine's zone."""
        return f"{datetime.fromtimestamp(record.created, UTC):{datefmt or '%H:%M:%S'}}"

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's name
        """The line itself, before a traceback is added."""
        return "  ".join(
            [
                super().formatMessage(record),
                *(f"{name}={value}" for name, value in _bound.get().items()),
            ]
        )

    def format(self, record: logging.LogRecord) -> str:
        """The whole entry, redacted."""
        return self._redact(super().format(record))


class JsonFormatter(logging.Formatter):
    """One object a line: at, level, logger, message, what is bound, and the traceback as
    `error`.
    """

    def __init__(self, redact: Redact) -> None:
        super().__init__()
        self._redact = redact

    def format(self, record: logging.LogRecord) -> str:
        """The whole entry, redacted."""
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
    """Python's own report of an uncaught error would print vendor texts as they are."""
    logging.getLogger("bot").critical(
        "The process ends on an error nobody caught.", exc_info=(kind, error, trace)
    )
