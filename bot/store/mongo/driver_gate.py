"""One call to MongoDB: it waits its turn in front of the pool, and its failure becomes one of
ours.

The pool of PyMongo Async is not fair (measured: p99 2.6 s against 0.4 s behind a queue), so calls
line up here, first come first served, below the pool's size. The driver's words never pass on: they
quote the values they failed on. What counts is whether a write may have happened: Uncertain says
perhaps, plain StoreUnavailable says it was never sent; and whether it can ever happen: Unstorable
says no. What the server's codes say about trying again stands in `refusals`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import TracebackType

import pymongo
from bson.errors import BSONError
from pymongo.errors import (
    AutoReconnect,
    BulkWriteError,
    ConnectionFailure,
    DocumentTooLarge,
    OperationFailure,
    PyMongoError,
    ServerSelectionTimeoutError,
    WaitQueueTimeoutError,
    WriteConcernError,
    WTimeoutError,
)

from bot.errors import (
    Duplicate,
    SessionTooLarge,
    StoreError,
    StoreRefused,
    StoreUnavailable,
    Uncertain,
    Unstorable,
)
from bot.store.mongo.refusals import UNSTORABLE, tries_of

AT_ONCE = 16
PROMPTLY = 5.0
"""How long a call may take that somebody waits for (Telegram, a process that leaves), or that is
made again anyway.
"""
WAIT_SECONDS = 10.0
"""Longest wait in line: behind calls that all run into their limits, to be told so is better than
to wait on.
"""
_DUPLICATE_KEY = 11000
_REFUSED_CREDENTIALS = (13, 18)


@asynccontextmanager
async def within(seconds: float) -> AsyncIterator[None]:
    """All calls inside have so many seconds together, waits in line included; what is not done then
    may happen yet.
    """
    try:
        async with asyncio.timeout(seconds):
            with pymongo.timeout(seconds):  # for Motor's threads, which no cancellation reaches
                yield
    except TimeoutError:
        raise Uncertain("MongoDB was not done in time.") from None


class DriverGate:
    """`async with calls:` around every use of a driver."""

    def __init__(self, at_once: int = AT_ONCE, wait_seconds: float = WAIT_SECONDS) -> None:
        self._slots = asyncio.Semaphore(at_once)
        self._wait_seconds = wait_seconds

    async def __aenter__(self) -> None:
        try:
            async with asyncio.timeout(self._wait_seconds):
                await self._slots.acquire()
        except TimeoutError:
            raise StoreUnavailable(
                "MongoDB does not keep up: too many calls wait for it."
            ) from None

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._slots.release()
        if isinstance(
            error, PyMongoError | BSONError | OverflowError | RecursionError | UnicodeError
        ):
            raise _translate(error) from None


def _translate(error: Exception) -> StoreError:
    name = type(error).__name__
    if isinstance(error, ServerSelectionTimeoutError | WaitQueueTimeoutError) or _is_shed(error):
        return StoreUnavailable(f"MongoDB cannot be reached ({name}).")
    if isinstance(error, DocumentTooLarge):
        return SessionTooLarge()
    if isinstance(error, BSONError | OverflowError | RecursionError | UnicodeError) or _is_final(
        error
    ):
        return Unstorable(f"MongoDB cannot hold this value ({_name_with_codes(error)}).")
    if _codes(error) == {_DUPLICATE_KEY}:
        return Duplicate()
    if _is_doubtful(error):
        return Uncertain(f"MongoDB did not answer in time ({name}).")
    refused = f"MongoDB refused a command ({_name_with_codes(error)})."
    tries = tries_of(_codes(error) - UNSTORABLE - {_DUPLICATE_KEY})
    return StoreRefused(refused, tries=tries) if tries else StoreError(refused)


def _name_with_codes(error: Exception) -> str:
    """The kind of a fault and the server's codes: all that may be said of it."""
    codes = sorted(code for code in _codes(error) if code is not None)
    return " ".join(map(str, [type(error).__name__, *codes]))


def is_refused(error: PyMongoError) -> bool:
    """Whether the server answered, but will not have us."""
    return isinstance(error, OperationFailure) and error.code in _REFUSED_CREDENTIALS


def _is_shed(error: Exception) -> bool:
    return isinstance(error, PyMongoError) and error.has_error_label("SystemOverloadedError")


def _is_doubtful(error: Exception) -> bool:
    broken = isinstance(
        error, AutoReconnect | ConnectionFailure | WTimeoutError | WriteConcernError
    )
    unsure = isinstance(error, BulkWriteError) and bool(error.details.get("writeConcernErrors"))
    return broken or unsure or (isinstance(error, PyMongoError) and error.timeout)


def _is_final(error: Exception) -> bool:
    """Of several documents all were written that could be: what was refused comes again in vain."""
    codes = _codes(error) - {_DUPLICATE_KEY}
    return bool(codes) and codes <= UNSTORABLE


def _codes(error: Exception) -> set[int | None]:
    """Why the server refused, document by document; nothing where it may yet undo what it has
    written.
    """
    if isinstance(error, BulkWriteError):
        refused = error.details["writeErrors"]
        return (
            set() if error.details.get("writeConcernErrors") else {one["code"] for one in refused}
        )
    return {error.code} if isinstance(error, OperationFailure) else set()
